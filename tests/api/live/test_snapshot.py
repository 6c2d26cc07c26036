"""Snapshots over HTTP and events into the database, on a real Redis."""

from __future__ import annotations

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.live.models import LiveRecord
from backend.live.queries import folded, live_state
from backend.live.state import LiveState
from backend.runs.recording import consume
from backend.topologies.models import PlanSwitch, Topology
from jobs.protocol import AnyEvent, events_key
from tests.api.live.events import event

KEY = events_key("flights")
URL = "/api/topologies/flights/snapshot/"


@pytest.fixture
def topology(query: Query, owner: User) -> Topology:
    deploy_query(owner, query, "flights")
    return Topology.objects.get(name="flights")


def _say(bus: redis.Redis, *events: AnyEvent) -> list[tuple[str, AnyEvent | None]]:
    return [(bus.xadd(KEY, {"message": one.model_dump_json()}), one) for one in events]


def test_before_the_first_event_all_is_unknown(as_teammate: Client, topology: Topology, query: Query) -> None:
    assert as_teammate.get(URL).json() == {
        "last_event_id": "0-0",
        "state": "stopped",
        "error": None,
        "run": None,
        "plan_id": None,
        "epoch": None,
        "heartbeat_at": None,
        "launched_at": None,
        "phase": None,
        "batch": None,
        "history": [],
        "store_history": [],
        "switches": [],
        "shapes": [],
        "epochs": [],
        "statistics": None,
        "given_up": None,
        "failed_batch": None,
        "waiting_batch": None,
        "queries": [
            {
                "id": query.pk,
                "name": "windy",
                "version": 1,
                "suspended": None,
                "pinned": None,
                "correctness": None,
                "applied": None,
            }
        ],
    }


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(stored=st.lists(event, max_size=8), waiting=st.lists(event, max_size=8))
def test_a_snapshot_is_the_fold_wherever_the_consumer_stands(
    as_teammate: Client, topology: Topology, bus: redis.Redis, stored: list[AnyEvent], waiting: list[AnyEvent]
) -> None:
    bus.delete(KEY)
    LiveRecord.objects.all().delete()
    events = _say(bus, *stored)
    consume(topology)
    events += _say(bus, *waiting)
    expected = folded(LiveState(), events).model_dump(mode="json", exclude={"version"})
    found = as_teammate.get(URL).json()
    found.pop("queries")
    assert found == expected
    assert consume(topology) == live_state(topology)


def test_an_unreadable_event_is_passed_over(topology: Topology, bus: redis.Redis) -> None:
    entry = bus.xadd(KEY, {"message": '{"type": "news"}'})
    assert consume(topology) == LiveState(last_event_id=entry)
    bus.xadd(KEY, {"other": "field"})
    assert consume(topology).state == "stopped"


def test_an_empty_redis_is_followed_again(topology: Topology, bus: redis.Redis) -> None:
    bus.xadd(KEY, {"message": "{}"}, id="9999999999999-0")
    consume(topology)
    bus.delete(KEY)
    assert live_state(topology).last_event_id == "0-0"
    entry = bus.xadd(KEY, {"message": "{}"})
    assert consume(topology).last_event_id == entry


@given(data=st.data())
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_consuming_twice_stores_once(topology: Topology, bus: redis.Redis, data: st.DataObject) -> None:
    bus.delete(KEY)
    LiveRecord.objects.all().delete()
    PlanSwitch.objects.all().delete()
    _say(bus, *data.draw(st.lists(event, max_size=10)))
    first = consume(topology)
    switches = PlanSwitch.objects.count()
    LiveRecord.objects.update(last_event_id="0-0", state="")
    assert consume(topology) == first
    assert PlanSwitch.objects.count() == switches


def test_who_may(anonymous: Client, as_teammate: Client, topology: Topology) -> None:
    assert anonymous.get(URL).status_code == 403
    assert as_teammate.get("/api/topologies/none/snapshot/").status_code == 404


def test_without_redis_it_says_so(as_teammate: Client, topology: Topology, settings: object) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # type: ignore[attr-defined]
    answer = as_teammate.get(URL)
    assert (answer.status_code, answer.json()["code"]) == (503, "redis-unavailable")
