"""Advise on a query's windows, so that it shares more of an existing plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from optimizer.explain.marginal import MarginalCost, marginal_cost
from optimizer.logical.query import Input, Query
from optimizer.logical.retention import with_retentions
from optimizer.logical.window import Window
from optimizer.planner.plan import Plan

FARTHEST = 4
"""No window is proposed that is longer or shorter by more than this factor: the query would become
another one."""
LEAST_SAVING = 0.05
"""Of what the query adds as it stands; less is not worth results that are lost."""
_MOST_PRICED = 16
_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class WindowChange:
    """Another window for one input."""

    alias: str
    stream: str
    present: Window
    proposed: Window

    @property
    def is_longer(self) -> bool:
        return not self.present.covers(self.proposed)


@dataclass(frozen=True, slots=True)
class Advice:
    """Windows, all longer or all shorter, with which the query would fit better.

    With longer ones it costs nothing more and returns more results: the plan keeps their tuples and
    takes their steps anyway. With shorter ones it costs less and returns fewer.
    """

    changes: tuple[WindowChange, ...]
    like: str
    """The query that has these windows already."""
    saved_probe: float
    """Tuples per second that need not be sent."""
    saved_storage: float
    """Stored tuples, weighted, that need not be kept."""
    saved_share: float
    """Of what the query adds as it stands, from 0 to 1; 0 if it adds nothing."""
    before: MarginalCost
    after: MarginalCost


def advise(plan: Plan, query: Query) -> tuple[Advice, ...]:
    """Windows of other queries to take over: what saves most, then what is free.

    For every query of the plan over some of the same streams, the windows of the common inputs are
    replaced by that query's, the longer ones and the shorter ones by themselves, all together and
    one at a time, and priced by `marginal_cost`. Longer windows are proposed if they cost no more
    than the query as it stands and share steps, shorter ones if they save `LEAST_SAVING` of it.

    Args:
        plan: the plan in use.
        query: in the plan's catalog, not necessarily in the plan.
    """
    # Advice tells of tuples that need not be sent or kept, whatever plans are chosen by.
    plan = plan.by_messages()
    if query.branches:
        # Windows decide there which results there are, and when.
        return ()
    before = marginal_cost(plan, query)
    needed = with_retentions(query, plan.catalog).inputs
    cost = before.probe + before.storage
    found: dict[tuple[WindowChange, ...], Advice] = {}
    priced = 0
    for other, changes in _candidates(plan, query):
        changed = _changed(query, changes)
        if changes in found or priced >= _MOST_PRICED:
            continue
        if with_retentions(changed, plan.catalog).inputs == needed:
            # Conditions on event times keep its tuples no longer, whatever the windows.
            continue
        priced += 1
        after = marginal_cost(plan, changed)
        saved = cost - after.probe - after.storage
        if changes[0].is_longer:
            pays = saved >= -1e-9 * cost and after.reused_steps > 0
        else:
            pays = cost > 0 and saved >= LEAST_SAVING * cost
        if pays:
            found[changes] = Advice(
                changes,
                other,
                before.probe - after.probe,
                before.storage - after.storage,
                saved / cost if cost > 0 else 0.0,
                before,
                after,
            )
    return _best(found)


def _best(found: dict[tuple[WindowChange, ...], Advice]) -> tuple[Advice, ...]:
    """The best of several pieces of advice.

    Of shorter windows that save the same, those that change least; of free ones, those that give most.
    """

    def order(one: Advice) -> tuple[float, int, str]:
        longer = one.changes[0].is_longer
        return -round(one.saved_share, 6), -len(one.changes) if longer else len(one.changes), one.like

    ordered = sorted(found.values(), key=order)
    free = [one for one in ordered if one.changes[0].is_longer]
    shown = [one for one in ordered if not one.changes[0].is_longer or one is free[0]]
    return tuple(shown[:_MOST_SHOWN])


def _candidates(plan: Plan, query: Query) -> Iterator[tuple[str, tuple[WindowChange, ...]]]:
    """The most alike queries come first: those that have most streams in common."""
    streams = {source.stream for source in query.inputs}
    others = [one for one in plan.queries if one.name != query.name]
    others.sort(key=lambda one: (-len(streams & {source.stream for source in one.inputs}), one.name))
    for other in others:
        differences = tuple(_differences(query, other))
        for longer in (True, False):
            possible = tuple(one for one in differences if one.is_longer == longer)
            if len(possible) > 1:
                yield other.name, possible
            for change in possible:
                yield other.name, (change,)


def _differences(query: Query, other: Query) -> Iterator[WindowChange]:
    """Differences in windows between two queries.

    Inputs are paired by stream, a stream's several inputs in the order of their windows.
    """
    theirs: dict[str, list[Window]] = {}
    for source in sorted(other.inputs, key=_length):
        theirs.setdefault(source.stream, []).append(source.window)
    for source in sorted(query.inputs, key=_length):
        if windows := theirs.get(source.stream):
            proposed = windows.pop(0)
            shorter, longer = sorted((_reach(source.window), _reach(proposed)))
            if shorter < longer <= FARTHEST * shorter:
                yield WindowChange(source.alias, source.stream, source.window, proposed)


def _length(source: Input) -> tuple[float, str]:
    return _reach(source.window), source.alias


def _reach(window: Window) -> float:
    return inf if window.reach_us is None else window.reach_us


def _changed(query: Query, changes: tuple[WindowChange, ...]) -> Query:
    proposed = {one.alias: one.proposed for one in changes}
    inputs = tuple(
        replace(source, window=proposed.get(source.alias, source.window)) for source in query.inputs
    )
    return replace(query, inputs=inputs)
