"""Which topology answers a query when nobody names one, and what an operator says about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.topologies.models import Topology, TopologyQuery

Post = Callable[..., Any]
TWO_WAY = """SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w
WHERE d.origin = w.origin
"""


def deploy(client: Client, post: Post, query: Query, **options: object) -> Any:
    return post(client, f"/api/queries/{query.pk}/deploy/", options).json()


def pin(client: Client, query: Query, topology: str | None) -> Any:
    return client.put(
        f"/api/queries/{query.pk}/pin/", {"topology": topology}, content_type="application/json"
    )


@pytest.fixture
def second(owner: User, query: Query) -> Query:
    """Reads two of the first query's streams."""
    return create_query(owner, "second", TWO_WAY)


def test_a_query_goes_where_its_streams_are_stored(
    as_owner: Client, post: Post, query: Query, second: Query
) -> None:
    assert deploy(as_owner, post, query)["topology"] == "main"
    assert deploy(as_owner, post, second)["topology"] == "main"


def test_a_full_topology_takes_no_more(
    as_owner: Client, post: Post, owner: User, query: Query, second: Query, settings: Settings
) -> None:
    settings.MILLRACE_MOST_QUERIES = 1.0
    assert deploy(as_owner, post, query, topology="flights")["topology"] == "flights"
    assert deploy(as_owner, post, second)["topology"] == "main"
    assert deploy(as_owner, post, create_query(owner, "third", TWO_WAY))["topology"] == "main-2"
    # What runs stays where it is, with every new version.
    assert deploy(as_owner, post, second)["topology"] == "main"
    # Whoever names a topology gets it.
    assert deploy(as_owner, post, create_query(owner, "fourth", TWO_WAY), topology="flights")["revision"] == 2


def test_a_pinned_query_goes_to_its_topology_only(
    as_owner: Client, as_operator: Client, post: Post, query: Query, second: Query
) -> None:
    assert deploy(as_owner, post, query, topology="flights")["topology"] == "flights"
    assert as_owner.get(f"/api/queries/{second.pk}/pin/").json() == {"topology": None}
    assert pin(as_operator, second, "slow").json() == {"topology": "slow"}
    assert deploy(as_owner, post, second, topology="flights")["code"] == "pinned"
    assert deploy(as_owner, post, second)["topology"] == "slow"
    assert pin(as_operator, second, None).json() == {"topology": None}
    assert as_owner.get(f"/api/queries/{second.pk}/").json()["topology"] == "slow"


def test_a_running_query_moves_to_the_topology_it_is_pinned_to(
    as_owner: Client, as_operator: Client, post: Post, query: Query, second: Query
) -> None:
    deploy(as_owner, post, query, topology="flights")
    deploy(as_owner, post, second, topology="other")
    assert pin(as_operator, second, "flights").status_code == 200
    assert TopologyQuery.objects.get(query=second).topology.name == "flights"
    assert Topology.objects.get(name="flights").revision == 2
    assert Topology.objects.get(name="other").desired == "stopped"


def test_only_operators_pin(as_owner: Client, anonymous: Client, as_operator: Client, query: Query) -> None:
    assert pin(as_owner, query, "slow").json()["code"] == "operators-only"
    assert pin(anonymous, query, "slow").status_code == 403
    assert pin(as_operator, query, "no such name").status_code == 400
    assert as_owner.get(f"/api/queries/{query.pk}/pin/").json() == {"topology": None}


def make_stream(client: Client, post: Post, name: str) -> None:
    columns = [{"name": "at", "type": "timestamp"}, {"name": "k", "type": "bigint"}]
    answer = post(client, "/api/streams/", {"name": name, "event_time": "at", "columns": columns})
    assert answer.status_code == 201, answer.content


def make_query(client: Client, post: Post, name: str, sql: str) -> int:
    answer = post(client, "/api/queries/", {"name": name, "sql": sql})
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


def join(left: str, right: str) -> str:
    return (
        f"SELECT {left}.k AS k, {right}.at AS at FROM {left} [RANGE 1 MINUTE], {right} [RANGE 1 MINUTE] "
        f"WHERE {left}.k = {right}.k"
    )


def deployed(client: Client, post: Post, query: int) -> str:
    answer = post(client, f"/api/queries/{query}/deploy/", {})
    assert answer.status_code == 202, answer.content
    return str(answer.json()["topology"])


def test_components_through_http_alone(
    as_owner: Client, as_operator: Client, post: Post, settings: Settings
) -> None:
    """Queries without a common stream part, also when a view hides the stream; one that joins two
    components follows where it shares most; nothing that runs moves unless an operator says so."""
    settings.MILLRACE_MOST_QUERIES = 3.0
    for name in ("a", "b", "c", "d", "e"):
        make_stream(as_owner, post, name)
    left, right = (make_query(as_owner, post, f"q-{x}{y}", join(x, y)) for x, y in ("ab", "cd"))
    assert deployed(as_owner, post, left) == "main"
    assert deployed(as_owner, post, right) == "main-2"
    view = make_query(
        as_owner, post, "over-view", 'SELECT v.k AS k FROM "q-cd" AS v, e [RANGE 1 MINUTE] WHERE v.k = e.k'
    )
    assert deployed(as_owner, post, view) == "main-2", "a view's streams are its query's"
    both = make_query(
        as_owner,
        post,
        "both",
        "SELECT a.k AS k FROM a [RANGE 1 MINUTE], c [RANGE 1 MINUTE], d [RANGE 1 MINUTE] "
        "WHERE a.k = c.k AND c.k = d.k",
    )
    assert deployed(as_owner, post, both) == "main-2"
    late = make_query(as_owner, post, "late", join("d", "c"))
    assert deployed(as_owner, post, late) == "main-3", "main-2 is full, and nothing else stores its streams"
    assert as_owner.get("/api/topologies/main/").json()["streams"] == ["a", "b"]
    assert as_owner.get("/api/topologies/main-2/").json()["streams"] == ["a", "c", "d", "e"]
    answer = as_operator.put(
        f"/api/queries/{both}/pin/", {"topology": "main"}, content_type="application/json"
    )
    assert answer.status_code == 200, answer.content
    names = {
        topology["name"]: sorted(query["name"] for query in topology["queries"])
        for topology in as_owner.get("/api/topologies/").json()
    }
    assert names == {"main": ["both", "q-ab"], "main-2": ["over-view", "q-cd"], "main-3": ["late"]}
    # There is room in main-2 again, and what was refused it before stays where it is.
    assert deployed(as_owner, post, late) == "main-3"
    another = make_query(as_owner, post, "another", join("e", "c"))
    assert deployed(as_owner, post, another) == "main-2"


def test_a_topology_says_which_of_its_queries_are_pinned(
    as_owner: Client, as_operator: Client, post: Post, query: Query, second: Query
) -> None:
    for one in (query, second):
        deploy(as_owner, post, one, topology="flights")
    assert pin(as_operator, second, "flights").status_code == 200
    told = as_owner.get("/api/topologies/flights/").json()["queries"]
    assert [one["pinned"] for one in sorted(told, key=lambda one: str(one["name"]))] == ["flights", None]
