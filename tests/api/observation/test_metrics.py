"""/metrics, /healthz and /readyz."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.contrib.auth.models import User
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.observation.logs import JSONFormatter
from jobs.protocol import (
    BatchCompleted,
    JobStarted,
    QueryMetrics,
    StoreMetrics,
    StreamMetrics,
    events_key,
    stream_key,
)

pytestmark = pytest.mark.django_db
RUN = "0193f5a1c0de0001"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _say(bus: redis.Redis) -> None:
    started = JobStarted(run=RUN, at=NOW, pid=1, host="here", plan_id="flights.1", batch=0)
    batch = BatchCompleted(
        run=RUN,
        at=NOW,
        batch=7,
        epoch=1,
        plan_id="flights.1",
        seconds=0.25,
        tuples_in=40,
        backlog=None,
        level_seconds=[0.1],
        streams={
            "weather": StreamMetrics(accepted=3, late=2, undecodable=1, watermark=None, max_event_time=None)
        },
        stores={
            "S-1": StoreMetrics(tuples=5, bytes=640, inserted=3, evicted=0, probes=0, matches=0, per_task=[5])
        },
        edges={},
        queries={
            "windy": QueryMetrics(
                results=4, latency_ms_p50=20.0, latency_ms_p99=None, complete_since=None, failed_calls=3
            )
        },
    )
    for event in (started, batch):
        bus.xadd(events_key("flights"), {"message": event.model_dump_json()})


def test_a_topology_is_seen_by_prometheus(
    as_operator: Client, owner: User, query: Query, bus: redis.Redis
) -> None:
    deploy_query(owner, query, "flights")
    _say(bus)
    found = _samples(as_operator.get("/metrics").content.decode())
    one = (("topology", "flights"),)
    assert found["millrace_topology_waiting_seconds", one] == 0
    assert ("millrace_topology_unpublished_batches", one) not in found
    assert found["millrace_topology_state", (("state", "running"), *one)] == 1
    assert found["millrace_topology_state", (("state", "failed"), *one)] == 0
    assert found["millrace_topology_batch", one] == 7
    assert found["millrace_topology_batch_seconds", one] == 0.25
    assert found["millrace_topology_heartbeat_timestamp_seconds", one] == NOW.timestamp()
    assert found["millrace_topology_revisions_unplanned", one] == 1
    assert found["millrace_store_bytes", (("store", "S-1"), *one)] == 640
    assert found["millrace_query_suspended", (("query", "windy"), *one)] == 0
    assert found["millrace_query_batch_failed_calls", (("query", "windy"), *one)] == 3
    assert found["millrace_stream_batch_late_tuples", (("stream", "weather"), *one)] == 2
    latency = "millrace_query_latency_seconds"
    assert found[latency, (("quantile", "0.5"), ("query", "windy"), *one)] == 0.02
    # Unknown is not zero.
    assert (latency, (("quantile", "0.99"), ("query", "windy"), *one)) not in found
    assert ("millrace_topology_backlog_tuples", one) not in found


def test_what_waits_is_seen_by_prometheus(
    as_operator: Client, owner: User, query: Query, bus: redis.Redis, settings: Settings
) -> None:
    deploy_query(owner, query, "flights")
    _say(bus)
    arrived = NOW + timedelta(seconds=60)
    bus.xadd(stream_key("weather"), {"json": "{}"}, id=f"{int(arrived.timestamp() * 1000)}-0")
    outbox = settings.MILLRACE_HOME / "topologies" / "flights" / "checkpoint" / "outbox"
    outbox.mkdir(parents=True)
    for number, committed in ((7, arrived), (8, datetime.now(UTC))):
        (outbox / f"{number}.json").touch()
        os.utime(outbox / f"{number}.json", (committed.timestamp(), committed.timestamp()))
    before = datetime.now(UTC)
    found = _samples(as_operator.get("/metrics").content.decode())
    one = (("topology", "flights"),)
    assert found["millrace_topology_waiting_seconds", one] >= (before - arrived).total_seconds()
    assert found["millrace_topology_unpublished_batches", one] == 2
    assert found["millrace_topology_unpublished_seconds", one] >= (before - arrived).total_seconds()


def test_requests_are_counted_by_route(as_operator: Client) -> None:
    def count() -> float:
        labels = (("method", "GET"), ("route", "api/queries/<key:pk>/"), ("status", "404"))
        found = _samples(as_operator.get("/metrics").content.decode())
        return found.get(("millrace_request_seconds_count", labels), 0.0)

    before = count()
    for number in (1001, 1002):
        assert as_operator.get(f"/api/queries/{number}/").status_code == 404
    assert count() == before + 2


def test_who_reads_metrics(anonymous: Client, as_teammate: Client, settings: Settings) -> None:
    assert [client.get("/metrics").status_code for client in (anonymous, as_teammate)] == [403, 403]
    empty = anonymous.get("/metrics", headers={"Authorization": "Bearer "})
    assert empty.status_code == 403
    settings.MILLRACE_METRICS_TOKEN = "scrape"
    for secret, status in (("scrape", 200), ("scrap", 403), ("é", 403)):
        answer = anonymous.get("/metrics", headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == status


def test_metrics_without_redis_still_tell_what_is_stored(
    as_operator: Client, owner: User, query: Query, settings: Settings
) -> None:
    deploy_query(owner, query, "flights")
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    found = _samples(as_operator.get("/metrics").content.decode())
    assert found["millrace_topology_wanted", (("topology", "flights"),)] == 1


def test_ready_means_reachable_and_migrated(anonymous: Client, settings: Settings) -> None:
    assert anonymous.get("/readyz").json() == {"database": "ok", "redis": "ok", "migrations": "ok"}
    MigrationRecorder.Migration.objects.filter(app="tokens").delete()
    # What was found is kept for a moment: many may ask.
    give_up_at = time.monotonic() + 60
    while (answer := anonymous.get("/readyz")).status_code == 200 and time.monotonic() < give_up_at:
        assert answer.json()["migrations"] == "ok"
    assert (answer.status_code, answer.json()["migrations"]) == (503, "1 missing")
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert anonymous.get("/healthz").json() == {"database": "ok", "redis": "unreachable"}


def test_a_log_record_carries_its_ids() -> None:
    record = logging.getLogger("test").makeRecord(
        "test", logging.INFO, __file__, 1, "batch %d is done", (7,), None, extra={"topology": "t", "batch": 7}
    )
    document = json.loads(JSONFormatter().format(record))
    assert (document["message"], document["topology"], document["batch"]) == ("batch 7 is done", "t", 7)
    assert datetime.fromisoformat(document["at"]).tzinfo == UTC
