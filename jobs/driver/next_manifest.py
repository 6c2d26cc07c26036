"""The manifest that follows from the one before it and a batch's work."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from jobs.driver.batch_totals import Gathered, counts, latencies_ms, state_bytes
from jobs.driver.watermarks import Watermarks
from jobs.metrics.tally import added
from jobs.partitioning.layout import Layouts
from jobs.plan.columns import store_filters, stored_columns
from jobs.plan.event_time import LAST_US, earlier
from jobs.protocol.metrics import newest
from jobs.reconfigure.switch import Switched
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
    switched: Switched | None = None,
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
        switched: the switch of plans that `previous` is behind, if it is.
    """
    known_runs = previous.runs if previous is not None else ()
    dropped = {run.path for run in gathered.dropped}
    runs = (*(r for r in known_runs if r.path not in dropped), *gathered.added)
    return Manifest(
        batch=planned.batch,
        plan=change.plan,
        epoch=epoch,
        runs=tuple(sorted(runs, key=lambda r: (r.store, r.partition, r.min_arrival, r.path))),
        streams=_streams(previous, graph, gathered, planned, watermarks, started_us),
        stores=_stores(previous, graph, gathered, layouts),
        queries=_queries(previous, graph, gathered, watermarks, planned.batch, started_us),
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
            moved=switched.moved if switched is not None else 0,
            switch_seconds=switched.seconds if switched is not None else 0.0,
        ),
        removed=tuple(sorted({*dropped, *unused})),
        position=planned.end,
        started_us=started_us,
        committed_us=committed_us,
        earlier_us=_earlier(previous, graph),
    )


def _earlier(previous: Manifest | None, graph: PhysicalGraph) -> tuple[int | None, ...]:
    """The watermarks of the batches before this one that later ones ask for."""
    known = () if previous is None else (previous.watermark_us, *previous.earlier_us)
    return known[: 2 * graph.tiers]


def _streams(
    previous: Manifest | None,
    graph: PhysicalGraph,
    gathered: Gathered,
    planned: PlannedBatch,
    watermarks: Watermarks,
    started_us: int,
) -> dict[str, StreamState]:
    streams = dict(previous.streams) if previous is not None else {}
    tables = graph.tables
    lateness = {stream.name: stream.lateness_us for stream in graph.streams}
    inner = {stream.name for stream in graph.derived}
    for name, done in gathered.streams.items():
        if name in inner:
            continue
        # What a table has is read before event time begins, where the source can tell when that is.
        first = StreamState(joining=name in tables and planned.waiting is not None)
        known = streams.get(name, first)
        moved = done.read > 0
        now = replace(
            known,
            **added(known, done),
            active_at_us=started_us if moved or known.active_at_us is None else known.active_at_us,
            ended=name in planned.ended,
            in_history=name in planned.in_history,
        )
        has_more = moved and (planned.waiting is None or name in planned.waiting)
        waits = planned.away or now.in_history or has_more
        # Of a table the newest version does not say how many older ones are to come.
        abreast = name not in tables and _abreast(now, lateness[name], watermarks)
        streams[name] = replace(now, joining=now.joining and waits and not now.ended and not abreast)
    return dict(sorted(streams.items()))


def _abreast(stream: StreamState, lateness_us: int, watermarks: Watermarks) -> bool:
    """True if a stream's own watermark has come to the topology's."""
    newest_us, topology_us = stream.max_event_time_us, watermarks.topology_us
    return topology_us is None or (newest_us is not None and earlier(newest_us, lateness_us) >= topology_us)


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
    previous: Manifest | None,
    graph: PhysicalGraph,
    gathered: Gathered,
    watermarks: Watermarks,
    batch: int,
    started_us: int,
) -> dict[str, QueryState]:
    queries = {}
    running = {hold.query for hold in graph.holds if hold.is_running}
    for query in graph.queries:
        known = previous.queries.get(query.name, QueryState()) if previous is not None else QueryState()
        if previous is not None and previous.joining(graph.read_by(query.name)):
            # Partners of what it reads now may have left under this watermark.
            joined_us = watermarks.topology_us
            if query.name in running:
                # What is found meanwhile is not counted. What is newer than all of it is found later, whole.
                joined_us = _behind(previous, gathered, graph.read_by(query.name))
            since_us = newest(known.complete_since_us, joined_us)
            known = replace(known, joined_us=joined_us, complete_since_us=since_us)
        found = gathered.queries[query.name].results
        queries[query.name] = replace(
            known,
            results=known.results + found,
            first_batch_us=known.first_batch_us or started_us,
            key=query.key,
            table_from=None if query.key is None else batch if known.table_from is None else known.table_from,
            table_changes=0 if query.key is None else known.table_changes + found,
        )
    return queries


def _behind(previous: Manifest, gathered: Gathered, streams: Collection[str]) -> int | None:
    """The event time behind all tuples of some streams."""
    seen: int | None = None
    for name in streams:
        for known in (previous.streams.get(name), gathered.streams.get(name)):
            seen = newest(seen, None if known is None else known.max_event_time_us)
    return None if seen is None else min(LAST_US, seen + 1)
