"""Topologies as Prometheus metrics, from the database and Redis at each scrape."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain

import redis.exceptions
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.core import Metric as Family
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
from jobs.protocol import BatchCompleted, EdgeMetrics, QueryMetrics, StoreMetrics, StreamMetrics
from jobs.protocol.metrics import metrics_of

_TOPOLOGY = ["topology"]
_MEASURED: dict[type, tuple[str, ...]] = {
    BatchCompleted: (),
    StreamMetrics: ("stream",),
    StoreMetrics: ("store",),
    EdgeMetrics: ("edge",),
    QueryMetrics: ("query",),
}
"""What a batch's event has measured, and by which label beside the topology's."""


class Families:
    """The families of one answer; `jobs.protocol.metrics` declares a batch's."""

    def __init__(self) -> None:
        def gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
            return GaugeMetricFamily(f"millrace_{name}", text, labels=[*_TOPOLOGY, *labels])

        self.state = gauge("topology_state", "1 for the state that the topology is in.", "state")
        self.wanted = gauge("topology_wanted", "1 if the topology's job should run.")
        self.failures = gauge("topology_failures", "Runs that failed in a row.")
        self.unplanned = gauge("topology_revisions_unplanned", "Revisions that wait for a plan.")
        self.heartbeat = gauge("topology_heartbeat_timestamp_seconds", "When the job was heard last.")
        self.waiting = gauge("topology_waiting_seconds", "Age of the oldest tuple that no batch holds.")
        self.unpublished = gauge("topology_unpublished_batches", "Batches that are in no topic yet.")
        self.unpublished_seconds = gauge(
            "topology_unpublished_seconds", "Since the oldest of them was committed, or 0."
        )
        self.memory_limit = gauge("topology_memory_limit_bytes", "Of its stores; absent without a limit.")
        self.suspended = gauge("query_suspended", "1 if a deployed query is not answered.", "query")
        self.differs = gauge("query_differs", "1 if its newest check found other results.", "query")
        self._declared: dict[str, GaugeMetricFamily] = {}
        for kind, per in _MEASURED.items():
            for metric in metrics_of(kind).values():
                if metric.prometheus is not None:
                    labels = (*per, *(label for label, _ in metric.labels))
                    self._declared[metric.prometheus] = gauge(metric.prometheus, metric.help, *labels)

    def add(self, labels: list[str], measured: object) -> None:
        """What the newest batch says about itself or one of its parts."""
        kind: type = type(measured)
        for name, metric in metrics_of(kind).items():
            value = getattr(measured, name)
            if metric.prometheus is None or value is None:
                continue
            if isinstance(value, datetime):
                value = value.timestamp()
            elif metric.unit == "ms":
                value /= 1000
            told = [*labels, *(of for _, of in metric.labels)]
            self._declared[metric.prometheus].add_metric(told, value)

    def __iter__(self) -> Iterator[Family]:
        own = (family for family in vars(self).values() if isinstance(family, Family))
        return chain(own, self._declared.values())


class TopologyCollector(Collector):
    """One answer to Prometheus. What is unknown is left out: a gap is not a zero."""

    def collect(self) -> Iterator[Family]:
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
    """What a topology does, and for how long (s) its oldest tuple waits, or None."""
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
        families.add([name], live.batch)
        for parts in (live.batch.streams, live.batch.stores, live.batch.edges, live.batch.queries):
            for of, measured in sorted(parts.items()):
                families.add([name, of], measured)
