"""Statistics learnt from the probes that a running topology makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, prod

from optimizer.algebra.expression import Column, Expression, inputs_of, walk
from optimizer.logical.canonical_inputs import blank_ordinals, sort_key
from optimizer.statistics.interval import Interval
from optimizer.statistics.observation.belief import Lasting, believed, then
from optimizer.statistics.observation.daily import Rate
from optimizer.statistics.observation.evidence import Evidence


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """What one probe rule did during an epoch, or during several."""

    start: str
    """The stream whose new tuples started the tree."""
    predicates: tuple[Expression, ...]
    """Join predicates that were evaluated at this step and nowhere before."""
    compared: float
    """Pairs of an arriving and a stored tuple inside the windows: what the predicates saw."""
    matched: float
    """Pairs for which all of them were true."""
    chain: str = ""
    """What it joins, from the start on: see `optimizer.statistics.observation.chains`."""
    dispersion: float = 1.0
    epochs: float = 1.0
    """As in `Evidence`."""
    lasting: Lasting | None = None
    """Over all epochs, once some contradicted each other."""
    joined: Evidence | None = None
    """Matches for tuples that arrived; None where none did."""
    joined_lasting: Lasting | None = None

    @property
    def evidence(self) -> Evidence:
        """Matches among pairs."""
        return believed(self._recent, self.lasting)

    @property
    def partners(self) -> Interval | None:
        """What it multiplies its input by."""
        return None if self.joined is None else believed(self.joined, self.joined_lasting).interval

    @property
    def _recent(self) -> Evidence:
        return Evidence(self.compared, self.matched, self.dispersion, self.epochs)

    @property
    def identity(self) -> tuple[str, str, tuple[Expression, ...]]:
        return self.chain, self.start, self.predicates

    def then(self, newer: ObservedStep) -> ObservedStep:
        """The same step with a newer epoch's counts."""
        made = self.faded()
        if newer.compared > 0:
            seen = self.compared > 0
            told = then(self._recent, self.lasting, newer._recent) if seen else (newer._recent, None)
            made = self._with(*told)
        if newer.joined is None:
            return replace(made, joined=self.joined)
        if self.joined is None:
            return replace(made, joined=newer.joined)
        joined, lasting = then(self.joined, self.joined_lasting, newer.joined)
        return replace(made, joined=joined, joined_lasting=lasting)

    def faded(self) -> ObservedStep:
        """After an epoch in which it did nothing.

        What others tell of its predicates counts for more by now. What it does itself nobody else tells.
        """
        lasting, joined = self.lasting, self.joined
        if lasting is not None:
            lasting = replace(lasting, evidence=lasting.evidence.faded())
        if joined is not None:
            joined = replace(joined, epochs=joined.faded().epochs)
        return replace(self._with(self._recent.faded(), lasting), joined=joined)

    @property
    def is_remembered(self) -> bool:
        """False once what it did is too long ago to be kept."""
        return max(self.epochs, 0.0 if self.joined is None else self.joined.epochs) > _NEGLIGIBLE

    def _with(self, recent: Evidence, lasting: Lasting | None) -> ObservedStep:
        return replace(
            self,
            compared=recent.chances,
            matched=recent.hits,
            dispersion=recent.dispersion,
            epochs=recent.epochs,
            lasting=lasting,
        )


_NEGLIGIBLE = 0.05
"""Epochs behind what a step showed below which it is not kept any more."""


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
    - A step itself tells what it multiplies its input by, whatever its predicates do elsewhere: a
      probe from the earlier stream finds nothing, one from the later stream everything (LEO, VLDB
      2001). See `step`.

    Few comparisons are little evidence, which intervals say.
    """

    steps: tuple[ObservedStep, ...] = ()
    rates: Mapping[str, Rate] = field(default_factory=dict)
    """By stream."""
    event_times: frozenset[tuple[str, str]] = frozenset()
    """(stream, column) of every stream's event time."""
    held_epochs: float = 1.0
    """For how many epochs, faded, all that the newest one saw has been like that."""
    _known: dict[Expression, Interval] = field(init=False, default_factory=dict, compare=False)
    _steps: dict[str, Interval | None] = field(init=False, default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", self._learn())
        steps = {step.chain: step.partners for step in self.steps if step.chain}
        object.__setattr__(self, "_steps", steps)

    def rate(self, stream: str) -> Interval | None:
        """What epochs have on average: see `Rate`."""
        found = self.rates.get(stream)
        return None if found is None else found.mean

    def then(self, newer: ObservedStatistics) -> ObservedStatistics:
        """With a newer epoch's observations; what it did not see fades."""
        earlier = {step.identity: step for step in self.steps}
        steps = {identity: step.faded() for identity, step in earlier.items()}
        for step in newer.steps:
            before = earlier.get(step.identity)
            if before is None:
                steps[step.identity] = step
            elif step.compared > 0 or step.joined is not None:
                steps[step.identity] = before.then(step)
        rates = dict(self.rates)
        for stream, now in newer.rates.items():
            rates[stream] = rates[stream].then(now) if stream in rates else now
        seen = [steps[step.identity].evidence.epochs for step in newer.steps if step.compared > 0]
        held = min((*seen, *(rates[stream].believed.epochs for stream in newer.rates)), default=1.0)
        kept = tuple(step for step in steps.values() if step.is_remembered)
        return replace(newer, steps=kept, rates=rates, held_epochs=held)

    def step(self, chain: str) -> Interval | None:
        """What steps of this chain multiply their input by."""
        return self._steps.get(chain)

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
        joints: dict[Expression, Interval] = {}
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
            for predicate in unknown:
                joints.setdefault(predicate, joint)
        # What a product is known to within its factors are too: plans multiply them again.
        return {
            p: Interval(
                value * joints[p].low / joints[p].expected,
                value,
                max(value, min(1.0, value * joints[p].high / joints[p].expected)),
            )
            for p, value in shares(products).items()
        }

    def _ratio(self, steps: Sequence[ObservedStep]) -> Interval | None:
        compared = [step for step in steps if step.compared > 0]
        if not compared:
            return None
        found = [step.evidence for step in compared]
        total = Evidence(sum(one.chances for one in found), sum(one.hits for one in found))
        # The steps of a predicate see one stream's tuples: the most uneven one tells how even they are.
        dispersion = max(one.dispersion for one in found)
        expected = min(1.0, total.ratio)
        counted = Evidence(total.chances / dispersion, total.hits / dispersion).interval
        return Interval(min(counted.low, expected), expected, max(expected, min(1.0, counted.high)))

    def _is_seen_from_all_sides(self, predicate: Expression, steps: Sequence[ObservedStep]) -> bool:
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
