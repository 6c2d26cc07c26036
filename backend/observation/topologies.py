"""Topologies as Prometheus metrics, read from the database and from Redis when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import redis.exceptions
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from backend.errors import Unavailable
from backend.live.lag import waiting_since
from backend.live.models import LiveRecord
from backend.live.queries import live_state, stored_state
from backend.live.state import STATES, LiveState
from backend.oracle.models import Verdict
from backend.oracle.queries import light_of
from backend.runs import process
from backend.topologies.models import Topology
from jobs.protocol import BatchCompleted

_TOPOLOGY = ["topology"]


class Families:
    """The families of one answer, each declared once with its unit."""

    def __init__(self) -> None:
        def gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
            return GaugeMetricFamily(f"millrace_{name}", text, labels=[*_TOPOLOGY, *labels])

        self.state = gauge("topology_state", "1 for the state that the topology is in.", "state")
        self.wanted = gauge("topology_wanted", "1 if the topology's job should run.")
        self.failures = gauge("topology_failures", "Runs that failed in a row.")
        self.unplanned = gauge("topology_revisions_unplanned", "Revisions that wait for a plan.")
        self.heartbeat = gauge("topology_heartbeat_timestamp_seconds", "When the job was heard last.")
        self.batch = gauge("topology_batch", "The last committed batch.")
        self.batch_seconds = gauge("topology_batch_seconds", "Duration of the last batch.")
        self.tuples_in = gauge("topology_batch_tuples", "Tuples that the last batch read.")
        self.backlog = gauge("topology_backlog_tuples", "Tuples that wait at the sources.")
        self.waiting = gauge("topology_waiting_seconds", "Age of the oldest tuple that no batch holds.")
        self.unpublished = gauge("topology_unpublished_batches", "Batches that are in no topic yet.")
        self.unpublished_seconds = gauge(
            "topology_unpublished_seconds", "Since the oldest of them was committed, or 0."
        )
        self.memory_limit = gauge("topology_memory_limit_bytes", "Of its stores; absent without a limit.")
        self.resident = gauge("topology_batch_resident_bytes", "Most of the stores in memory, last batch.")
        self.late = gauge("stream_batch_late_tuples", "Late tuples of the last batch.", "stream")
        self.undecodable = gauge("stream_batch_undecodable_tuples", "Unreadable ones of it.", "stream")
        self.watermark = gauge("stream_watermark_timestamp_seconds", "The stream's watermark.", "stream")
        self.store_tuples = gauge("store_tuples", "Tuples that a store holds.", "store")
        self.store_bytes = gauge("store_bytes", "Bytes that a store holds.", "store")
        self.suspended = gauge("query_suspended", "1 if a deployed query is not answered.", "query")
        self.differs = gauge("query_differs", "1 if its newest check found other results.", "query")
        self.results = gauge("query_batch_results", "Results of the last batch.", "query")
        self.failed_calls = gauge("query_batch_failed_calls", "Calls that raised in it.", "query")
        self.latency = gauge(
            "query_latency_seconds", "From a tuple's arrival to its results, last batch.", "query", "quantile"
        )

    def __iter__(self) -> Iterator[Metric]:
        return iter(vars(self).values())


class TopologyCollector(Collector):
    """One answer to Prometheus. What is unknown is left out: a gap is not a zero."""

    def collect(self) -> Iterator[Metric]:
        families = Families()
        now = timezone.now()
        topologies = Topology.objects.select_related("current_run", "active_plan", "plan")
        for topology in topologies.order_by("name"):
            live, waiting = _observed(topology, now)
            _add(families, topology, live)
            if waiting is not None:
                families.waiting.add_metric([topology.name], waiting)
            _add_outbox(families, topology, now)
        yield from families


def _observed(topology: Topology, now: datetime) -> tuple[LiveState, float | None]:
    """What it does, and how long its oldest tuple waits in seconds; None where that is unknown."""
    try:
        live = live_state(topology)
        since = waiting_since(topology, live)
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, Unavailable):
        # What is stored is still true of the time that its heartbeat says.
        return stored_state(LiveRecord.objects.filter(topology=topology).first()), None
    if since is None:
        return live, 0.0 if live.history else None
    return live, (now - since).total_seconds()


def _add_outbox(families: Families, topology: Topology, now: datetime) -> None:
    outbox = process.outbox(topology.name)
    if outbox is None:
        return
    families.unpublished.add_metric([topology.name], len(outbox))
    age = max(0.0, now.timestamp() - min(outbox)) if outbox else 0.0
    families.unpublished_seconds.add_metric([topology.name], age)


def _add(families: Families, topology: Topology, live: LiveState) -> None:
    name = topology.name
    for state in STATES:
        families.state.add_metric([name, state], 1.0 if live.state == state else 0.0)
    families.wanted.add_metric([name], 1.0 if topology.desired == "running" else 0.0)
    families.failures.add_metric([name], topology.failures)
    done = max(topology.planned_revision, topology.failed_revision)
    families.unplanned.add_metric([name], max(0, topology.revision - done))
    for query, since in topology.deployed.values_list("query__name", "suspended_at"):
        families.suspended.add_metric([name, query], 0.0 if since is None else 1.0)
    for one in topology.answered.select_related("query", "version", "light__newest"):
        light = light_of(one)
        if light is not None and light.newest.verdict != Verdict.UNCHECKED:
            differs = light.newest.verdict == Verdict.DIFFERS
            families.differs.add_metric([name, one.query.name], 1.0 if differs else 0.0)
    run = topology.current_run
    if run is not None and run.memory_limit_bytes is not None:
        families.memory_limit.add_metric([name], run.memory_limit_bytes)
    if live.heartbeat_at is not None:
        families.heartbeat.add_metric([name], live.heartbeat_at.timestamp())
    if live.batch is not None:
        _add_batch(families, name, live.batch)


def _add_batch(families: Families, name: str, batch: BatchCompleted) -> None:
    """What the newest batch says."""
    families.batch.add_metric([name], batch.batch)
    families.batch_seconds.add_metric([name], batch.seconds)
    families.tuples_in.add_metric([name], batch.tuples_in)
    if batch.backlog is not None:
        families.backlog.add_metric([name], batch.backlog)
    if batch.resident_bytes is not None:
        families.resident.add_metric([name], batch.resident_bytes)
    for stream, metrics in sorted(batch.streams.items()):
        families.late.add_metric([name, stream], metrics.late)
        families.undecodable.add_metric([name, stream], metrics.undecodable)
        if metrics.watermark is not None:
            families.watermark.add_metric([name, stream], metrics.watermark.timestamp())
    for store, held in sorted(batch.stores.items()):
        families.store_tuples.add_metric([name, store], held.tuples)
        families.store_bytes.add_metric([name, store], held.bytes)
    for query, answered in sorted(batch.queries.items()):
        families.results.add_metric([name, query], answered.results)
        families.failed_calls.add_metric([name, query], answered.failed_calls)
        for quantile, value in (("0.5", answered.latency_ms_p50), ("0.99", answered.latency_ms_p99)):
            if value is not None:
                families.latency.add_metric([name, query, quantile], value / 1000)
