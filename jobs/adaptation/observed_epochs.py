"""What a replay's batches tell of its epochs."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.recovery.batch_history import BatchLine
from jobs.recovery.epochs import EpochCounts, sum_counts
from optimizer.physical.graph import PhysicalGraph
from optimizer.statistics import Measured, ObservedStatistics, observe


def epoch_counts(lines: Sequence[BatchLine], epoch: int) -> EpochCounts | None:
    """What happened in an epoch under its last plan; None if it has no batch."""
    own = [line for line in lines if line.epoch == epoch]
    if not own:
        return None
    own = [line for line in own if line.plan == own[-1].plan]
    earlier = [line.figures.counts.newest_us for line in lines if line.batch < own[0].batch]
    known = [newest for newest in earlier if newest is not None]
    return sum_counts([line.figures.counts for line in own], max(known, default=None))


def observed_statistics(graph: PhysicalGraph, counts: EpochCounts) -> ObservedStatistics:
    """Statistics that the probe orders of `graph` tell, given an epoch's counts.

    Its seconds must be positive.
    """
    return observe(
        graph,
        Measured(counts.seconds, counts.accepted, counts.edges, counts.held, {}, counts.rules),
    )


def elapsed_s(lines: Sequence[BatchLine]) -> float:
    """Event time since the first tuple, seconds: what an unbounded window holds."""
    oldest = [line.figures.counts.oldest_us for line in lines if line.figures.counts.oldest_us is not None]
    newest = [line.figures.counts.newest_us for line in lines if line.figures.counts.newest_us is not None]
    return max(1.0, (max(newest) - min(oldest)) / 1e6) if oldest and newest else 3600.0
