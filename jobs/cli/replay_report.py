"""What metrics.json tells of a replay."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.driver.batch_totals import held, weighted_quantiles
from jobs.protocol.metrics import StoreCounts, values
from jobs.recovery.batch_history import BatchLine, working_seconds
from jobs.recovery.checkpoint import Checkpoint
from optimizer.physical.graph import PhysicalGraph


def completeness(
    query: str, first: int, end: int | None, lines: Sequence[BatchLine]
) -> list[dict[str, int | None]]:
    """Since when results are complete, by the batch from which that holds.

    From each of these batches on, results whose newest tuple is not older than `since_us`, in microseconds
    since 1970, are all there; null is no limit.
    """
    found: list[dict[str, int | None]] = []
    for line in lines:
        if first <= line.batch and (end is None or line.batch < end):
            since = line.figures.counts.complete_since_us.get(query)
            if not found or found[-1]["since_us"] != since:
                found.append({"from_batch": line.batch, "since_us": since})
    return found


def report(graph: PhysicalGraph, checkpoint: Checkpoint, lines: Sequence[BatchLine]) -> dict[str, object]:
    """The content of metrics.json; figures that do not exist are null."""
    last = checkpoint.commits.last()
    tuples_in = sum(line.figures.tuples_in for line in lines)
    seconds = working_seconds(lines)
    steady = [line for line in lines if line.batch >= 2 and line.session == lines[-1].session]
    before = [line for line in lines if steady and line.batch == steady[0].batch - 1]
    steady_start_us = max((line.committed_us for line in before), default=0)
    if steady:
        steady_start_us = max(steady_start_us, steady[0].started_us if not before else 0)
        if before and before[0].session != steady[0].session:
            steady_start_us = steady[0].started_us
    steady_seconds = (steady[-1].committed_us - steady_start_us) / 1e6 if steady else 0.0
    holding = held(graph, last.runs_by_store() if last is not None else {})
    labels = {store.id: store.label for store in graph.stores}
    return {
        "tuples_in": tuples_in,
        "seconds": round(seconds, 6),
        "tuples_per_second": _rate(tuples_in, seconds),
        "steady_tuples_per_second": _rate(sum(line.figures.tuples_in for line in steady), steady_seconds),
        "batches": len(lines),
        "latency_ms": _latency(lines),
        "late": {s.name: last.streams[s.name].late if last is not None else 0 for s in graph.sources},
        "undecodable": {
            s.name: last.streams[s.name].undecodable if last is not None else 0 for s in graph.sources
        },
        "peak_state_bytes": max((line.figures.state_bytes for line in lines), default=0),
        "state_bytes_written": sum(line.figures.inserted_bytes for line in lines),
        "state_bytes_fetched": sum(line.figures.fetched_bytes for line in lines),
        "moved_tuples": sum(line.figures.moved for line in lines),
        "stores": {
            store: {
                "relation": labels[store],
                "tuples": holding[store][0],
                "bytes": holding[store][1],
                **values(last.stores[store] if last is not None else StoreCounts(), StoreCounts),
                "fullest_task": sum(line.figures.counts.fullest.get(store, 0) for line in lines),
            }
            for store in labels
        },
    }


def _rate(tuples: int, seconds: float) -> float | None:
    return round(tuples / seconds, 3) if seconds > 0 else None


def _latency(lines: Sequence[BatchLine]) -> dict[str, float | None]:
    """Files keep no arrival times: a tuple arrives when its batch begins."""
    import numpy as np

    with_results = [line for line in lines if sum(line.figures.results.values())]
    if not with_results:
        return {"p50": None, "p99": None}
    waits = np.array([line.seconds * 1000 for line in with_results])
    weights = np.array([float(sum(line.figures.results.values())) for line in with_results])
    p50, p99 = weighted_quantiles(waits, weights, (0.5, 0.99))
    return {"p50": round(p50, 3), "p99": round(p99, 3)}
