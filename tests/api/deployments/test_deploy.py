"""Deploying over HTTP, and the optimize task called as the worker calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from backend.audit.models import AuditEntry
from backend.catalog.actions import add_version, create_query
from backend.catalog.models import Query
from backend.planning import revisions
from backend.streams.models import StreamColumn
from backend.topologies.models import Plan, Topology
from optimizer.physical.graph import PhysicalGraph

Post = Callable[..., Any]
TWO_WAY = """SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w
WHERE d.origin = w.origin
"""
URL = "/api/topologies/flights/"


def _deploy(client: Client, post: Post, query: Query, **options: object) -> Any:
    return post(client, f"/api/queries/{query.pk}/deploy/", options)


def _plan() -> bool:
    return revisions.plan_newest(Topology.objects.get(name="flights").pk)


def test_a_deployed_query_is_planned_once(as_owner: Client, post: Post, query: Query) -> None:
    answer = _deploy(as_owner, post, query, topology="flights")
    assert answer.status_code == 202
    assert answer.json() == {"topology": "flights", "revision": 1, "query": "windy", "version": 1}
    assert as_owner.get(URL).json()["deployment"]["state"] == "planning"
    assert as_owner.get(f"{URL}graph/").status_code == 404
    assert [_plan(), _plan()] == [True, False]
    document = as_owner.get(URL).json()
    assert document["deployment"] == {
        "revision": 1,
        "planned_revision": 1,
        "active_revision": 0,
        "state": "planned",
        "error": None,
    }
    (answered,) = document["queries"]
    nothing = {"suspended": None, "pinned": None, "correctness": None, "applied": None}
    assert answered == {"id": query.pk, "name": "windy", "version": 1, **nothing}
    assert document["streams"] == ["arrivals", "departures", "weather"]
    plan = as_owner.get(f"{URL}graph/").json()
    assert plan["plan_id"] == "flights.1"
    assert plan["cost"]["total"] == pytest.approx(
        sum(plan["cost"][kind] for kind in ("probe", "storage", "latency"))
    )
    graph = PhysicalGraph.from_json(Plan.objects.get().graph)
    assert [one.name for one in graph.queries] == ["windy"]
    # Stores keep what later queries may need.
    departures = next(store for store in graph.stores if store.inputs[0].stream == "departures")
    assert "delay" in departures.inputs[0].columns


def test_queries_are_planned_together_and_a_version_replaces_the_last(
    as_owner: Client, post: Post, owner: User, query: Query
) -> None:
    _deploy(as_owner, post, query, topology="flights")
    second = create_query(owner, "second", TWO_WAY)
    # Without a name it goes where its streams are.
    assert _deploy(as_owner, post, second).json()["topology"] == "flights"
    assert _plan()
    assert as_owner.get(f"{URL}graph/").json()["plan_id"] == "flights.2"
    assert add_version(owner, second, TWO_WAY.replace("w.wind\n", "w.wind").replace("1 HOUR", "2 HOURS"))
    assert _deploy(as_owner, post, second).json()["version"] == 2
    assert _deploy(as_owner, post, second, version=1).json()["version"] == 1
    assert _deploy(as_owner, post, second, version=9).json()["code"] == "no-such-version"
    assert _plan()
    document = as_owner.get(URL).json()
    # The first version's plan is the same again, so there is nothing to switch to.
    assert (document["deployment"]["planned_revision"], Plan.objects.count()) == (4, 1)
    elsewhere = _deploy(as_owner, post, second, topology="other")
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (409, "deployed-elsewhere")


def test_the_last_query_that_leaves_stops_the_topology(as_owner: Client, post: Post, query: Query) -> None:
    _deploy(as_owner, post, query, topology="flights")
    assert as_owner.delete(f"/api/queries/{query.pk}/").json()["code"] == "query-deployed"
    assert post(as_owner, f"/api/queries/{query.pk}/undeploy/").status_code == 202
    assert _plan()
    document = as_owner.get(URL).json()
    assert (document["desired"], document["state"], document["queries"]) == ("stopped", "stopped", [])
    again = post(as_owner, f"/api/queries/{query.pk}/undeploy/")
    assert (again.status_code, again.json()["code"]) == (409, "not-deployed")
    assert as_owner.delete(f"/api/queries/{query.pk}/").status_code == 204


def test_what_cannot_be_planned_says_why(as_owner: Client, post: Post, query: Query) -> None:
    _deploy(as_owner, post, query, topology="flights")
    StreamColumn.objects.filter(stream__name="weather", name="wind").delete()
    assert _plan()
    document = as_owner.get(URL).json()
    assert document["deployment"]["state"] == "failed"
    assert "w.wind" in document["deployment"]["error"]
    assert (document["state"], document["error"]) == ("failed", document["deployment"]["error"])
    assert as_owner.get(f"/api/queries/{query.pk}/").json()["status"] == "failed"


def test_who_may_operate(
    as_owner: Client, as_teammate: Client, as_operator: Client, anonymous: Client, post: Post, query: Query
) -> None:
    _deploy(as_owner, post, query, topology="flights")
    for action in ("start", "stop", "restart", "optimize"):
        assert post(anonymous, f"{URL}{action}/").status_code == 403
        refused = post(as_teammate, f"{URL}{action}/")
        assert (refused.status_code, refused.json()["code"]) == (403, "operators-only")
        assert post(as_operator, f"{URL}{action}/").status_code == 202
    assert list(
        AuditEntry.objects.filter(topology="flights").order_by("pk").values_list("verb", flat=True)
    ) == [
        "deploy",
        "start",
        "stop",
        "restart",
        "optimize",
    ]
    assert post(as_operator, f"{URL}stop/", {"mode": "never"}).status_code == 400
    for path in ("", "graph/", "snapshot/"):
        assert anonymous.get(URL + path).status_code == 403
    assert as_teammate.get("/api/topologies/").json()[0]["name"] == "flights"
    assert as_teammate.get("/api/runs/").json() == []
    assert as_teammate.get("/api/runs/0123456789abcdef/").status_code == 404


def test_an_empty_topology_does_not_start(as_operator: Client, post: Post, db: None) -> None:
    Topology.objects.create(name="flights", planner={"method": "greedy"}, job={"trigger_ms": 500})
    answer = post(as_operator, f"{URL}start/")
    assert (answer.status_code, answer.json()["code"]) == (409, "no-queries")
