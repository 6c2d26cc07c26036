"""A topology's past over HTTP: as fine as it is kept and fits, to those who may know of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from backend.accounts.models import Team
from backend.catalog.models import Query
from backend.history.actions import prune, take_in
from backend.history.models import HistoryPeriod
from backend.history.queries import history
from backend.history.resolutions import HOUR, KEPT, MOST_POINTS, span_of, whole_seconds
from backend.runs.recording import consume
from backend.topologies.models import Topology
from backend.topologies.sight import WHOLE, Sight
from jobs.protocol import AnyEvent
from tests.api.history.told import NOON, RUNS, after, batch, epoch, say, switched

URL = "/api/topologies/flights/history/"
PARTIAL = Sight(frozenset(), frozenset(), frozenset())


def told(bus: redis.Redis, topology: Topology, *events: AnyEvent) -> None:
    say(bus, *events)
    take_in(topology)
    consume(topology)


def test_an_hour_is_told_in_minutes_with_its_gaps_and_switches(flights: Topology, bus: redis.Redis) -> None:
    told(bus, flights, batch(1, 0), switched(65, 1, "flights.2"), batch(70, 1), epoch(70, 0, 0.75))
    told(bus, flights, batch(301, 2))
    # A job that crashed tells the switch again: it is one.
    told(bus, flights, switched(400, 1, "flights.2", RUNS[1]))
    found = history(flights, after(-60), after(600), after(900), WHOLE)
    assert found.resolution == timedelta(minutes=1)
    assert found.since == NOON
    assert [(one.start, one.tuples_in, one.switches) for one in found.periods] == [
        (NOON, 10, 0),
        (after(60), 10, 1),
        (after(300), 10, 0),
    ]
    assert [one.cores for one in found.periods] == [None, 0.75, None]
    assert [(one.at, one.plan_id, one.cause) for one in found.switches] == [
        (after(65), "flights.2", "another rate")
    ]
    assert history(flights, after(61), after(300), after(900), WHOLE).periods == found.periods[1:2]


def test_a_quarter_is_told_in_four_hours_of_which_nothing_is_lost(
    flights: Topology, bus: redis.Redis
) -> None:
    told(bus, flights, *(batch(3600 * hour, hour) for hour in range(24)))
    now = NOON + timedelta(days=80)
    prune(now)
    found = history(flights, now - timedelta(days=91), now, now, WHOLE)
    assert found.resolution == timedelta(hours=4)
    assert [one.batches for one in found.periods] == [4] * 6
    assert [one.state_tuples for one in found.periods] == [3, 7, 11, 15, 19, 23]


@given(
    back=st.timedeltas(timedelta(0), timedelta(days=5000)),
    length=st.timedeltas(timedelta(microseconds=1), timedelta(days=5000)),
)
def test_every_stretch_of_time_fits_and_is_kept(back: timedelta, length: timedelta) -> None:
    begin = NOON - back
    span = span_of(begin, begin + length, NOON)
    assert span.end - span.begin <= MOST_POINTS * span.resolution
    assert span.resolution % span.kept == timedelta(0)
    assert span.begin >= NOON - KEPT[span.kept] - span.kept
    finer = [one for one in KEPT if one < span.resolution]
    for one in finer:
        too_many = span.end - span.begin > MOST_POINTS * one
        assert too_many or span.begin < NOON - KEPT[one]


def test_points_are_bounded_even_where_everything_is_there(flights: Topology) -> None:
    nothing = dict.fromkeys(("seconds", "cores_of_epochs"), 0.0)
    counts = ("batches", "tuples_in", "results", "late", "undecodable", "epochs", "switches")
    for resolution, kept in KEPT.items():
        HistoryPeriod.objects.bulk_create(
            HistoryPeriod(
                topology=flights,
                resolution=whole_seconds(resolution),
                start=NOON - number * resolution,
                **nothing,
                **dict.fromkeys(counts, 1),
            )
            for number in range(kept // resolution + 1)
        )
    for days in (0.01, 0.4, 1, 2, 4, 14, 25, 90, 400, 4000):
        found = history(flights, NOON - timedelta(days=days), NOON, NOON, WHOLE)
        assert 0 < len(found.periods) <= MOST_POINTS + 1, days


def test_what_others_results_come_to_is_not_told(flights: Topology, bus: redis.Redis) -> None:
    told(bus, flights, batch(1, 0), switched(2, 1, "flights.2"))
    found = history(flights, NOON, after(60), after(60), PARTIAL)
    (one,) = found.periods
    assert (one.results, one.late, one.undecodable) == (None, None, None)
    assert (one.tuples_in, one.state_tuples, one.plan_id) == (10, 0, "flights.2")
    assert "another rate" not in found.switches[0].cause


@pytest.fixture
def recent(topology: Topology, bus: redis.Redis) -> Topology:
    """Of which a batch was told just now."""
    now = timezone.now()
    say(bus, batch(0, 3).model_copy(update={"at": now}))
    take_in(topology)
    return topology


def test_the_document(recent: Topology, as_viewer: Client) -> None:
    now = timezone.now()
    answer = as_viewer.get(URL)
    found: dict[str, Any] = answer.json()
    assert list(found) == ["from", "to", "resolution", "since", "periods", "switches"]
    assert found["resolution"] == 600, "a day, if nothing is asked for"
    (period,) = found["periods"]
    assert period == {
        "start": period["start"],
        "batches": 1,
        "seconds": 0.5,
        "tuples_in": 10,
        "results": 3,
        "late": 1,
        "undecodable": 2,
        "backlog": None,
        "latency_ms_p50": None,
        "latency_ms_p99": None,
        "state_tuples": 3,
        "state_bytes": 24,
        "cores": None,
        "plan_id": "flights.1",
        "switches": 0,
    }
    hour = urlencode({"from": (now - HOUR).isoformat(), "to": (now + HOUR).isoformat()})
    assert as_viewer.get(f"{URL}?{hour}").json()["resolution"] == 60


def test_before_anything_is_known_it_says_so(topology: Topology, as_viewer: Client) -> None:
    found = as_viewer.get(URL).json()
    assert (found["since"], found["periods"], found["switches"]) == (None, [], [])


@pytest.mark.parametrize(
    "asked",
    ["from=yesterday", "to=0001-01-01T00:00:00Z", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"],
)
def test_what_is_no_stretch_of_time_is_refused(topology: Topology, as_viewer: Client, asked: str) -> None:
    assert as_viewer.get(f"{URL}?{asked}").status_code == 400


@pytest.mark.parametrize(
    "asked",
    [
        "from=0001-01-01T00:00:00Z&to=9999-12-31T00:00:00Z",
        "from=2001-01-01T00:00:00Z&to=2001-01-02T00:00:00Z",
    ],
)
def test_what_is_beyond_everything_is_answered(recent: Topology, as_viewer: Client, asked: str) -> None:
    assert as_viewer.get(f"{URL}?{asked}").status_code == 200


def test_who_reads_it(
    recent: Topology,
    query: Query,
    team: Team,
    anonymous: Client,
    as_teammate: Client,
    as_outsider: Client,
    outsider: User,
) -> None:
    assert anonymous.get(URL).status_code == 403
    assert as_outsider.get(URL).status_code == 200
    Team.objects.filter(pk=team.pk).update(private=True)
    Query.objects.filter(pk=query.pk).update(team=team)
    assert as_teammate.get(URL).json()["periods"][0]["results"] == 3
    assert as_outsider.get(URL).status_code == 404
