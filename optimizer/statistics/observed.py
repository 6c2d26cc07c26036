"""Statistics learnt from the probes that a running topology makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log, prod

from optimizer.algebra.expression import Column, Expression, inputs_of, walk
from optimizer.logical.canonical_inputs import blank_ordinals, sort_key
from optimizer.statistics.interval import Interval


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """What one probe rule did during an epoch."""

    start: str
    """The stream whose new tuples started the tree."""
    predicates: tuple[Expression, ...]
    """Join predicates that were evaluated at this step and nowhere before."""
    compared: float
    """Pairs of an arriving and a stored tuple inside the windows: what the predicates saw."""
    matched: float
    """Pairs for which all of them were true."""


@dataclass(frozen=True, slots=True)
class ObservedStatistics:
    """Selectivities observed in installed probe orders (dissertation section 7.2.1).

    - A step with one predicate tells its selectivity: matches over comparisons, summed over
      all steps that evaluate it.
    - A step with several tells their product. With all but one known from other steps the last
      one follows, assuming independence; otherwise they share the product evenly. Where steps
      contradict each other, as when predicates are not independent, those with more matches count
      for more: see `shares`.
    - A predicate that reads event times of both sides correlates with time: a probe only meets
      older tuples, so one direction says nothing about the other. It is known only once it
      has been observed from both sides.

    Fewer than `least_comparisons` comparisons are no evidence: the predicate stays unknown.
    """

    steps: tuple[ObservedStep, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    """Tuples per second of event time by stream, over the epoch."""
    event_times: frozenset[tuple[str, str]] = frozenset()
    """(stream, column) of every stream's event time."""
    least_comparisons: float = 1000.0
    _known: dict[Expression, Interval] = field(init=False, default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", self._learn())

    def rate(self, stream: str) -> Interval | None:
        value = self.rates.get(stream)
        return None if value is None else Interval.exactly(value)

    def selectivity(self, predicate: Expression) -> Interval | None:
        return self._known.get(blank_ordinals(predicate))

    def _learn(self) -> dict[Expression, Interval]:
        known: dict[Expression, Interval] = {}
        alone: dict[Expression, list[ObservedStep]] = defaultdict(list)
        together: dict[tuple[Expression, ...], list[ObservedStep]] = defaultdict(list)
        for step in self.steps:
            blank = tuple(dict.fromkeys(blank_ordinals(predicate) for predicate in step.predicates))
            if len(blank) == 1:
                alone[blank[0]].append(step)
            elif blank:
                # From whichever side: the same predicates are one product.
                together[tuple(sorted(blank, key=sort_key))].append(step)
        for predicate, steps in alone.items():
            estimate = self._ratio(steps)
            if estimate is not None and self._is_seen_from_all_sides(predicate, steps):
                known[predicate] = estimate
        return known | self._inferred(together, known)

    def _inferred(
        self, together: dict[tuple[Expression, ...], list[ObservedStep]], known: dict[Expression, Interval]
    ) -> dict[Expression, Interval]:
        """What steps with several predicates tell about single ones.

        No step evaluates these alone.
        """
        products: list[Product] = []
        lows: dict[Expression, float] = {}
        for predicates, steps in together.items():
            joint = self._ratio(steps)
            unknown = tuple(
                p for p in predicates if p not in known and self._is_seen_from_all_sides(p, steps)
            )
            if joint is None or not unknown:
                continue
            explained = prod(known[p].expected for p in predicates if p in known)
            value = min(1.0, joint.expected / explained) if explained > 0 else joint.expected
            products.append(Product(unknown, value, max(0.5, sum(step.matched for step in steps))))
            lows |= {p: min(lows.get(p, 1.0), joint.low) for p in unknown}
        # Its own share is somewhere between the joint one and no restriction at all.
        return {p: Interval(min(value, lows[p]), value, 1.0) for p, value in shares(products).items()}

    def _ratio(self, steps: Iterable[ObservedStep]) -> Interval | None:
        compared = sum(step.compared for step in steps)
        if compared < self.least_comparisons:
            return None
        # Half a hit for none: an order that found nothing yet is cheap, but not free.
        expected = min(1.0, max(0.5, sum(step.matched for step in steps)) / compared)
        error = 1.96 * (expected * (1 - expected) / compared) ** 0.5
        return Interval(max(0.0, expected - error), expected, min(1.0, expected + error))

    def _is_seen_from_all_sides(self, predicate: Expression, steps: Iterable[ObservedStep]) -> bool:
        return not self._correlates_with_time(predicate) or {s.start for s in steps} >= inputs_of(predicate)

    def _correlates_with_time(self, predicate: Expression) -> bool:
        read = {(node.input, node.name) for node in walk(predicate) if isinstance(node, Column)}
        return bool(read & self.event_times) and len(read) > 1


@dataclass(frozen=True, slots=True)
class Product:
    """What some predicates let pass together."""

    predicates: tuple[Expression, ...]
    value: float
    """Above 0, at most 1."""
    weight: float
    """Matches behind it."""


_SWEEPS = 1000
_CLOSE = 1e-9


def shares(products: Sequence[Product]) -> dict[Expression, float]:
    """Selectivities, none above 1, whose products come closest to the observed ones.

    Close is by the weighted squares of the logarithms' differences: an estimate that is off by a
    factor is as bad in either direction, and the logarithm of a count has a variance of about one
    over that count. Least squares over non-negative unknowns, by coordinate descent. It starts from
    even shares, so that what the products leave open stays even.
    """
    by_predicate: dict[Expression, list[Product]] = defaultdict(list)
    for product in products:
        for predicate in product.predicates:
            by_predicate[predicate].append(product)
    costs = {
        p: sum(-log(o.value) / len(o.predicates) * o.weight for o in own) / sum(o.weight for o in own)
        for p, own in by_predicate.items()
    }
    for _ in range(_SWEEPS):
        moved = 0.0
        for predicate, own in by_predicate.items():
            left = sum(
                o.weight * (-log(o.value) - sum(costs[q] for q in o.predicates if q != predicate))
                for o in own
            )
            best = max(0.0, left / sum(o.weight for o in own))
            moved = max(moved, abs(best - costs[predicate]))
            costs[predicate] = best
        if moved < _CLOSE:
            break
    return {predicate: exp(-cost) for predicate, cost in costs.items()}
