"""Since when a query's results are complete.

It follows from its stores: if a store has every tuple from event time c on and its input has window W,
results whose newest tuple is not older than c + W are all found. From holds: what a query's results wait in
has nothing of what came before the query did. And from streams that joined a running topology: what a stream
had before its first query came is read while the watermark stands where the others have brought it, and goes
on. A tuple of the joining stream that is older than the watermark finds of the others what is still stored.
Once the stream has caught up under a watermark J, all results whose newest tuple is not older than J are
found: their tuples were stored, or were still to come.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from jobs.plan.event_time import LAST_US
from jobs.protocol.metrics import newest
from jobs.reconfigure.continuation import Continuation
from jobs.recovery.manifest import Manifest, QueryState
from optimizer.logical.window import union
from optimizer.physical.graph import PhysicalGraph

_NEVER = 253_402_300_799_000_000
"""The end of the year 9999: a query without a window over a store that misses tuples never is
complete."""


def complete_since(change: Continuation) -> dict[str, int | None]:
    """Per query of the new plan, since when its results are complete.

    That is the event time from which all are found; None for always. What a query that goes on has found
    stays found: it is complete since when it was, if its stores have all that it still needs.
    """
    graph, states, before = change.new, change.states, change.before
    tables = graph.tables
    found: dict[str, int | None] = {}
    for name, stores in change.looked_into.items():
        found[name] = reduce(newest, (states[store].complete_from_us for store in stores), None)
    for asked in graph.queries:
        since = found[asked.name]
        if since is not None:
            # The stored tuple may be as old as the widest window allows.
            widest = union(i.window for i in asked.inputs if i.stream not in tables).reach_us
            found[asked.name] = _NEVER if widest is None else min(_NEVER, since + widest)
        if change.misses_nothing(asked.name):
            found[asked.name] = before.queries[asked.name].complete_since_us
    for hold in graph.holds:
        # What came before the hold was there does not wait in it.
        own = states[hold.store].complete_from_us
        # What is counted by its oldest tuple was stored, whole, since the groups are there.
        by_oldest = hold.groups is not None and hold.groups.by_oldest
        found[hold.query] = own if by_oldest else newest(found[hold.query], own)
    joined = {name: query.joined_us for name, query in before.queries.items()}
    known = {name: newest(since, joined.get(name)) for name, since in found.items()}
    inner = sorted(graph.derived, key=lambda stream: stream.derived.tier if stream.derived else 0)
    for name in (*(stream.name for stream in inner), *(query.name for query in graph.answered)):
        known[name] = newest(known[name], _results_from(graph, name, known))
    return known


def _results_from(graph: PhysicalGraph, name: str, complete: Mapping[str, int | None]) -> int | None:
    """Since when a query has all results of the others that it reads."""
    asked = next(query for query in graph.queries if query.name == name)
    derived = {stream.name for stream in graph.derived}
    read = [one for item in asked.inputs if item.stream in derived for one in [complete.get(item.stream)]]
    since = max((one for one in read if one is not None), default=None)
    if since is None:
        return None
    looks = [look.back for hold in graph.holds if hold.query == name for look in hold.looks]
    widest = union((*(item.window for item in asked.inputs), *looks)).reach_us
    # A group that began before all was there may end a bucket later.
    sizes = [
        h.groups.size_us for h in graph.holds if h.groups and h.query in {i.stream for i in asked.inputs}
    ]
    return _NEVER if widest is None else min(_NEVER, since + widest + max(sizes, default=0))


def certain_from(graph: PhysicalGraph, previous: Manifest | None, watermark_us: int | None) -> dict[str, int]:
    """Per hold, the event time since when what it waits for is known.

    That is whether combinations have partners, or all combinations of groups. Left out are holds for
    which all is known. A combination is as old as its newest tuple, a group as its
    bucket's beginning.

    Args:
        graph: the plan of the batch.
        previous: the manifest from which the batch starts; None before the first.
        watermark_us: the topology's in this batch. While a stream of a query joins, nothing that falls
            due under it is certain.
    """
    found: dict[str, int] = {}
    if previous is None:
        return found
    streams = {query.name: graph.read_by(query.name) for query in graph.queries}
    complete = {name: query.complete_since_us for name, query in previous.queries.items()}
    for hold in graph.holds:
        query = previous.queries.get(hold.query, QueryState())
        joined_us = query.joined_us
        if previous.joining(streams[hold.query]):
            joined_us = LAST_US if hold.is_running else watermark_us
        if joined_us is not None:
            found[hold.name] = joined_us
        whole = complete.get(hold.query) if hold.groups is not None else None
        for since in (whole, _results_from(graph, hold.query, complete)):
            if since is not None:
                found[hold.name] = max(since, found.get(hold.name, since))
        for look in hold.looks:
            since = previous.stores[look.store].complete_from_us if look.store in previous.stores else None
            if since is not None:
                certain = LAST_US if look.back.reach_us is None else min(LAST_US, since + look.back.reach_us)
                found[hold.name] = max(certain, found.get(hold.name, certain))
    return found
