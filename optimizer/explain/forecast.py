"""Forecast a plan's state from the uncertainty of its statistics.

How large the state may get, and whether another plan would be much better at the edges of what is likely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from optimizer.algebra.errors import Infeasible
from optimizer.algebra.expression import Expression
from optimizer.estimate import cost_of, estimate
from optimizer.logical.event_time.share import may_follow_from_windows
from optimizer.lower.to_graph import to_graph
from optimizer.planner.plan import Plan
from optimizer.statistics import Interval, StatisticsProvider
from optimizer.statistics.defaults import is_assumed
from optimizer.statistics.observation.chains import partners

End = Literal["low", "expected", "high"]
ROBUST = 1.1
"""Up to this factor above the best plan found for an end, the plan counts as robust there."""


@dataclass(frozen=True, slots=True)
class AtEnd:
    """Statistics that all lie at one end of their intervals."""

    known: StatisticsProvider
    end: End
    exactly: float = 1.0
    """The factor to either side by which a number without an interval may be off."""

    def rate(self, stream: str) -> Interval | None:
        return self._at(self.known.rate(stream))

    def selectivity(self, predicate: Expression) -> Interval | None:
        known = self.known.selectivity(predicate)
        if may_follow_from_windows(predicate) and is_assumed(predicate, known):
            return known
        found = self._at(known)
        return None if found is None else Interval.exactly(min(1.0, found.expected))

    def step(self, chain: str) -> Interval | None:
        return self._at(partners(self.known, chain))

    def _at(self, value: Interval | None) -> Interval | None:
        if value is None:
            return None
        if value.low == value.high:
            off = {"low": 1 / self.exactly, "expected": 1.0, "high": self.exactly}
            return Interval.exactly(value.expected * off[self.end])
        return Interval.exactly(getattr(value, self.end))


@dataclass(frozen=True, slots=True)
class StateForecast:
    """Tuples that all stores hold under low, expected and high statistics."""

    low: float
    expected: float
    high: float
    stores: tuple[tuple[str, float, float], ...]
    """(store, low, high) by id."""


@dataclass(frozen=True, slots=True)
class Robustness:
    """How the plan compares at the ends with a plan made for them."""

    low: float
    """Its cost over that of the best plan found when all statistics are low; 1 is as good."""
    high: float
    most_uncertain: str | None
    """The stream whose rate may differ most from what is expected."""

    @property
    def is_robust(self) -> bool:
        return max(self.low, self.high) <= ROBUST

    def __str__(self) -> str:
        if self.is_robust:
            above = 100 * (max(self.low, self.high) - 1)
            return f"robust: at most {above:.0f} % above the best plan found at either end"
        end, factor = max((("low", self.low), ("high", self.high)), key=lambda pair: pair[1])
        about = f"; the rate of {self.most_uncertain} is least certain" if self.most_uncertain else ""
        return f"not robust: {factor:.2g} times the best plan found if all statistics are {end}{about}"


def forecast(plan: Plan) -> StateForecast:
    """The plan's state under the lowest, expected and highest statistics, all at once.

    Intervals come from the statistics provider: exact for declared numbers, a confidence
    interval for sampled and observed ones, the documented range for defaults.
    """
    low, expected, high = (
        estimate(plan.graph, AtEnd(plan.context.with_defaults, end), plan.context.horizon_s)
        for end in ("low", "expected", "high")
    )
    stores = tuple((name, low.stores[name], high.stores[name]) for name in sorted(expected.stores))
    return StateForecast(low.stored, expected.stored, high.stored, stores)


@dataclass(frozen=True, slots=True)
class AddedStore:
    """Tuples of one store that a query needs beyond what a plan keeps already."""

    label: str
    streams: tuple[str, ...]
    tuples: Interval
    kept: bool
    """True if the plan keeps the store already, only not for as long."""


def added_state(plan: Plan | None, alone: Plan) -> tuple[AddedStore, ...]:
    """What a query adds to a plan's stores under low, expected and high statistics.

    A stream that the plan stores gets no further copy: its copies grow by what the query needs for
    longer. A stream that it does not store gets the copies of the query's own plan. Nothing is
    added where the plan keeps as many tuples already.

    Args:
        plan: what runs; None if nothing does.
        alone: a plan of the query alone, over the same statistics.
    """
    there = {} if plan is None else _held(plan)
    kept: dict[str, list[str]] = {}
    for label, (streams, _) in there.items():
        if len(streams) == 1:
            kept.setdefault(streams[0], []).append(label)
    added: dict[str, AddedStore] = {}
    for label, (streams, wanted) in _held(alone).items():
        copies = kept.get(streams[0], []) if len(streams) == 1 else [label] if label in there else []
        for copy in copies:
            more = _beyond(wanted, there[copy][1])
            if more.high > 0:
                added[copy] = AddedStore(copy, streams, more, kept=True)
        if not copies:
            added[label] = AddedStore(label, streams, wanted, kept=False)
    return tuple(added[label] for label in sorted(added))


def _beyond(wanted: Interval, have: Interval) -> Interval:
    """The ends are taken apart: a low rate is low on both sides."""
    low, expected, high = (
        max(0.0, getattr(wanted, end) - getattr(have, end)) for end in ("low", "expected", "high")
    )
    return Interval(low, max(low, expected), max(low, expected, high))


def _held(plan: Plan) -> dict[str, tuple[tuple[str, ...], Interval]]:
    """Streams and tuples of every store, by a label of its relation and partitioning."""
    known, horizon_s = plan.context.with_defaults, plan.context.horizon_s
    low, expected, high = (
        estimate(plan.graph, AtEnd(known, end), horizon_s).stores for end in ("low", "expected", "high")
    )
    return {
        store.label: (
            tuple(one.stream for one in store.inputs),
            _around(low[store.id], expected[store.id], high[store.id]),
        )
        for store in sorted(plan.graph.stores, key=lambda store: store.label)
    }


def _around(low: float, expected: float, high: float) -> Interval:
    """The interval of three estimates: where more matches, there may be fewer groups.

    >>> _around(28.8, 28.8, 12.5)
    Interval(low=12.5, expected=28.8, high=28.8)
    """
    return Interval(min(low, expected, high), expected, max(low, expected, high))


def robustness(plan: Plan) -> Robustness | None:
    """Compare the plan with greedy plans made for either end of the statistics.

    None if nothing is uncertain. Takes two greedy optimizations.
    """
    known = plan.context.with_defaults
    uncertain = {stream.name: _width(known.rate(stream.name)) for stream in plan.translation.streams}
    forecasted = forecast(plan)
    if forecasted.low == forecasted.high or not plan.solution.orders:
        return None
    widest = max(sorted(uncertain), key=lambda name: uncertain[name])
    return Robustness(
        _regret(plan, AtEnd(known, "low")),
        _regret(plan, AtEnd(known, "high")),
        widest if uncertain[widest] > 1 else None,
    )


def _width(rate: Interval | None) -> float:
    if rate is None or rate.high == rate.low:
        return 1.0
    return rate.high / rate.low if rate.low > 0 else float("inf")


def _regret(plan: Plan, known: AtEnd) -> float:
    options = replace(plan.options, time_limit_s=min(1.0, plan.options.time_limit_s))
    context = replace(plan.context, known=known, method="greedy", options=options)
    try:
        forest, _ = context.solve(plan.queries)
    except Infeasible:
        # A budget that the expected numbers keep and these do not: there is no plan to compare with.
        return 1.0
    graphs = (to_graph(forest, method="greedy"), plan.graph)
    other, own = (cost_of(graph, known, plan.options, plan.context.horizon_s) for graph in graphs)
    return max(1.0, own / other) if other > 0 else 1.0
