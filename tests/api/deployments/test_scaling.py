"""How many tasks a topology's stores have, and who may say so."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.planning import revisions
from backend.streams.models import Stream
from backend.topologies.models import Topology
from optimizer.physical.graph import PhysicalGraph

URL = "/api/topologies/flights/tasks/"


@pytest.fixture
def topology(query: Query, owner: User) -> Topology:
    deploy_query(owner, query, "flights")
    made = Topology.objects.get(name="flights")
    assert revisions.plan_newest(made.pk)
    return made


def scale(client: Client, **tasks: int | None) -> Any:
    return client.put(URL, {"tasks": tasks}, content_type="application/json")


def by_stream(client: Client) -> dict[str, tuple[int | None, int | None]]:
    document = client.get(URL).json()
    return {one["stream"]: (one["tasks"], one["fixed"]) for one in document["streams"]}


def test_the_present_tasks_are_those_of_the_plan(as_teammate: Client, topology: Topology) -> None:
    document = as_teammate.get(URL).json()
    assert document["most"] == 2
    assert by_stream(as_teammate) == {
        "arrivals": (2, None),
        "departures": (2, None),
        "weather": (2, None),
    }


def test_what_an_operator_sets_is_in_the_next_plan(as_operator: Client, topology: Topology) -> None:
    answer = scale(as_operator, weather=5)
    assert answer.status_code == 202, answer.content
    assert by_stream(as_operator)["weather"] == (2, 5), "the plan in use stays until the next takes over"
    assert revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    assert topology.plan is not None
    graph = PhysicalGraph.from_json(topology.plan.graph, "plan")
    assert {store.tasks for store in graph.stores if store.inputs[0].stream == "weather"} == {5}
    assert {store.tasks for store in graph.stores if store.inputs[0].stream == "arrivals"} == {2}
    trail = as_operator.get("/api/topologies/flights/audit/").json()
    assert (trail[0]["action"], trail[0]["detail"]) == ("scale", "weather: 5")


def test_what_a_job_would_refuse_never_stays_on_the_stream(as_operator: Client, topology: Topology) -> None:
    answer = scale(as_operator, weather=257)
    assert answer.status_code == 400
    assert "less than or equal to 256" in str(answer.json())
    assert Stream.objects.get(name="weather").parallelism is None
    assert Topology.objects.get().revision == topology.revision


def test_the_load_decides_again(as_operator: Client, topology: Topology) -> None:
    assert scale(as_operator, weather=5).status_code == 202
    assert scale(as_operator, weather=None, arrivals=1).status_code == 202
    assert by_stream(as_operator)["weather"][1] is None
    assert Stream.objects.get(name="arrivals").parallelism == 1


def test_nothing_is_planned_for_what_is_so_already(as_operator: Client, topology: Topology) -> None:
    assert scale(as_operator, weather=None).status_code == 202
    assert Topology.objects.get().revision == topology.revision


def test_what_cannot_be_is_refused(
    as_operator: Client, as_owner: Client, anonymous: Client, topology: Topology
) -> None:
    answer = scale(as_operator, gates=2)
    assert (answer.status_code, answer.json()["code"]) == (409, "stream-not-read")
    assert "arrivals, departures, weather" in answer.json()["detail"]
    assert scale(as_operator, weather=0).status_code == 400
    assert scale(as_operator).status_code == 400
    assert scale(as_owner, weather=2).json()["code"] == "operators-only"
    assert scale(anonymous, weather=2).status_code == 403
    assert Topology.objects.get().revision == topology.revision
