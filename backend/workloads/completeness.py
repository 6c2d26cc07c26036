"""Since when a query will be complete that is not deployed yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Literal

from backend.live.queries import live_state
from backend.topologies.models import Topology
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import needed_windows
from optimizer.logical.query import Query
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class Completeness:
    """From which event time on all results will be found."""

    kind: Literal["beginning", "at once", "since", "history", "never"]
    """From the first tuple read; from the first batch on; from `since` on; once a stream's history is read;
    never, as an unbounded window needs what is stored no longer."""
    since: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Stored:
    """What a topology stores and how far it is."""

    reach_us: Mapping[str, int | None]
    """By stream, for how long its tuples are kept; None for ever."""
    watermark: datetime | None


@cache
def _nothing() -> Stored:
    return Stored({}, None)


def stored_by(topology: Topology | None) -> Stored:
    """What a topology's running plan keeps of its streams."""
    if topology is None or topology.active_plan is None:
        return _nothing()
    plan = topology.active_plan
    graph = PhysicalGraph.from_json(plan.graph, f"plan {plan.plan_id}")
    reach: dict[str, int | None] = {}
    for store in graph.stores:
        if store.is_base:
            stream, kept = store.inputs[0].stream, store.retention[0].reach_us
            longest = reach.get(stream, 0)
            reach[stream] = None if kept is None or longest is None else max(kept, longest)
    batch = live_state(topology).batch
    marks = [] if batch is None else [one.watermark for one in batch.streams.values() if one.watermark]
    return Stored(reach, min(marks, default=None))


def completeness(query: Query, catalog: Catalog, stored: Stored) -> Completeness:
    """What may be told before the query runs.

    A result with newest time T needs every tuple of input i from T - W_i on. A store that keeps R has those
    from watermark - R on, so results are complete from watermark + max(W_i - R_i) on.
    """
    if not stored.reach_us:
        return Completeness("beginning", None, "complete from the first tuple that its streams still have")
    joining = sorted({one.stream for one in query.inputs if one.stream not in stored.reach_us})
    if joining:
        text = f"complete once what {' and '.join(joining)} had before is read"
        return Completeness("history", None, text)
    wait_us = 0
    for source in needed_windows(query, catalog):
        kept, wanted = stored.reach_us[source.stream], source.window.reach_us
        if kept is None:
            continue
        if wanted is None:
            text = f"never complete: {source.alias} is unbounded, and {source.stream} is kept for less"
            return Completeness("never", None, text)
        wait_us = max(wait_us, wanted - kept)
    if wait_us <= 0 or stored.watermark is None:
        return Completeness("at once", stored.watermark, "complete from its first batch on")
    try:
        since = stored.watermark + timedelta(microseconds=wait_us)
    except OverflowError:
        return Completeness("never", None, "never complete: its window ends behind all times")
    return Completeness("since", since, f"complete since {since:%Y-%m-%d %H:%M:%S} of event time")
