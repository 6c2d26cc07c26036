"""Whether another plan repays the switch.

A switch is not free: stores that only the new plan has are filled from what is stored already. If
plans of nearly equal cost took turns with every fluctuation of the statistics, the topology would
do nothing else, so a plan stays until another one is clearly and durably better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from optimizer.algebra.expression import Expression
from optimizer.estimate import Estimated, cost_of, estimate
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, StoreRule
from optimizer.search.problem import Options
from optimizer.statistics.interval import Interval
from optimizer.statistics.observation.chains import chains, matched_share
from optimizer.statistics.provider import StatisticsProvider
from optimizer.statistics.skew import top_share

LEAST_SHARE = 0.05
"""A saving below this share of what the running plan sends is noise."""
REPAY_EPOCHS = 8
"""Within so many epochs the saving must be as large as what the switch moves."""


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
    """Seconds of event time within which the saving has to repay that."""

    @property
    def worthwhile(self) -> bool:
        """Both conditions: large enough to be no noise, and repaid in time."""
        return (
            self.saving > 0
            and self.saving >= LEAST_SHARE * self.running_probe
            and self.saving * self.patience_s >= self.moved
        )


def weigh(
    running: PhysicalGraph,
    candidate: PhysicalGraph,
    statistics: StatisticsProvider,
    options: Options,
    epoch_s: float,
    horizon_s: float,
) -> Weighed:
    """Compare a plan with the running one under the newest statistics.

    Args:
        statistics: with a rate for every stream of both graphs.
        options: weights of the costs.
        epoch_s: length of an epoch, seconds of event time.
        horizon_s: seconds over which an unbounded window holds tuples.
    """
    both = frozenset(chains(running).values()) & frozenset(chains(candidate).values())
    alike = _Alike(statistics, both)
    now, then = (estimate(graph, alike, horizon_s) for graph in (running, candidate))
    cost, cost_then = (cost_of(graph, alike, options, horizon_s) for graph in (running, candidate))
    saving = cost - cost_then
    if options.cost == "cores" and cost > 0:
        # As tuples: the same share of what the running plan sends.
        saving *= now.probe / cost
    return Weighed(
        running_probe=now.probe,
        candidate_probe=then.probe,
        saving=saving,
        moved=_moved(running, candidate, then, horizon_s),
        patience_s=REPAY_EPOCHS * epoch_s,
    )


@dataclass(frozen=True, slots=True)
class _Alike:
    """Statistics that measure both plans in the same way.

    What a step did is known of the running plan's. Where the other plan has other steps, these are estimated
    by selectivities, and so the running plan's must be: else every plan looks better than the known one.
    """

    known: StatisticsProvider
    steps: frozenset[str]

    def rate(self, stream: str) -> Interval | None:
        return self.known.rate(stream)

    def selectivity(self, predicate: Expression) -> Interval | None:
        return self.known.selectivity(predicate)

    def top_share(self, stream: str, column: str) -> float | None:
        return top_share(self.known, stream, column)

    def step(self, chain: str) -> Interval | None:
        return matched_share(self.known, chain) if chain in self.steps else None


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
