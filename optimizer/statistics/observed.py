"""Statistics learnt from the probes that a running topology makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from optimizer.canonical import blank_ordinals
from optimizer.expression import Column, Expression, inputs_of, walk
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
    """Selectivities of installed probe orders, with the rules of dissertation section 7.2.1.

    - A step with one predicate tells its selectivity: matches over comparisons, summed over
      all steps that evaluate it.
    - A step with several tells their product. With all but one known from other steps the last
      one follows, assuming independence; otherwise they share the product evenly.
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
        together: list[tuple[ObservedStep, tuple[Expression, ...]]] = []
        for step in self.steps:
            blank = tuple(dict.fromkeys(blank_ordinals(predicate) for predicate in step.predicates))
            if len(blank) == 1:
                alone[blank[0]].append(step)
            elif blank:
                together.append((step, blank))
        for predicate, steps in alone.items():
            estimate = self._ratio(steps)
            if estimate is not None and self._is_seen_from_all_sides(predicate, steps):
                known[predicate] = estimate
        for step, predicates in together:
            self._split(step, predicates, known)
        return known

    def _split(
        self, step: ObservedStep, predicates: tuple[Expression, ...], known: dict[Expression, Interval]
    ) -> None:
        joint = self._ratio([step])
        unknown = [p for p in predicates if p not in known and not self._correlates_with_time(p)]
        if joint is None or not unknown:
            return
        explained = 1.0
        for predicate in predicates:
            explained *= known[predicate].expected if predicate in known else 1.0
        share = min(1.0, joint.expected / explained) if explained > 0 else joint.expected
        each = share ** (1 / len(unknown))
        for predicate in unknown:
            # Its own share is somewhere between the joint one and no restriction at all.
            known[predicate] = Interval(min(each, joint.low), each, 1.0)

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
