"""Somebody deploys a cross product beside a good query: it is suspended, and the good one misses nothing.

The streaming job is the product's own, on Spark; the test is the Celery worker.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import duckdb
import polars as pl
import pytest
import redis
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from backend.audit.models import AuditEntry
from backend.catalog.actions import create_query
from backend.deployments import actions
from backend.limits import suspension
from backend.planning import revisions
from backend.runs import process, supervision
from backend.streams.actions import StreamSpec, create_stream
from backend.topologies.models import ENDED, Run, Topology, TopologyQuery
from backend.topologies.status import query_status
from jobs.protocol import EVENTS, events_key, stream_key
from optimizer.algebra.types import ColumnType

pytestmark = pytest.mark.django_db
PATIENCE_S = 900.0
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = """SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS]
WHERE r.k = s.k AND r.n < s.n + 40 AND s.n < r.n + 40"""
CROSSED = "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS] CROSS JOIN s [RANGE 20 SECONDS]"
REFERENCE = """SELECT r.n, s.n FROM r, s WHERE r.k = s.k AND r.n < s.n + 40 AND s.n < r.n + 40
AND abs(epoch_us(r.at) - epoch_us(s.at)) <= 20000000"""


class Producer:
    def __init__(self, bus: redis.Redis) -> None:
        self._bus = bus
        self.sent: dict[str, list[dict[str, Any]]] = {"r": [], "s": []}

    def produce(self, rows: int) -> None:
        pipeline = self._bus.pipeline()
        for _ in range(rows):
            for stream, sent in self.sent.items():
                number = sum(map(len, self.sent.values()))
                at = BEGIN + timedelta(milliseconds=10 * number)
                sent.append({"at": at, "k": number * 7919 % 97 % 23, "n": number})
                pipeline.xadd(stream_key(stream), {"json": json.dumps({**sent[-1], "at": at.isoformat()})})
        pipeline.execute()


class Worker:
    """Rounds of the supervisor until something holds, each after the job has said something."""

    def __init__(self, topology: Topology, bus: redis.Redis) -> None:
        self._topology, self._bus = topology, bus
        self._seen = "0-0"
        self.accepted: Counter[str] = Counter()
        self._batches: set[int] = set()
        self.said: list[str] = []

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = monotonic() + PATIENCE_S
        while not holds():
            assert monotonic() < deadline, (self.accepted, self.said[-5:], process.log_tail(self.run, 30))
            supervision.reconcile(self._topology.pk, timezone.now())
            if suspension.suspend_excessive(self._topology.pk, timezone.now()):
                assert revisions.plan_newest(self._topology.pk)
            reply = self._bus.xread({events_key(self._topology.name): self._seen}, block=500, count=100)
            for self._seen, fields in (entry for _, entries in reply or () for entry in entries):
                event = EVENTS.validate_json(fields["message"])
                assert event.type != "job_failed", event
                self.said.append(event.type)
                if event.type == "batch" and event.batch not in self._batches:
                    self._batches.add(event.batch)
                    self.accepted.update({name: one.accepted for name, one in event.streams.items()})

    @property
    def run(self) -> Run:
        found = Run.objects.filter(topology=self._topology).select_related("topology").first()
        assert found is not None
        return found

    def ended(self) -> bool:
        return self.run.state in ENDED


def test_the_others_go_on_and_miss_nothing(
    owner: User, operator: User, bus: redis.Redis, settings: Settings, tmp_path: Path
) -> None:
    settings.MILLRACE_RESULT_FILES = True
    settings.MILLRACE_MAX_COMBINATIONS = 20_000.0
    settings.MILLRACE_TRIGGER_MS = 200.0
    columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT), ("n", ColumnType.BIGINT))
    for name in "rs":
        # What is declared is far from what comes: the estimate lets the product pass.
        create_stream(owner, StreamSpec(name, columns, "at", tuples_per_second=1.0))
    for name, sql in (("good", GOOD), ("crossed", CROSSED)):
        actions.deploy_query(owner, create_query(owner, name, sql), "shared")
    topology = Topology.objects.get(name="shared")
    assert revisions.plan_newest(topology.pk)
    producer, worker = Producer(bus), Worker(topology, bus)
    producer.produce(20)
    worker.until(lambda: worker.accepted == {"r": 20, "s": 20})
    producer.produce(1000)
    worker.until(lambda: worker.accepted == {"r": 1020, "s": 1020})
    crossed = TopologyQuery.objects.get(query__name="crossed")
    assert query_status(crossed) == "suspended"
    assert crossed.excess.endswith("at most 20,000 are allowed")
    assert query_status(TopologyQuery.objects.get(query__name="good")) == "running"
    assert [entry.detail for entry in AuditEntry.objects.filter(verb="suspend")] == [
        f"crossed v1: {crossed.excess}"
    ]
    producer.produce(100)
    actions.stop_topology(operator, topology, "drain")
    supervision.request_stop(worker.run.pk, timezone.now())
    worker.until(worker.ended)

    found = pl.read_parquet(tmp_path / "topologies/shared/out/results/good/*.parquet").rows()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for stream, rows in producer.sent.items():
            connection.register(stream, pl.DataFrame(rows).to_arrow())
        expected = connection.execute(REFERENCE).fetchall()
    assert len(expected) > 1000
    missing, doubled = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    assert (missing.total(), doubled.total()) == (0, 0)
