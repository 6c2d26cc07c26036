"""The editor's outlook: state as an interval, and advice that carries real numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import redis
from django.test import Client

from backend.streams.models import Stream
from backend.topologies.models import Topology
from jobs.protocol import BatchCompleted, JobStarted, StoreMetrics, events_key
from tests.api.conftest import THREE_WAY

Post = Callable[..., Any]
SHORTER = f"{THREE_WAY.replace('1 HOUR', '50 MINUTES').strip()} AND d.delay > 30"

LONGER = f"{THREE_WAY.replace('1 HOUR', '2 HOURS').strip()} AND d.delay > 30"


def test_alone_everything_is_new(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    told = post(as_owner, "/api/sql/outlook/", {"sql": THREE_WAY}).json()
    assert told["topology"] is None
    assert told["advice"] == []
    departures = [store for store in told["stores"] if store["label"].startswith("departures")]
    # 10 tuples per second for an hour; a moment, three texts and a number each, and 8 bytes beside.
    for store in departures:
        assert store["tuples"]["expected"] >= 36_000
        assert store["bytes"]["expected"] == store["tuples"]["expected"] * (8 + 8 + 3 * 16 + 8)
        assert (store["kept"], store["measured"]) == (False, False)


def test_beside_a_topology_windows_are_advised(
    as_outsider: Client, post: Post, topology: Topology, bus: redis.Redis
) -> None:
    told = post(as_outsider, "/api/sql/outlook/", {"sql": SHORTER}).json()
    assert told["topology"] == "flights"
    assert told["stores"] == []
    (free,) = told["advice"]
    assert (free["like"], free["longer"], free["saved_percent"]) == ("windy", True, 0)
    assert {one["alias"]: (one["present_ms"], one["proposed_ms"]) for one in free["windows"]} == {
        "d": (3_000_000, 3_600_000),
        "w": (3_000_000, 3_600_000),
    }
    told = post(as_outsider, "/api/sql/outlook/", {"sql": LONGER}).json()
    saving = told["advice"][0]
    assert (saving["like"], saving["longer"]) == ("windy", False)
    assert {one["alias"]: one["proposed_ms"] for one in saving["windows"]}["d"] == 3_600_000
    # A store is kept for longer: ten departures per second for an hour more, in each of its copies.
    assert saving["saved_storage"] >= 36_000
    assert 5 <= saving["saved_percent"] <= 100


def test_a_query_that_waits_has_an_outlook_too(
    as_outsider: Client, post: Post, topology: Topology, bus: redis.Redis
) -> None:
    sql = (
        "SELECT d.flight FROM departures [RANGE 1 HOUR] AS d WHERE NOT EXISTS "
        "(SELECT 1 FROM arrivals [RANGE 1 HOUR] AS a WHERE a.tail = d.tail)"
    )
    told = post(as_outsider, "/api/sql/outlook/", {"sql": sql})
    assert told.status_code == 200
    assert told.json()["advice"] == []
    stores = {one["label"]: one for one in told.json()["stores"]}
    (waiting,) = (one for label, one in stores.items() if "without" in label)
    assert waiting["tuples"]["expected"] > 0
    explained = post(as_outsider, "/api/sql/explain/", {"sql": sql})
    assert explained.status_code == 200
    marginal = explained.json()["marginal"]
    assert marginal["cost"]["probe"] > 0
    assert marginal["reuse"] == "reuses none of its 1 step"
    validated = post(as_outsider, "/api/sql/validate/", {"sql": sql}).json()
    assert [hint["code"] for hint in validated["hints"]] == ["deadline"]


def test_bytes_follow_what_running_stores_take(
    as_owner: Client, post: Post, topology: Topology, bus: redis.Redis
) -> None:
    plan = topology.plan
    assert plan is not None
    Topology.objects.update(active_plan=plan)
    stores = as_owner.get("/api/topologies/flights/graph/").json()["graph"]["stores"]
    held = StoreMetrics(
        tuples=1000, bytes=70_000, inserted=0, evicted=0, probes=0, matches=0, per_task=[1000, 0]
    )
    now = datetime.now(UTC)
    batch = BatchCompleted(
        run="0" * 16, at=now, batch=0, epoch=0, plan_id=plan.plan_id, seconds=0.1, tuples_in=1, backlog=0,
        level_seconds=[0.1], streams={}, stores={store["id"]: held for store in stores}, edges={}, queries={},
    )  # fmt: skip
    started = JobStarted(run="0" * 16, at=now, pid=1, host="here", plan_id=plan.plan_id, batch=0)
    for event in (started, batch):
        bus.xadd(events_key("flights"), {"message": event.model_dump_json()})
    longer = THREE_WAY.replace("[RANGE 1 HOUR]", "[RANGE 2 HOURS]")
    told = post(as_owner, "/api/sql/outlook/", {"sql": longer}).json()
    grown = [store for store in told["stores"] if store["kept"]]
    assert grown
    for store in grown:
        assert store["measured"]
        assert store["bytes"]["high"] == 70 * store["tuples"]["high"]
