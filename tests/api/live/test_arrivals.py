"""What a stream's page plots: rates and lateness of the newest batches."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from jobs.protocol import BatchCompleted, Heartbeat, StreamMetrics, events_key
from tests.api.live.events import BEGIN, RUNS

URL = "/api/streams/weather/arrivals/"


@pytest.fixture(autouse=True)
def _deployed(query: Query, owner: User) -> None:
    deploy_query(owner, query, "flights")


def _stream(accepted: int, late: int, newest: datetime | None) -> StreamMetrics:
    return StreamMetrics(accepted=accepted, late=late, undecodable=1, watermark=newest, max_event_time=newest)


def _batch(number: int, weather: StreamMetrics, run: str = RUNS[0]) -> BatchCompleted:
    newest = BEGIN + timedelta(minutes=number)
    return BatchCompleted(
        run=run, at=BEGIN + timedelta(seconds=2 * number), batch=number, epoch=0, plan_id="flights.1",
        seconds=0.1, tuples_in=1, backlog=0, level_seconds=[], stores={}, edges={}, queries={},
        streams={"weather": weather, "departures": _stream(9, 0, newest)},
    )  # fmt: skip


def test_the_newest_batches_are_told_oldest_first(as_outsider: Client, bus: redis.Redis) -> None:
    for number in range(5):
        beat = Heartbeat(run=RUNS[0], at=BEGIN, state="running", batch=number)
        newest = BEGIN + timedelta(minutes=number - 10) if number else None
        for event in (beat, _batch(number, _stream(10 * number, number, newest))):
            bus.xadd(events_key("flights"), {"message": event.model_dump_json()})
    # Done again after a crash: it counts once, as it was told last.
    again = _batch(4, _stream(7, 4, BEGIN - timedelta(minutes=6)), RUNS[1])
    bus.xadd(events_key("flights"), {"message": again.model_dump_json()})
    bus.xadd(events_key("flights"), {"message": '{"type":"batch","batch":"of another release"}'})
    (told,) = as_outsider.get(URL).json()
    assert told["topology"] == "flights"
    assert [point["batch"] for point in told["points"]] == [0, 1, 2, 3, 4]
    assert [point["accepted"] for point in told["points"]] == [0, 10, 20, 30, 7]
    assert [point["late"] for point in told["points"]] == [0, 1, 2, 3, 4]
    assert [point["seconds"] for point in told["points"]] == [None, 2, 2, 2, 2]
    assert [point["behind_ms"] for point in told["points"]] == [None, *[600_000] * 4]
    (few,) = as_outsider.get(URL, {"limit": 2}).json()
    assert few["points"] == told["points"][-2:]


def test_topologies_that_do_not_read_it_say_nothing(
    as_outsider: Client, bus: redis.Redis, query: Query
) -> None:
    assert as_outsider.get("/api/streams/weather/arrivals/").json() == [{"topology": "flights", "points": []}]
    assert as_outsider.get("/api/streams/nowhere/arrivals/").status_code == 404
    assert as_outsider.get(URL, {"limit": 0}).status_code == 400
