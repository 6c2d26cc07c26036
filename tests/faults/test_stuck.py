"""A job that is heard and commits nothing: the supervisor ends it and launches it again. Real Spark; a
Python worker is stopped inside a batch."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import psutil
import pytest
import redis
from django.utils import timezone
from pytest_django import Settings

from backend.alerts.watching import observe
from backend.runs import process
from backend.topologies.models import RunState, Topology
from backend.topologies.status import topology_error, topology_state
from jobs.protocol import EVENTS, AnyEvent, events_key, results_key, stream_key
from tests.api.conftest import _product, bus, owner, query, redis_url, streams, topology  # noqa: F401
from tests.api.runs.conftest import Supervised

pytestmark = pytest.mark.django_db
PATIENCE_S = 240.0


@pytest.fixture
def supervised(topology: Topology, bus: redis.Redis, settings: Settings) -> Iterator[Supervised]:  # noqa: F811
    Topology.objects.filter(pk=topology.pk).update(job={"trigger_ms": 100})
    settings.MILLRACE_STUCK_SECONDS = 1.0
    made = Supervised(topology, bus, timezone.now())
    yield made
    process.end(made.run)


def _send(bus: redis.Redis, key: str) -> datetime:  # noqa: F811
    """One tuple for each stream, which make one result; returns when they had arrived."""
    at = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    bus.xadd(stream_key("weather"), {"json": json.dumps({"at": at, "origin": key, "wind": 30.0})})
    bus.xadd(stream_key("arrivals"), {"json": json.dumps({"at": at, "tail": key, "delay": 1.0})})
    departure = {"at": at, "flight": key, "tail": key, "origin": key, "delay": 0.0}
    entry: str = bus.xadd(stream_key("departures"), {"json": json.dumps(departure)})
    return datetime.fromtimestamp(int(entry.partition("-")[0]) / 1000, UTC)


def _heard(bus: redis.Redis, is_it: Callable[[AnyEvent], bool]) -> None:  # noqa: F811
    give_up_at, seen = time.monotonic() + PATIENCE_S, "0-0"
    while time.monotonic() < give_up_at:
        for _, entries in bus.xread({events_key("flights"): seen}, block=1000) or ():
            for entry, fields in entries:
                seen = entry
                event = EVENTS.validate_json(fields["message"])
                if is_it(event):
                    return
    raise AssertionError("not heard")


def _has_departed(event: AnyEvent) -> bool:
    """True for the batch that has the last of the tuples."""
    if event.type != "batch" or "departures" not in event.streams:
        return False
    return event.streams["departures"].accepted == 1


def _workers(pid: int) -> list[psutil.Process]:
    """What executes tasks; not what plans batches, which is no part of one."""
    found = []
    for one in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            words = " ".join(one.cmdline())
            if one.name() != "java" and ("pyspark.daemon" in words or "pyspark.worker" in words):
                found.append(one)
    return found


def test_a_job_that_stands_still_is_launched_again(supervised: Supervised, bus: redis.Redis) -> None:  # noqa: F811
    supervised.look()
    _send(bus, "first")
    _heard(bus, _has_departed)
    supervised.now = timezone.now()
    supervised.look()
    run = supervised.run
    assert run.pid is not None
    workers = _workers(run.pid)
    assert workers
    for worker in workers:
        worker.send_signal(signal.SIGSTOP)
    arrived = _send(bus, "second")
    # Two seconds of patience are twenty triggers; it is heard of for longer than that.
    _heard(bus, lambda e: e.type == "heartbeat" and e.at > arrived + timedelta(seconds=3))
    supervised.now = arrived + timedelta(seconds=1)
    assert topology_state(supervised.look()) in ("running", "idle")
    waiting = observe(supervised.topology, timezone.now()).waiting_since
    assert waiting is not None
    assert waiting <= arrived

    supervised.now = timezone.now()
    topology = supervised.look()  # noqa: F811
    assert topology_state(topology) == "failed"
    assert (topology_error(topology) or "").startswith("stuck: tuples have waited for ")
    assert process.is_alive(run) is False
    assert (topology.failures, topology.restart_at) == (1, supervised.now + timedelta(seconds=1))

    supervised.look(1)
    again = supervised.run
    assert (again.pk > run.pk, again.attempt) == (True, 2)
    _heard(bus, lambda e: e.run == again.pk and _has_departed(e))
    supervised.now = timezone.now()
    supervised.look()
    assert supervised.run.state == RunState.RUNNING
    kept = bus.xrange(results_key("flights", "windy"))
    assert sorted(json.loads(fields["json"])["flight"] for _, fields in kept) == ["first", "second"]
