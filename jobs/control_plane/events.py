"""From a committed batch to the event that tells about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from jobs.control_plane.latency_window import LatencyWindow
from jobs.driver.batch_totals import held
from jobs.driver.coordinator import Committed
from jobs.plan.event_time import earlier, moment
from jobs.protocol import BatchCompleted, QueryMetrics, StoreMetrics, StreamMetrics
from jobs.protocol.metrics import QueryCounts, StoreCounts, StreamCounts, newest, values
from jobs.recovery.manifest import Manifest
from jobs.sources.connector import Position
from jobs.sources.live import maker_of
from jobs.sources.redis import START
from optimizer.physical.graph import GraphStream, PhysicalGraph


def batch_completed(
    committed: Committed, run: str, latencies: LatencyWindow, *, limited: bool
) -> BatchCompleted:
    """Everything that the pages show about a batch.

    Latencies are those of a window that has the batch. What was in memory is known only if that is `limited`.
    """
    manifest, graph, gathered = committed.manifest, committed.graph, committed.gathered
    holding = held(graph, manifest.runs_by_store())
    declared = {stream.name: stream for stream in graph.streams}
    positions: Mapping[str, Position] = manifest.position.get("streams", {})
    streams = {
        name: _stream(declared[name], counts, manifest, positions.get(name), gathered.set_aside.get(name, 0))
        for name, counts in gathered.streams.items()
        # Results of a derived one are counted where they are found.
        if name in manifest.streams
    }
    stores = {}
    for name, work in gathered.stores.items():
        tuples, size, per_task = holding[name]
        stores[name] = StoreMetrics(**values(work, StoreCounts), tuples=tuples, bytes=size, per_task=per_task)
    queries = {}
    for query in graph.answered:
        latency = latencies.of(query.name)
        missing_us = manifest.queries[query.name].complete_since_us
        queries[query.name] = QueryMetrics(
            **values(gathered.queries[query.name], QueryCounts),
            latency_ms_p50=None if latency is None else latency.p50,
            latency_ms_p99=None if latency is None else latency.p99,
            complete_since=complete_since(manifest, graph, query.name),
            missing_before=None if missing_us is None else moment(missing_us),
            joining=tuple(n for n in sorted(graph.read_by(query.name)) if manifest.joining([n])),
        )
    together = latencies.of_all()
    return BatchCompleted(
        run=run,
        at=datetime.now(UTC),
        batch=manifest.batch,
        epoch=manifest.epoch,
        plan_id=committed.change.plan_id,
        seconds=round(committed.seconds, 6),
        tuples_in=gathered.tuples_in,
        backlog=committed.backlog,
        level_seconds=list(gathered.level_seconds),
        streams=streams,
        stores=stores,
        edges=gathered.edges,
        queries=queries,
        latency_ms_p50=None if together is None else together.p50,
        latency_ms_p99=None if together is None else together.p99,
        resident_bytes=gathered.resident_bytes if limited else None,
        watermark=None if manifest.watermark_us is None else moment(manifest.watermark_us),
    )


def _stream(
    stream: GraphStream, counts: StreamCounts, manifest: Manifest, position: Position | None, set_aside: int
) -> StreamMetrics:
    newest_us = manifest.streams[stream.name].max_event_time_us
    # A stream that nothing was read of has no position.
    entry, history = START if stream.source is None else None, None
    if position:
        maker = maker_of(position)
        entry, history = maker.entry(position), maker.history(position)
    read, there = (None, None) if history is None else history
    return StreamMetrics(
        **values(counts, StreamCounts),
        watermark=None if newest_us is None else moment(earlier(newest_us, stream.lateness_us)),
        max_event_time=None if newest_us is None else moment(newest_us),
        position=entry,
        set_aside=set_aside,
        history_files_read=read,
        history_files=there,
    )


def complete_since(manifest: Manifest, graph: PhysicalGraph, query: str) -> datetime | None:
    """Since when the query's results cover its whole windows.

    None while its streams have not come that far, each or together, and while one of them is joining. A query
    that never missed a tuple is complete since its first batch.
    """
    state = manifest.queries[query]
    if state.complete_since_us is None:
        return moment(state.first_batch_us)
    read = graph.read_by(query)
    if manifest.joining(read):
        return None
    since_us = state.complete_since_us
    own = [manifest.streams[name].max_event_time_us for name in read]
    # A stream that is silent was passed over by the watermark.
    reached = [newest(time, manifest.watermark_us) for time in own]
    come = all(time is not None and time >= since_us for time in reached)
    return moment(since_us) if come else None
