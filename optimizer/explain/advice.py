"""Changes of a query's windows that would let it share what a plan already does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from optimizer.explain.marginal import MarginalCost, marginal_cost
from optimizer.plan import Plan
from optimizer.query import Input, Query

FARTHEST = 4
"""A window is not proposed to grow by more than this factor: the query would become another one."""
LEAST_SAVING = 0.05
"""Of what the query adds as it stands; less is not worth a change of meaning."""
_MOST_PRICED = 16
_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Widening:
    """A longer window for one input."""

    alias: str
    stream: str
    present: timedelta
    proposed: timedelta


@dataclass(frozen=True, slots=True)
class Advice:
    """Longer windows under which the query would cost less in the plan. It would return more results:
    those that only the longer windows hold."""

    widenings: tuple[Widening, ...]
    like: str
    """The query that has these windows already."""
    saved_probe: float
    """Tuples per second that need not be sent."""
    saved_storage: float
    """Stored tuples, weighted, that need not be kept."""
    saved_share: float
    """Of what the query adds as it stands, from 0 to 1."""
    before: MarginalCost
    after: MarginalCost


def advise(plan: Plan, query: Query) -> tuple[Advice, ...]:
    """Windows of other queries that `query` should take over, those that save most first.

    For every query of the plan over some of the same streams, the windows of the common inputs are
    widened to that query's, all together and one at a time, and priced by `marginal_cost`. What is
    proposed costs at least `LEAST_SAVING` less than the query as it stands. Only windows that the
    plan already keeps tuples for are proposed, so no store grows.

    Args:
        plan: the plan in use.
        query: in the plan's catalog, not necessarily in the plan.
    """
    before = marginal_cost(plan, query)
    cost = before.probe + before.storage
    if cost <= 0:
        return ()
    found: dict[tuple[Widening, ...], Advice] = {}
    priced = 0
    for other, widenings in _candidates(plan, query):
        if widenings in found or priced >= _MOST_PRICED:
            continue
        priced += 1
        after = marginal_cost(plan, _widened(query, widenings))
        saved = cost - after.probe - after.storage
        if saved >= LEAST_SAVING * cost:
            found[widenings] = Advice(
                widenings,
                other,
                before.probe - after.probe,
                before.storage - after.storage,
                saved / cost,
                before,
                after,
            )
    # Of several that save the same, the one that changes least.
    ordered = sorted(
        found.values(), key=lambda one: (-round(one.saved_share, 6), len(one.widenings), one.like)
    )
    return tuple(ordered[:_MOST_SHOWN])


def _candidates(plan: Plan, query: Query) -> Iterator[tuple[str, tuple[Widening, ...]]]:
    """The most alike queries come first: those that have most streams in common."""
    streams = {source.stream for source in query.inputs}
    others = [one for one in plan.queries if one.name != query.name]
    others.sort(key=lambda one: (-len(streams & {source.stream for source in one.inputs}), one.name))
    for other in others:
        possible = tuple(_differences(query, other))
        if len(possible) > 1:
            yield other.name, possible
        for widening in possible:
            yield other.name, (widening,)


def _differences(query: Query, other: Query) -> Iterator[Widening]:
    """Inputs are paired by stream, a stream's several inputs in the order of their windows."""
    theirs: dict[str, list[timedelta]] = {}
    for source in sorted(other.inputs, key=_length):
        if source.window is not None:
            theirs.setdefault(source.stream, []).append(source.window)
    for source in sorted(query.inputs, key=_length):
        windows = theirs.get(source.stream)
        if source.window is None or not windows:
            continue
        proposed = windows.pop(0)
        if source.window < proposed <= FARTHEST * source.window:
            yield Widening(source.alias, source.stream, source.window, proposed)


def _length(source: Input) -> tuple[bool, timedelta, str]:
    return source.window is None, source.window or timedelta(0), source.alias


def _widened(query: Query, widenings: tuple[Widening, ...]) -> Query:
    proposed = {one.alias: one.proposed for one in widenings}
    inputs = tuple(
        replace(source, window=proposed.get(source.alias, source.window)) for source in query.inputs
    )
    return replace(query, inputs=inputs)
