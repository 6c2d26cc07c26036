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
from jobs.sources.redis import START
from optimizer.physical.graph import PhysicalGraph


def batch_completed(
    committed: Committed, run: str, latencies: LatencyWindow, *, limited: bool
) -> BatchCompleted:
    """Everything that the pages show about a batch.

    Latencies are those of a window that has the batch. What was in memory is known only if that is `limited`.
    """
    manifest, graph, gathered = committed.manifest, committed.graph, committed.gathered
    holding = held(graph, manifest.runs_by_store())
    lateness = {stream.name: stream.lateness_us for stream in graph.streams}
    positions: Mapping[str, Position] = manifest.position.get("streams", {})
    streams = {}
    for name, counts in gathered.streams.items():
        if name not in manifest.streams:
            continue  # A derived one, whose results are counted where they are found.
        newest_us = manifest.streams[name].max_event_time_us
        read, there = _history(positions.get(name, {}))
        streams[name] = StreamMetrics(
            **values(counts, StreamCounts),
            watermark=None if newest_us is None else moment(earlier(newest_us, lateness[name])),
            max_event_time=None if newest_us is None else moment(newest_us),
            position=_entry(positions.get(name, {})),
            set_aside=gathered.set_aside.get(name, 0),
            history_files_read=read,
            history_files=there,
        )
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


def _history(position: Position) -> tuple[int | None, int | None]:
    """How many files of a stream's history were read, and of how many.

    Nothing once it is live.
    """
    if "history" not in position or position["is_live"]:
        return None, None
    read, there = position["files"]
    return read, there


def _entry(position: Position) -> str | None:
    """The last entry of a Redis stream that was read; None for other sources."""
    if not position:
        return START
    entry: str | None = (position.get("live") or position).get("id")
    return entry
