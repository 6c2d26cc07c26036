"""Snapshots of past epochs over HTTP, on a real Redis."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.live.queries import folded
from backend.live.state import LiveState
from backend.runs.recording import consume
from backend.topologies.models import Topology
from jobs.control_plane.channel import MOST_EPOCHS, MOST_EVENTS
from jobs.protocol import (
    AnyEvent,
    BatchCompleted,
    EpochCompleted,
    Heartbeat,
    JobStarted,
    PlanSwitched,
    QueryMetrics,
    StoreMetrics,
    events_key,
    results_key,
    statistics_key,
)
from tests.api.live.events import BEGIN, RUNS

KEY = events_key("flights")
URL = "/api/topologies/flights/snapshot/"
BATCHES = 4
"""Of an epoch."""


@pytest.fixture
def topology(query: Query, owner: User) -> Topology:
    deploy_query(owner, query, "flights")
    return Topology.objects.get(name="flights")


def _started(first: int, run: str) -> JobStarted:
    batch = _batch(first, run)
    return JobStarted(run=run, at=batch.at, plan_id=batch.plan_id, pid=1, host="node1", batch=first - 1)


def _batch(number: int, run: str = RUNS[0]) -> BatchCompleted:
    return BatchCompleted(
        run=run,
        at=BEGIN + timedelta(seconds=number),
        batch=number,
        epoch=number // BATCHES,
        plan_id=f"flights.{1 + number // (2 * BATCHES)}",
        seconds=0.1,
        tuples_in=10 * number,
        backlog=0,
        level_seconds=[0.1],
        streams={},
        stores={
            "weather": StoreMetrics(
                tuples=number, bytes=8 * number, inserted=1, evicted=0, probes=2, matches=3, per_task=[number]
            )
        },
        edges={},
        queries={
            "windy": QueryMetrics(results=number, latency_ms_p50=1.0, latency_ms_p99=2.0, complete_since=None)
        },
    )


def _epoch(number: int, run: str = RUNS[0], sent: int = 0) -> EpochCompleted:
    last = (number + 1) * BATCHES - 1
    return EpochCompleted(
        run=run,
        at=BEGIN + timedelta(seconds=last, milliseconds=1),
        epoch=number,
        plan_id=_batch(last).plan_id,
        first_batch=last - BATCHES + 1,
        last_batch=last,
        event_seconds=10.0,
        accepted={"weather": 40},
        edges={},
        rules={},
        held={},
        sent=sent,
        rates={},
        q_error=None,
    )


def _say(bus: redis.Redis, event: AnyEvent) -> tuple[str, AnyEvent | None]:
    """As the job does: an epoch is written to both streams at once."""
    both = bus.pipeline(transaction=True)
    both.xadd(KEY, {"message": event.model_dump_json()}, maxlen=MOST_EVENTS, approximate=False)
    if isinstance(event, EpochCompleted):
        both.xadd(statistics_key("flights"), {"message": event.model_dump_json()}, maxlen=MOST_EPOCHS)
    return both.execute()[0], event


def _run(first: int, last: int, run: str = RUNS[0]) -> list[AnyEvent]:
    """A run's events from its first batch to its last one, epochs and switches among them."""
    events: list[AnyEvent] = [_started(first, run)]
    for number in range(first, last + 1):
        batch = _batch(number, run)
        if number > first and number % (2 * BATCHES) == 0:
            events.append(
                PlanSwitched(
                    run=run,
                    at=batch.at,
                    plan_id=batch.plan_id,
                    batch=number,
                    epoch=batch.epoch,
                    cause="a better plan",
                )
            )
        events += [batch, Heartbeat(run=run, at=batch.at, state="running", batch=number)]
        if (number + 1) % BATCHES == 0:
            events.append(_epoch(batch.epoch, run))
    return events


def _told(client: Client, epoch: int) -> dict[str, object]:
    answer = client.get(URL, {"epoch": epoch})
    assert answer.status_code == 200, answer.content
    told: dict[str, object] = answer.json()
    told.pop("queries")
    return told


