"""Sum up an epoch's batches, beside what its plan expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from jobs.protocol import QErrorMetrics
from jobs.recovery.manifest import BatchCounts
from optimizer.physical.fanout import fanout
from optimizer.physical.graph import Estimate, PhysicalGraph
from optimizer.physical.rules import ProbeRule


@dataclass(frozen=True, slots=True)
class EpochCounts:
    """Counts of an epoch's batches under one plan."""

    seconds: float
    """Of event time; 0 if it did not advance, and then the counts tell no rates."""
    accepted: dict[str, int]
    edges: dict[str, int]
    rules: dict[str, int]
    held: dict[str, int]
    """Tuples in each store, on average over the batches."""
    batches: int = 1
    cpu_us: int = 0
    """Processor time of all tasks, microseconds."""
    element_cpu_us: dict[str, int] = field(default_factory=dict)
    """The part of it that was for a store, or for a rule that receives tuples and stores none, by its id."""


def sum_counts(batches: Sequence[BatchCounts], before_us: int | None) -> EpochCounts:
    """Add up batches that ran under one plan.

    Args:
        batches: in order; at least one.
        before_us: newest event time before the first of them; None if there was none, and then
            the oldest stored tuple of the first batch begins the span.
    """
    start = before_us if before_us is not None else batches[0].oldest_us
    ends = [b.newest_us for b in batches if b.newest_us is not None]
    seconds = max(0.0, (max(ends) - start) / 1e6) if ends and start is not None else 0.0

    def total(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
        names = sorted({name for part in parts for name in part})
        return {name: sum(part.get(name, 0) for part in parts) for name in names}

    held = total([b.held for b in batches])
    return EpochCounts(
        seconds=seconds,
        accepted=total([b.accepted for b in batches]),
        edges=total([b.edges for b in batches]),
        rules=total([b.rules for b in batches]),
        held={store: tuples // len(batches) for store, tuples in held.items()},
        batches=len(batches),
        cpu_us=sum(b.cpu_us for b in batches),
        element_cpu_us=total([b.element_cpu_us for b in batches]),
    )


def sent(graph: PhysicalGraph, edges: Mapping[str, int]) -> int:
    """Tuples that were sent in order to probe, copies counted; plans keep them few.

    Of slices the copies are those of slices as wide as the plan has them.
    """
    stores = {store.id: store for store in graph.stores}
    probes = {rule.edge: rule for rule in graph.rules if isinstance(rule, ProbeRule)}
    return round(
        sum(
            edges.get(edge.id, 0) * fanout(edge, stores[edge.target], probes[edge.id])
            for edge in graph.edges
            if edge.id in probes
        )
    )


def q_error(estimates: Iterable[Estimate], counts: EpochCounts) -> QErrorMetrics | None:
    """The q-errors, over edges and rules, of estimated rates.

    Fewer than one tuple in the epoch counts as half a one, on both sides: nobody can tell smaller
    rates apart. None if event time did not advance.
    """
    if counts.seconds <= 0:
        return None
    least = 0.5 / counts.seconds
    actuals = {**counts.edges, **counts.rules}
    found = []
    for estimate in estimates:
        if estimate.tuples_per_second is None or estimate.id not in actuals:
            continue
        expected = max(estimate.tuples_per_second, least)
        actual = max(actuals[estimate.id] / counts.seconds, least)
        found.append((max(expected / actual, actual / expected), estimate.id, expected, actual))
    if not found:
        return None
    error, worst, expected, actual = max(found)
    middle = median(e for e, *_ in found)
    return QErrorMetrics(median=middle, max=error, worst=worst, estimated=expected, actual=actual)
