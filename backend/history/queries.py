"""Reading what a topology did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from backend.history.measures import Measures, merged
from backend.history.models import HistoryPeriod
from backend.history.resolutions import HOUR, period_start, span_of, whole_seconds
from backend.topologies.models import PlanSwitch, Topology
from backend.topologies.sight import Sight
from jobs.protocol.metrics import Metric, metrics_of

MOST_SWITCHES = 200
"""Newest first; how many there were, the periods say."""
_OF = metrics_of(Measures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What a topology did from `start` on for one resolution; null is unknown."""

    start: Annotated[datetime, Metric("UTC", "Where the period begins.")]
    batches: Annotated[int, _OF["batches"]]
    seconds: Annotated[float, _OF["seconds"]]
    tuples_in: Annotated[int, _OF["tuples_in"]]
    results: Annotated[int | None, _OF["results"]]
    """None where some queries are another team's, like the next two."""
    late: Annotated[int | None, _OF["late"]]
    undecodable: Annotated[int | None, _OF["undecodable"]]
    backlog: Annotated[int | None, _OF["backlog"]]
    latency_ms_p50: Annotated[float | None, _OF["latency_ms_p50"]]
    latency_ms_p99: Annotated[float | None, _OF["latency_ms_p99"]]
    state_tuples: Annotated[int | None, _OF["state_tuples"]]
    state_bytes: Annotated[int | None, _OF["state_bytes"]]
    cores: Annotated[
        float | None, Metric("cores", "Processor seconds per second of the clock, the mean of its epochs.")
    ]
    plan_id: Annotated[str | None, _OF["plan_id"]]
    switches: Annotated[int, _OF["switches"]]


@dataclass(frozen=True, slots=True)
class Switch:
    """That another plan took over."""

    at: datetime
    plan_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class History:
    begin: datetime
    """Inclusive; not before anything that may be kept."""
    end: datetime
    """Exclusive; not behind now."""
    resolution: timedelta
    since: datetime | None
    """The start of the oldest hour that is kept; None if there is none yet."""
    periods: tuple[Period, ...]
    """Oldest first. A time in which no job was there has none."""
    switches: tuple[Switch, ...]
    """Oldest first."""


def history(topology: Topology, begin: datetime, end: datetime, now: datetime, sight: Sight) -> History:
    """What a topology did in a stretch of time, as far as it may be told."""
    span = span_of(begin, end, now)
    kept = HistoryPeriod.objects.filter(topology=topology)
    rows = kept.filter(
        resolution=whole_seconds(span.kept),
        start__gte=period_start(span.begin, span.resolution),
        start__lt=span.end,
    ).order_by("start")
    hours = kept.filter(resolution=whole_seconds(HOUR)).order_by("start")
    return History(
        begin=span.begin,
        end=span.end,
        resolution=span.resolution,
        since=hours.values_list("start", flat=True).first(),
        periods=tuple(_told(start, one, sight) for start, one in _points(rows, span.resolution)),
        switches=_switches(topology, span.begin, span.end, sight),
    )


def _points(rows: Iterable[HistoryPeriod], resolution: timedelta) -> list[tuple[datetime, Measures]]:
    found: dict[datetime, Measures] = {}
    for row in rows:
        start = period_start(row.start, resolution)
        found[start] = merged(found.get(start, Measures()), row.measures)
    return sorted(found.items(), key=lambda one: one[0])


def _told(start: datetime, one: Measures, sight: Sight) -> Period:
    whole = sight.is_whole
    return Period(
        start=start,
        batches=one.batches,
        seconds=one.seconds,
        tuples_in=one.tuples_in,
        results=one.results if whole else None,
        late=one.late if whole else None,
        undecodable=one.undecodable if whole else None,
        backlog=one.backlog,
        latency_ms_p50=one.latency_ms_p50,
        latency_ms_p99=one.latency_ms_p99,
        state_tuples=one.state_tuples,
        state_bytes=one.state_bytes,
        cores=one.cores,
        plan_id=one.plan_id,
        switches=one.switches,
    )


def _switches(topology: Topology, begin: datetime, end: datetime, sight: Sight) -> tuple[Switch, ...]:
    found: dict[tuple[str, int], Switch] = {}
    records = PlanSwitch.objects.filter(topology=topology, at__gte=begin, at__lt=end).order_by("-at", "-pk")
    for record in records[:MOST_SWITCHES]:
        # What a job told again after a crash is the same batch's: its first telling counts.
        switch = Switch(record.at, record.plan_id, sight.text(record.cause))
        found[record.plan_id, record.batch] = switch
    return tuple(sorted(found.values(), key=lambda one: one.at))
