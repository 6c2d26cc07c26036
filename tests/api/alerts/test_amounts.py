"""Alerts of what there is too much of: dead letters, latency and state."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.test import Client

from backend.alerts import watching
from backend.alerts.models import Alert
from backend.deployments.actions import create_topology
from backend.topologies.models import Desired, Topology
from jobs.protocol import (
    BatchCompleted,
    JobStarted,
    QueryMetrics,
    StoreMetrics,
    StreamMetrics,
    dead_letters_key,
    events_key,
)

pytestmark = pytest.mark.django_db


def test_what_a_job_has_too_much_of_is_told(
    as_owner: Client, post: Callable[..., Any], bus: redis.Redis
) -> None:
    create_topology("flights")
    Topology.objects.update(desired=Desired.RUNNING)
    limits = {"on_failed": False, "letters_per_minute": 1, "latency_ms": 400, "state_mb": 1}
    made = post(as_owner, "/api/alerts/", _rule(**limits))
    assert made.status_code == 201, made.content
    assert {name: made.json()[name] for name in limits} == limits
    now = datetime.now(UTC)
    _tell(bus, now, latency_ms=399.0, stored=1 << 20)
    letter = dead_letters_key("flights", "departures")
    bus.xadd(letter, {"batch": "1"}, id=f"{_ms(now - timedelta(seconds=61))}-0")
    bus.xadd(letter, {"batch": "1"}, id=f"{_ms(now)}-0")
    watching.watch(now)
    assert not Alert.objects.exists()

    bus.xadd(letter, {"batch": "1"}, id=f"{_ms(now)}-1")
    _tell(bus, now, latency_ms=401.0, stored=2 << 20)
    watching.watch(now)
    assert dict(Alert.objects.values_list("kind", "detail")) == {
        "letters": "dead letters in the last minute: 2 of departures",
        "latency": "one in 100 results of pairs takes 401 ms or more",
        "state": "its stores hold 2 MB",
    }
    # The letters are of an earlier minute now.
    watching.watch(now + timedelta(seconds=61))
    assert set(Alert.objects.filter(closed_at=None).values_list("kind", flat=True)) == {"latency", "state"}


@pytest.mark.parametrize("limit", [{"letters_per_minute": -1}, {"latency_ms": 0}, {"state_mb": 0}])
def test_a_limit_that_is_none_is_refused(
    as_owner: Client, post: Callable[..., Any], limit: dict[str, int]
) -> None:
    answer = post(as_owner, "/api/alerts/", _rule(**limit))
    assert (answer.status_code, next(iter(limit)) in answer.content.decode()) == (400, True)


def _rule(**changes: object) -> dict[str, object]:
    return {"name": "amounts", "channel": "webhook", "target": "https://example.org/hook", **changes}


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _tell(bus: redis.Redis, now: datetime, latency_ms: float, stored: int) -> None:
    """Say what a job says at the end of a batch."""
    queries = {
        "pairs": QueryMetrics(results=1, latency_ms_p50=1.0, latency_ms_p99=latency_ms, complete_since=None),
        "silent": QueryMetrics(results=0, latency_ms_p50=None, latency_ms_p99=None, complete_since=None),
    }
    stream = StreamMetrics(accepted=1, late=0, undecodable=0, watermark=now, max_event_time=now)
    store = StoreMetrics(tuples=1, bytes=stored, per_task=[1])
    started = JobStarted(run="0" * 16, at=now, pid=1, host="here", plan_id="flights.1", batch=0)
    batch = BatchCompleted(
        run="0" * 16, at=now, batch=stored, epoch=0, plan_id="flights.1", seconds=0.1, tuples_in=1, backlog=0,
        level_seconds=[0.1], streams={"departures": stream}, stores={"s": store}, edges={}, queries=queries,
    )  # fmt: skip
    for event in (started, batch):
        bus.xadd(events_key("flights"), {"message": event.model_dump_json()})
