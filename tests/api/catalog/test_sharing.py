"""Favourites, ownership, blast radius and downloads of queries."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from backend.accounts.models import Team
from backend.catalog.actions import add_version, create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.planning import revisions
from backend.topologies.models import Topology
from jobs.protocol import results_key
from optimizer.planner.settings import PlannerSettings
from tests.api.conftest import TWO_WAY

Post = Callable[..., Any]


def test_a_favourite_is_ones_own(as_owner: Client, as_outsider: Client, query: Query) -> None:
    url = f"/api/queries/{query.pk}/favourite/"
    assert as_outsider.put(url).json()["favourite"] is True
    assert as_outsider.put(url).json()["favourite"] is True
    assert as_outsider.get("/api/queries/").json()[0]["favourite"] is True
    assert as_owner.get("/api/queries/").json()[0]["favourite"] is False
    assert as_outsider.delete(url).json()["favourite"] is False


def test_a_query_is_handed_over(
    as_owner: Client, as_outsider: Client, post: Post, query: Query, viewer: User, outsider: User, team: Team
) -> None:
    url = f"/api/queries/{query.pk}/transfer/"
    for name, code in (("nobody", "no-such-account"), (viewer.username, "viewers-only-read")):
        refused = post(as_owner, url, {"owner": name})
        assert (refused.status_code, refused.json()["code"]) == (409, code)
    given = post(as_owner, url, {"owner": outsider.username, "team": "airside"}).json()
    assert (given["owner"], given["team"], given["can_edit"]) == ("zoe", "airside", True)
    assert as_outsider.get(f"/api/queries/{query.pk}/").json()["can_edit"] is True
    # The new owner is not in the team but keeps it as it is, and may take the query out of it.
    assert post(as_outsider, url, {"owner": "zoe", "team": "airside"}).status_code == 200
    assert post(as_outsider, url, {"owner": "zoe"}).json()["team"] is None
    assert post(as_owner, url, {"owner": "ann"}).json()["code"] == "not-yours"


def test_readers_keep_the_version_that_they_read(as_owner: Client, owner: User, query: Query) -> None:
    create_query(owner, "strong", "SELECT v.flight FROM windy AS v WHERE v.wind > 30")
    assert add_version(owner, query, TWO_WAY)
    document = as_owner.get(f"/api/queries/{query.pk}/impact/").json()
    assert [(one["name"], one["pinned_version"], one["status"]) for one in document["queries"]] == [
        ("strong", 1, "draft")
    ]
    assert (document["topologies"], document["stores"]) == ([], [])


def test_a_store_goes_only_with_its_last_query(as_owner: Client, owner: User, query: Query) -> None:
    second = create_query(owner, "second", TWO_WAY)
    for one in (query, second):
        deploy_query(owner, one, "flights")
    assert revisions.plan_newest(Topology.objects.get(name="flights").pk)
    first = as_owner.get(f"/api/queries/{query.pk}/impact/").json()
    assert first["topologies"] == ["flights"]
    stores = {one["label"].split("[")[0]: one for one in first["stores"]}
    assert stores["arrivals"]["released"] is True
    assert stores["arrivals"]["used_by"] == ["windy"]
    assert stores["weather"]["released"] is False
    assert stores["weather"]["used_by"] == ["second", "windy"]
    # Nothing has run: unknown, not zero.
    assert stores["weather"]["tuples"] is None
    stop = as_owner.get("/api/topologies/flights/impact/").json()
    assert [one["name"] for one in stop["queries"]] == ["second", "windy"]
    assert not any(one["released"] for one in stop["stores"])
    stream = as_owner.get("/api/streams/arrivals/impact/").json()
    assert [one["name"] for one in stream["queries"]] == ["windy"]
    assert [one["id"] for one in stream["stores"]] == [stores["arrivals"]["id"]]


def test_other_methods_are_priced(as_owner: Client, owner: User, query: Query) -> None:
    deploy_query(owner, query, "flights")
    assert as_owner.get("/api/topologies/flights/alternatives/").status_code == 404
    assert revisions.plan_newest(Topology.objects.get(name="flights").pk)
    document = as_owner.get("/api/topologies/flights/alternatives/").json()
    assert [one["method"] for one in document] == ["greedy", "individual"]
    plan = as_owner.get("/api/topologies/flights/graph/").json()
    # The tests plan greedily, and one query has nobody to share with.
    assert document[0]["cost"] == plan["cost"]
    assert document[0]["steps"] > 0
    assert document[0]["graph"]["queries"][0]["name"] == "windy"
    assert as_owner.get("/api/topologies/flights/alternatives/?plan_id=none").status_code == 404


def test_a_plan_s_cost_is_split_among_its_queries(as_owner: Client, owner: User, query: Query) -> None:
    second = create_query(owner, "second", TWO_WAY)
    for one in (query, second):
        deploy_query(owner, one, "flights")
    assert as_owner.get("/api/topologies/flights/costs/").status_code == 404
    assert revisions.plan_newest(Topology.objects.get(name="flights").pk)
    told = as_owner.get("/api/topologies/flights/costs/").json()
    assert told["unit"] == "cores"
    batches = PlannerSettings().options().pricing.batches
    parts = sum(sum(told[kind].values()) for kind in ("streams", "elements", "answers"))
    assert sum(told["queries"].values()) + told["common"] == pytest.approx(parts + batches, rel=1e-9)
    # What `windy` reads besides is its own to pay.
    assert told["queries"]["windy"] > told["queries"]["second"] > 0
    plan = as_owner.get("/api/topologies/flights/graph/").json()
    stores = {store["id"] for store in plan["graph"]["stores"]}
    assert stores <= set(told["elements"])
    assert as_owner.get("/api/topologies/flights/costs/?plan_id=none").status_code == 404


def test_results_as_files(as_owner: Client, owner: User, query: Query, bus: redis.Redis) -> None:
    deploy_query(owner, query, "flights")
    for batch, flight in enumerate(('UA "1"', None)):
        row = {"flight": flight, "wind": 21.5, "delay": None}
        bus.xadd(results_key("flights", "windy"), {"json": json.dumps(row), "batch": batch})
    url = f"/api/queries/{query.pk}/results/download/"
    table = as_owner.get(url)
    assert table["Content-Disposition"] == 'attachment; filename="windy.csv"'
    assert list(csv.reader(io.StringIO(table.content.decode()))) == [
        ["flight", "wind", "delay"],
        ['UA "1"', "21.5", ""],
        ["", "21.5", ""],
    ]
    lines = as_owner.get(url, {"form": "json"}).content.decode().splitlines()
    assert json.loads(lines[0]) == {"flight": 'UA "1"', "wind": 21.5, "delay": None}
    assert as_owner.get(url, {"form": "xml"}).status_code == 400
