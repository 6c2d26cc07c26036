"""What the stores of a replay received, epoch by epoch: the statistics of `optimizer.matrix`.

Ingestion and levels count what they send anyway, in every task; nothing is asked of them (section 4.1
of Squall's paper).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from jobs.history import BatchLine
from optimizer.graph import PhysicalGraph, StoreRule
from optimizer.matrix.groups import Cardinality, grids_by_stream


def cardinalities(
    lines: Sequence[BatchLine],
    graph_of: Callable[[str], PhysicalGraph],
    running: PhysicalGraph,
    last_epoch: int,
    storage_weight: float,
) -> dict[str, list[Cardinality]]:
    """By stream of a grid of `running`, what counts at the end of each epoch up to `last_epoch`.

    A tuple counts while its store may hold it: for the store's retention, without one for ever.
    Keeping one tuple for a second costs `storage_weight` probe tuples, which makes tuples to keep
    larger than those to compare (Squall's relative tuple sizes, section 4.2.2).
    """
    whole = [line for line in lines if line.epoch <= last_epoch]
    ends = [line for line, after in pairwise(whole) if after.epoch != line.epoch] + whole[-1:]
    found: dict[str, list[Cardinality]] = {}
    for stream, store in grids_by_stream(running).items():
        steps = _steps(whole, graph_of, stream, storage_weight)
        retention = store.retention_us[0]
        found[stream] = [_until(steps, end.batch, retention) for end in ends]
    return found


def _steps(
    lines: Sequence[BatchLine],
    graph_of: Callable[[str], PhysicalGraph],
    stream: str,
    storage_weight: float,
) -> list[tuple[int, int | None, Cardinality]]:
    """Batch, newest event time so far, and what the stream's store received in the batch."""
    steps: list[tuple[int, int | None, Cardinality]] = []
    newest: int | None = None
    for line in lines:
        counts = line.figures.counts
        before = newest
        if counts.newest_us is not None:
            newest = counts.newest_us if newest is None else max(newest, counts.newest_us)
        seconds = 0.0 if before is None or newest is None else (newest - before) / 1e6
        stored, probing, held = 0, 0, 0
        graph = graph_of(line.plan)
        store = grids_by_stream(graph).get(stream)
        if store is not None:
            kept = {rule.edge for rule in graph.rules if isinstance(rule, StoreRule)}
            for edge in graph.edges:
                if edge.target == store.id and edge.id in kept:
                    stored += counts.edges.get(edge.id, 0)
                elif edge.target == store.id:
                    probing += counts.edges.get(edge.id, 0)
            held = counts.held.get(store.id, 0)
        steps.append(
            (line.batch, newest, Cardinality(stored + storage_weight * held * seconds, float(probing)))
        )
    return steps


def _until(
    steps: Sequence[tuple[int, int | None, Cardinality]], batch: int, retention_us: int | None
) -> Cardinality:
    end = next((newest for number, newest, _ in steps if number == batch), None)
    counted = [
        done
        for number, newest, done in steps
        if number <= batch
        and (retention_us is None or newest is None or end is None or newest >= end - retention_us)
    ]
    return Cardinality(sum(done.stored for done in counted), sum(done.probing for done in counted))
