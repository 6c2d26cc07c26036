"""Events become periods, each once, whatever ends or repeats itself meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

import pytest
import redis
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.history.actions import count, prune, take_in
from backend.history.measures import MEASURES, Measures, merged
from backend.history.models import HistoryCursor, HistoryPeriod
from backend.history.resolutions import HOUR, KEPT, MINUTE, TEN_MINUTES, period_start
from backend.live.queries import START, events_after
from backend.topologies.models import Topology
from jobs.protocol import AnyEvent, events_key
from tests.api.history.told import NOON, RUNS, after, alive, batch, epoch, say, started, switched
from tests.api.live.events import event

ADDED = ("batches", "seconds", "tuples_in", "results", "late", "undecodable", "epochs", "switches")
GREATEST = ("backlog", "latency_ms_p50", "latency_ms_p99")
LAST = ("state_tuples", "state_bytes", "plan_id")


def periods(resolution: timedelta = MINUTE) -> dict[datetime, Measures]:
    found = HistoryPeriod.objects.filter(resolution=resolution.seconds).order_by("start")
    return {row.start: row.measures for row in found}


def everything() -> list[tuple[Any, ...]]:
    return list(HistoryPeriod.objects.values_list("resolution", "start", *MEASURES))


def test_a_minute_says_what_its_batches_did(flights: Topology, bus: redis.Redis) -> None:
    say(
        bus,
        started(0, 0),
        batch(1, 0, backlog=7, latency_ms_p50=20.0, latency_ms_p99=90.0),
        batch(2, 1, backlog=2, latency_ms_p50=30.0, latency_ms_p99=80.0),
        switched(3, 2, "flights.2"),
        epoch(59, 0, 1.5),
        epoch(59.9, 1, 0.5),
        batch(60, 2, plan_id="flights.2"),
    )
    take_in(flights)
    first, second = periods().items()
    assert first == (
        NOON,
        Measures(
            batches=2,
            seconds=1.0,
            tuples_in=20,
            results=6,
            late=2,
            undecodable=4,
            backlog=7,
            latency_ms_p50=30.0,
            latency_ms_p99=90.0,
            state_tuples=1,
            state_bytes=8,
            epochs=2,
            cores_of_epochs=2.0,
            plan_id="flights.2",
            switches=1,
        ),
    )
    assert first[1].cores == 1.0
    assert second[0] == after(60)
    assert (second[1].batches, second[1].backlog, second[1].cores) == (1, None, None)
    assert periods(HOUR) == {NOON: merged(first[1], second[1])}


def test_a_job_that_is_not_there_makes_a_gap_and_one_that_waits_makes_zeros(
    flights: Topology, bus: redis.Redis
) -> None:
    say(bus, started(0, 0), batch(1, 4), alive(61), alive(181, "running"))
    # A new process: what it keeps is not known before its first batch.
    say(bus, started(300, 5, RUNS[1]), alive(301, "starting", RUNS[1]), alive(361, "idle", RUNS[1]))
    take_in(flights)
    found = periods()
    assert list(found) == [after(minute * 60) for minute in (0, 1, 3, 6)]
    assert [one.tuples_in for one in found.values()] == [10, 0, 0, 0]
    assert [one.state_tuples for one in found.values()] == [4, 4, 4, None]


def test_what_is_told_again_after_a_crash_counts_once(flights: Topology, bus: redis.Redis) -> None:
    told = [switched(0, 4, "flights.2"), batch(1, 4, plan_id="flights.2"), batch(2, 5), epoch(3, 0, 1.0)]
    say(bus, started(0, 0), *told)
    take_in(flights)
    before = everything()
    again = [one.model_copy(update={"run": RUNS[1], "at": one.at + timedelta(seconds=9)}) for one in told]
    say(bus, started(9, 6, RUNS[1]), *again)
    take_in(flights)
    assert everything() == before
    say(bus, started(20, 5, RUNS[1]), batch(21, 5, RUNS[1]), batch(22, 6, RUNS[1]))
    take_in(flights)
    assert [one.batches for one in periods().values()] == [3]


def test_a_run_that_was_followed_counts_no_more(flights: Topology, bus: redis.Redis) -> None:
    say(bus, batch(1, 0), started(2, 1, RUNS[1]), batch(3, 7), alive(70), batch(4, 1, RUNS[1]))
    take_in(flights)
    assert [one.batches for one in periods().values()] == [2]


@pytest.mark.parametrize("first", [0, 3])
def test_a_new_or_an_older_checkpoint_counts_its_own_batches(
    flights: Topology, bus: redis.Redis, first: int
) -> None:
    say(bus, *(batch(number, number) for number in range(8)), epoch(8, 0, 1.0))
    say(bus, started(60, first, RUNS[1]))
    say(bus, *(batch(61 + number, number, RUNS[1]) for number in range(first, 8)), epoch(70, 0, 1.0, RUNS[1]))
    take_in(flights)
    assert [(one.batches, one.epochs) for one in periods().values()] == [(8, 1), (8 - first, 1)]


def test_an_emptied_redis_loses_nothing_that_was_taken_in(flights: Topology, bus: redis.Redis) -> None:
    key = events_key("flights")
    bus.xadd(key, {"message": batch(1, 0).model_dump_json()}, id="9999999999999-0")
    take_in(flights)
    bus.delete(key)
    say(bus, batch(1, 0), batch(2, 1))
    take_in(flights)
    assert [one.batches for one in periods().values()] == [2]


def test_what_cannot_be_read_is_passed_over(flights: Topology, bus: redis.Redis) -> None:
    bus.xadd(events_key("flights"), {"message": '{"type": "news"}'})
    say(bus, batch(1, 0))
    take_in(flights)
    assert [one.batches for one in periods().values()] == [1]


class Killed(Exception):
    """Ends a worker."""


def killed(topology: Topology) -> None:
    """A worker that dies before its transaction is committed."""
    with transaction.atomic():
        take_in(topology)
        raise Killed


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(events=st.lists(event, max_size=25), cuts=st.lists(st.integers(0, 25), max_size=3), kill=st.booleans())
def test_it_is_the_same_however_the_workers_come_by(
    flights: Topology, bus: redis.Redis, events: Sequence[AnyEvent], cuts: Sequence[int], kill: bool
) -> None:
    def anew() -> None:
        bus.flushall()
        HistoryPeriod.objects.all().delete()
        HistoryCursor.objects.all().delete()

    anew()
    say(bus, *events)
    take_in(flights)
    expected = everything()
    anew()
    begin = 0
    for end in [*sorted(cuts), len(events)]:
        say(bus, *events[begin:end])
        begin = max(begin, end)
        if kill:
            with pytest.raises(Killed):
                killed(flights)
        take_in(flights)
    assert everything() == expected
    take_in(flights)
    assert everything() == expected


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(events=st.lists(event, min_size=1, max_size=25))
def test_longer_periods_are_what_their_minutes_come_to(
    flights: Topology, bus: redis.Redis, events: Sequence[AnyEvent]
) -> None:
    bus.flushall()
    HistoryPeriod.objects.all().delete()
    HistoryCursor.objects.all().delete()
    # What the last one says follows the clock, as a job does.
    say(bus, *(one for _, one in sorted(enumerate(events), key=lambda pair: (pair[1].at, pair[0]))))
    take_in(flights)
    minutes = periods()
    for resolution in (TEN_MINUTES, HOUR):
        parts: dict[datetime, list[Measures]] = {}
        for start, one in minutes.items():
            parts.setdefault(period_start(start, resolution), []).append(one)
        longer = periods(resolution)
        assert longer == {start: reduce(merged, found) for start, found in parts.items()}
        for start, found in parts.items():
            told = asdict(longer[start])
            for name in ADDED:
                assert told[name] == sum(getattr(one, name) for one in found), name
            for name in GREATEST:
                known = [getattr(one, name) for one in found if getattr(one, name) is not None]
                assert told[name] == max(known, default=None), name
            for name in LAST:
                known = [getattr(one, name) for one in found if getattr(one, name) is not None]
                assert told[name] == (known[-1] if known else None), name


def test_of_two_workers_that_read_the_same_events_one_counts_them(
    flights: Topology, bus: redis.Redis
) -> None:
    say(bus, *(batch(number, number) for number in range(70)))
    HistoryCursor.objects.create(topology=flights)
    read = [(HistoryCursor.objects.get(), events_after("flights", START)) for _ in range(2)]
    assert [count(flights, cursor, events) for cursor, events in read] == [True, False]
    assert [one.batches for one in periods().values()] == [60, 10]
    assert HistoryCursor.objects.get().batch == 69


def test_old_periods_go_each_in_its_time(flights: Topology, bus: redis.Redis) -> None:
    say(bus, batch(0, 0))
    take_in(flights)
    left = []
    for age in (*KEPT.values(), timedelta(days=401)):
        prune(NOON + age)
        left.append([len(periods(resolution)) for resolution in KEPT])
    assert left == [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