def test_every_past_epoch_is_what_the_snapshot_was_then(
    as_teammate: Client, topology: Topology, bus: redis.Redis
) -> None:
    state, then = LiveState(), {}
    for one in _run(0, 43):
        state = folded(state, [_say(bus, one)])
        if isinstance(one, EpochCompleted):
            then[one.epoch] = state.model_dump(mode="json", exclude={"version"})
    assert len(then) == 11
    for epoch, expected in then.items():
        assert _told(as_teammate, epoch) == expected
    consume(topology)
    assert _told(as_teammate, 3) == then[3], "wherever the consumer stands"


def test_what_the_run_before_did_stays_in_the_history(
    as_teammate: Client, topology: Topology, bus: redis.Redis
) -> None:
    for one in [*_run(0, 5), *_run(6, 20, RUNS[1])]:
        _say(bus, one)
    told = _told(as_teammate, 2)
    assert told["run"] == RUNS[1]
    assert [point["batch"] for point in told["history"]] == list(range(12))  # type: ignore[attr-defined]
    assert [point["batch"] for point in told["store_history"]] == list(range(6, 12))  # type: ignore[attr-defined]


def test_history_that_the_live_state_dropped_comes_from_the_events(
    as_teammate: Client, topology: Topology, bus: redis.Redis
) -> None:
    for one in _run(0, 399):
        _say(bus, one)
    told = _told(as_teammate, 10)
    assert told["batch"]["batch"] == 43  # type: ignore[index]
    assert told["history"][-1]["batch"] == 43  # type: ignore[index]
    assert len(told["history"]) > 40  # type: ignore[arg-type]


def test_without_the_events_of_then_the_epochs_own_counts_are_told(
    as_teammate: Client, topology: Topology, bus: redis.Redis
) -> None:
    for one in _run(0, 15):
        _say(bus, one)
    bus.xtrim(KEY, maxlen=3, approximate=False)
    told = _told(as_teammate, 1)
    assert told["batch"] is None
    assert told["statistics"] == _epoch(1).model_dump(mode="json")
    assert (told["plan_id"], told["heartbeat_at"]) == ("flights.1", _epoch(1).model_dump(mode="json")["at"])


def test_an_epoch_told_twice_is_the_newer_telling(
    as_teammate: Client, topology: Topology, bus: redis.Redis
) -> None:
    for one in [*_run(0, 7), _epoch(1, RUNS[1], sent=30)]:
        _say(bus, one)
    bus.xadd(statistics_key("flights"), {"message": "{}"})
    told = _told(as_teammate, 1)
    assert told["statistics"]["sent"] == 30  # type: ignore[index]


@pytest.mark.parametrize(("epoch", "status"), [("7", 404), ("-1", 400), ("now", 400), ("9" * 40, 404)])
def test_an_epoch_that_is_not_there_is_refused(
    as_teammate: Client, topology: Topology, bus: redis.Redis, epoch: str, status: int
) -> None:
    for one in _run(0, 7):
        _say(bus, one)
    assert as_teammate.get(URL, {"epoch": epoch}).status_code == status


def test_results_are_told_as_far_as_a_batch(
    as_teammate: Client, topology: Topology, query: Query, bus: redis.Redis
) -> None:
    for batch in (1, 2, 2, 3, 5):
        bus.xadd(results_key("flights", query.name), {"json": "{}", "batch": str(batch)})
    url = f"/api/queries/{query.pk}/results/"
    assert as_teammate.get(url, {"until": 3}).json()["batches"] == [3, 2, 2, 1]
    assert as_teammate.get(url, {"until": 4, "limit": 2}).json()["batches"] == [3, 2]
    assert as_teammate.get(url, {"until": 0}).json()["batches"] == []
    assert as_teammate.get(url).json()["batches"] == [5, 3, 2, 2, 1]
