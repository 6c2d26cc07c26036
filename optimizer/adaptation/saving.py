"""What a switch came to save."""

from __future__ import annotations

from optimizer.adaptation.learnt import LearntStatistics
from optimizer.estimate import estimate
from optimizer.logical.window import union
from optimizer.partitioning.matrix import keep_groups
from optimizer.physical.graph import PhysicalGraph
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
