"""Whether another plan repays the switch.

A switch is not free: stores that only the new plan has are filled from what is stored already. If
plans of nearly equal cost took turns with every fluctuation of the statistics, the topology would
do nothing else, so a plan stays until another one is better whatever the statistics may well be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from optimizer.adaptation.draws import DRAWS, Drawn
from optimizer.adaptation.learnt import LearntStatistics
from optimizer.algebra.expression import Expression
from optimizer.estimate import Estimated, cost_of, estimate
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, StoreRule
from optimizer.search.problem import Options
from optimizer.statistics.interval import Interval
from optimizer.statistics.observation.chains import chains, partners
from optimizer.statistics.provider import StatisticsProvider
from optimizer.statistics.skew import top_share

LEAST_SHARE = 0.05
"""A saving below this share of what the running plan sends is noise."""
REPAY_EPOCHS = 8
"""Within so many epochs at most the saving must be as large as what the switch moves."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """Two plans under the same statistics, in tuples per second of event time."""

    running_probe: float
    """What the running plan is expected to send."""
    candidate_probe: float
    saving: float
    """Of cost: probe and weighted storage together; negative if the candidate is dearer."""
    moved: float
    """Tuples that have to be stored or sent again in order to switch."""
    patience_s: float
    """Seconds of event time within which the saving has to repay that: as long as the statistics have been
    what they are, and at most `REPAY_EPOCHS`."""
    low: float | None = None
    """What is saved at least, if statistics are what their intervals allow; None if that did not matter, or
    in documents of an older release."""

    @property
    def promising(self) -> bool:
        """True if what is expected is no error of the model and repays the switch."""
        return (
            self.saving > 0
            and self.saving >= LEAST_SHARE * self.running_probe
            and self.saving * self.patience_s >= self.moved
        )

    @property
    def worthwhile(self) -> bool:
        """True if the switch is repaid in time, also by less favourable statistics."""
        sure = self.low is None or (self.low > 0 and self.low * self.patience_s >= self.moved)
        return self.promising and sure


def weigh(
    running: PhysicalGraph,
    candidate: PhysicalGraph,
    statistics: StatisticsProvider,
    options: Options,
    epoch_s: float,
    horizon_s: float,
) -> Weighed:
    """Compare a plan with the running one under the newest statistics.

    How long data will stay as they are nobody knows; that they will for as long as they have is a guess by
    which at most as much is lost in waiting as a switch costs.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> from optimizer.statistics import statistics_of_workload
    >>> known = statistics_of_workload(catalog)
    >>> graph = plan([query], catalog, known).graph
    >>> weighed = weigh(graph, graph, known, Options(), epoch_s=60, horizon_s=3600)
    >>> weighed.saving, weighed.moved, weighed.worthwhile
    (0.0, 0, False)

    Args:
        statistics: with a rate for every stream of both graphs.
        options: weights of the costs.
        epoch_s: length of an epoch, seconds of event time.
        horizon_s: seconds over which an unbounded window holds tuples.
    """
    alike = _Alike.of(statistics, running, candidate)
    memory = statistics.memory if isinstance(statistics, LearntStatistics) else None
    held = REPAY_EPOCHS if memory is None else memory.held_epochs

    def cost(graph: PhysicalGraph, known: StatisticsProvider) -> float:
        return cost_of(graph, known, options, horizon_s)

    # What the running plan does is known: if it is less than selectivities say, so may the other plan do.
    found_cost, seen = min(((cost(running, k), k) for k in (alike, statistics)), key=lambda pair: pair[0])
    now, then = estimate(running, seen, horizon_s), estimate(candidate, alike, horizon_s)
    # As tuples: the same share of what the running plan sends.
    tuples = now.probe / found_cost if options.cost == "cores" and found_cost > 0 else 1.0
    found = Weighed(
        running_probe=now.probe,
        candidate_probe=then.probe,
        saving=(found_cost - cost(candidate, alike)) * tuples,
        moved=_moved(running, candidate, then, horizon_s),
        patience_s=min(REPAY_EPOCHS, held) * epoch_s,
    )
    if not found.promising:
        return found
    # Estimated alike: what is drawn high is so for both.
    both = (Drawn(alike, seed) for seed in range(DRAWS))
    drawn = ((cost(running, known) - cost(candidate, known)) * tuples for known in both)
    return replace(found, low=min(found.saving, *drawn))


@dataclass(frozen=True, slots=True)
class _Alike:
    """Statistics that measure both plans in the same way.

    What a step did is known of the running plan's. Where the other plan has other steps, these are estimated
    by selectivities, and so the running plan's must be: else every plan looks better than the known one. Once
    all steps of either have been seen, what they did tells which is better.
    """

    known: StatisticsProvider
    steps: frozenset[str]

    @classmethod
    def of(cls, known: StatisticsProvider, one: PhysicalGraph, other: PhysicalGraph) -> _Alike:
        """For two plans."""
        steps = [{rule: made for rule, made in chains(g).items() if rule in _probes(g)} for g in (one, other)]
        either = {chain for found in steps for chain in found.values()}
        if all(partners(known, chain) is not None for chain in either):
            return cls(known, frozenset(either))
        return cls(known, frozenset(steps[0].values()) & frozenset(steps[1].values()))

    def rate(self, stream: str) -> Interval | None:
        return self.known.rate(stream)

    def selectivity(self, predicate: Expression) -> Interval | None:
        return self.known.selectivity(predicate)

    def top_share(self, stream: str, column: str) -> float | None:
        return top_share(self.known, stream, column)

    def step(self, chain: str) -> Interval | None:
        return partners(self.known, chain) if chain in self.steps else None


def _probes(graph: PhysicalGraph) -> frozenset[str]:
    return frozenset(rule.id for rule in at_once(graph).rules if isinstance(rule, ProbeRule))


def same_plan(one: PhysicalGraph, other: PhysicalGraph) -> bool:
    """True if two graphs do the same, whatever they expect and whichever planner's."""
    return replace(one, estimates=(), method="") == replace(other, estimates=(), method="")


def _moved(running: PhysicalGraph, candidate: PhysicalGraph, expected: Estimated, horizon_s: float) -> float:
    """Tuples to store again for new base stores, or to send again for new MIRs.

    Filling a base store copies what it holds. Making a materialized result anew sends one window
    of its starting inputs through the orders that feed it.
    """
    candidate = at_once(candidate)
    there = {store.id for store in running.stores}
    stores = {store.id: store for store in candidate.stores}
    rules = {rule.id: rule for rule in candidate.rules}
    origins = {edge.id: edge.origin for edge in candidate.edges}
    windows = {}
    copied = sum(
        expected.stores[store.id] for store in candidate.stores if store.is_base and store.id not in there
    )
    for rule in candidate.rules:
        if not isinstance(rule, StoreRule) or stores[rule.store].is_base or rule.store in there:
            continue
        edge = rule.edge
        step = rules[origins[edge]]
        while isinstance(step, ProbeRule):
            start_s = step.window_of[step.start].seconds
            windows[step.edge] = horizon_s if start_s is None else start_s
            step = rules[origins[step.edge]]
    return copied + sum(expected.edges[edge] * windows[edge] for edge in sorted(windows))
