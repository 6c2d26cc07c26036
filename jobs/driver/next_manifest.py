"""The manifest that follows from the one before it and a batch's work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobs.driver.batch_totals import Gathered, counts, latencies_ms, state_bytes
from jobs.driver.watermarks import Watermarks
from jobs.metrics.tally import added
from jobs.partitioning.layout import Layouts
from jobs.plan.columns import store_filters, stored_columns
from jobs.recovery.checkpoint import Change
from jobs.recovery.manifest import BatchFigures, Manifest, QueryState, StoreState, StreamState
from jobs.sources.planner import PlannedBatch
from optimizer.physical.graph import PhysicalGraph


def successor(
    previous: Manifest | None,
    unused: Sequence[str],
    graph: PhysicalGraph,
    change: Change,
    epoch: int,
    planned: PlannedBatch,
    watermarks: Watermarks,
    layouts: Layouts,
    gathered: Gathered,
    started_us: int,
    committed_us: int,
    moved: int = 0,
) -> Manifest:
    """What exists after a batch.

    Args:
        previous: the manifest from which the batch started, an interim one behind a switch of plans;
            None before the first batch.
        unused: runs of the last commit that `previous` does not list.
        graph, change: the plan of the batch.
        epoch: the batch's.
        planned, watermarks, layouts, gathered: what it read, under which watermarks and layouts, and what its
            tasks reported.
        started_us, committed_us: wall clock, microseconds since 1970.
        moved: stored tuples that a switch of plans has copied.
    """
    known_runs = previous.runs if previous is not None else ()
    dropped = {run.path for run in gathered.dropped}
    runs = (*(r for r in known_runs if r.path not in dropped), *gathered.added)
    return Manifest(
        batch=planned.batch,
        plan=change.plan,
        epoch=epoch,
        runs=tuple(sorted(runs, key=lambda r: (r.store, r.partition, r.min_arrival, r.path))),
        streams=_streams(previous, gathered, planned, started_us),
        stores=_stores(previous, graph, gathered, layouts),
        queries=_queries(previous, graph, gathered, started_us),
        files=gathered.files,
        watermark_us=watermarks.topology_us,
        change=change.number,
        figures=BatchFigures(
            tuples_in=gathered.tuples_in,
            results={name: done.results for name, done in gathered.queries.items()},
            latencies_ms=latencies_ms(gathered, started_us, committed_us),
            state_bytes=state_bytes(runs),
            level_seconds=gathered.level_seconds,
            counts=counts(graph, gathered, runs, previous.queries if previous is not None else {}),
            inserted_bytes=state_bytes(gathered.added),
            fetched_bytes=gathered.fetched_bytes,
            resident_bytes=gathered.resident_bytes,
            failed_calls={
                name: done.failed_calls
                for name, done in sorted(gathered.queries.items())
                if done.failed_calls
            },
            set_aside=gathered.set_aside,
            moved=moved,
        ),
        removed=tuple(sorted({*dropped, *unused})),
        position=planned.end,
        started_us=started_us,
        committed_us=committed_us,
    )


def _streams(
    previous: Manifest | None, gathered: Gathered, planned: PlannedBatch, started_us: int
) -> dict[str, StreamState]:
    streams = dict(previous.streams) if previous is not None else {}
    for name, done in gathered.streams.items():
        known = streams.get(name, StreamState(active_at_us=started_us))
        moved = done.accepted or done.late or done.undecodable
        streams[name] = replace(
            known,
            **added(known, done),
            active_at_us=started_us if moved else known.active_at_us,
            ended=name in planned.ended,
        )
    return dict(sorted(streams.items()))


def _stores(
    previous: Manifest | None, graph: PhysicalGraph, gathered: Gathered, layouts: Layouts
) -> dict[str, StoreState]:
    stores = {}
    columns, filters = stored_columns(graph), store_filters(graph)
    for store in graph.stores:
        done = gathered.stores[store.id]
        known = previous.stores.get(store.id) if previous is not None else None
        known = known or StoreState(columns=columns[store.id], filter=filters[store.id])
        stores[store.id] = replace(known, **added(known, done), layout=layouts.get(store.id))
    return stores


def _queries(
    previous: Manifest | None, graph: PhysicalGraph, gathered: Gathered, started_us: int
) -> dict[str, QueryState]:
    queries = {}
    for query in graph.queries:
        known = previous.queries.get(query.name, QueryState()) if previous is not None else QueryState()
        queries[query.name] = replace(
            known,
            results=known.results + gathered.queries[query.name].results,
            first_batch_us=known.first_batch_us or started_us,
        )
    return queries
