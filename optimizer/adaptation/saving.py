"""What a switch came to save."""

from __future__ import annotations

from optimizer.adaptation.learnt import LearntStatistics
from optimizer.estimate import cost_of, estimate
from optimizer.logical.window import union
from optimizer.partitioning.matrix import keep_groups
from optimizer.physical.graph import PhysicalGraph
from optimizer.search.problem import Options
from optimizer.statistics import DefaultStatistics, LayeredStatistics, ObservedStatistics


def settled_after_us(graph: PhysicalGraph) -> int | None:
    """Event time until stores hold nothing of before a switch; None for never."""
    windows = [retention for store in graph.stores for retention in store.retention]
    return union(windows).reach_us if windows else 0


def saved(
    before: PhysicalGraph,
    ran: PhysicalGraph,
    observed: ObservedStatistics,
    learnt: LearntStatistics,
    sent_per_second: float,
    horizon_s: float,
) -> float:
    """Tuples per second that the plan before would have sent more in an epoch.

    Of event time.

    Args:
        before: the plan before; grids would have had the same shapes under either.
        ran: the plan under which the epoch ran.
        observed: what the epoch observed.
        learnt: what the switch was decided on, for what the epoch did not see.
        sent_per_second: what was sent in the epoch in order to probe, copies counted.
        horizon_s: seconds over which an unbounded window holds tuples.
    """
    known = LayeredStatistics((observed, learnt, DefaultStatistics()))
    return estimate(keep_groups(before, ran), known, horizon_s).probe - sent_per_second


def saved_cost(
    before: PhysicalGraph,
    ran: PhysicalGraph,
    observed: ObservedStatistics,
    learnt: LearntStatistics,
    options: Options,
    horizon_s: float,
) -> float:
    """What an epoch would have cost more under the plan before, as `Weighed.saving`.

    Arguments as of `saved`; `options` are those that the plans were weighed by.
    """
    known = LayeredStatistics((observed, learnt, DefaultStatistics()))
    graph = keep_groups(before, ran)
    costs = [cost_of(one, known, options, horizon_s) for one in (graph, ran)]
    scaled = options.cost == "cores" and costs[0] > 0
    tuples = estimate(graph, known, horizon_s).probe / costs[0] if scaled else 1.0
    return (costs[0] - costs[1]) * tuples
