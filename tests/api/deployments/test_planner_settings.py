"""How a topology is planned: the same settings as of the commands, set by operators."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from backend.planning import revisions
from backend.topologies.models import Topology
from optimizer.algebra.settings import schema
from optimizer.planner.settings import PlannerSettings

URL = "/api/topologies/flights/planner/"


def ask(client: Client, **settings: Any) -> Any:
    return client.put(URL, {"settings": settings}, content_type="application/json")


def test_the_document_says_what_may_be_chosen(as_teammate: Client, topology: Topology) -> None:
    document = as_teammate.get(URL).json()
    assert document["settings"] == PlannerSettings(method=topology.planner["method"]).document()
    assert document["described"] == schema(PlannerSettings)


def test_what_an_operator_chooses_holds_for_the_next_plan(as_operator: Client, topology: Topology) -> None:
    answer = ask(as_operator, method="individual", storage_weight=0.5)
    assert answer.status_code == 200, answer.content
    assert answer.json()["settings"] == PlannerSettings(method="individual", storage_weight=0.5).document()
    assert revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    assert topology.planner == {"method": "individual", "storage_weight": 0.5}
    assert topology.plan is not None
    assert topology.plan.method == "individual"
    trail = as_operator.get("/api/topologies/flights/audit/").json()
    said = [one["detail"] for one in trail if one["action"] == "planner"]
    assert said == ["method: individual, storage_weight: 0.5"]


def test_what_is_left_out_has_its_default_again(as_operator: Client, topology: Topology) -> None:
    assert ask(as_operator, method="greedy", grids="off").status_code == 200
    assert ask(as_operator, method="greedy").json()["settings"]["grids"] == "cost"
    assert Topology.objects.get().planner == {"method": "greedy"}


def test_nothing_is_planned_for_what_is_so_already(as_operator: Client, topology: Topology) -> None:
    assert ask(as_operator, **topology.planner).status_code == 200
    assert Topology.objects.get().revision == topology.revision


def test_settings_that_admit_no_plan_are_told_and_the_old_plan_stays(
    as_operator: Client, topology: Topology
) -> None:
    assert ask(as_operator, method="greedy", storage_budget=1).status_code == 200
    assert revisions.plan_newest(topology.pk)
    document = as_operator.get("/api/topologies/flights/").json()
    assert document["deployment"]["state"] == "failed"
    assert "storage" in document["deployment"]["error"]
    assert Topology.objects.get().plan == topology.plan
    assert ask(as_operator, method="greedy").status_code == 200
    assert revisions.plan_newest(topology.pk)
    assert as_operator.get("/api/topologies/flights/").json()["deployment"]["error"] is None


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"method": "gredy"}, "'gredy' instead of one of ilp"),
        ({"storage_weight": -1}, "-1 instead of a number from 0 to"),
        ({"storage_budget": 0}, "0 instead of a number above 0"),
        ({"colour": "red"}, "setting colour instead of one of method"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    as_operator: Client, topology: Topology, chosen: dict[str, Any], told: str
) -> None:
    answer = ask(as_operator, **chosen)
    assert answer.status_code == 400
    assert told in answer.content.decode()
    assert next(iter(chosen)) in answer.content.decode()
    assert Topology.objects.get().planner == topology.planner


def test_only_operators_choose(as_owner: Client, topology: Topology) -> None:
    assert ask(as_owner, method="flat").status_code == 403
    assert Topology.objects.get().planner == topology.planner


def test_a_draft_is_priced_as_the_topology_plans(as_operator: Client, topology: Topology) -> None:
    sql = "SELECT d.tail FROM departures [RANGE 1 HOUR] d, weather [RANGE 1 HOUR] w WHERE d.origin = w.origin"
    draft = {"name": "drafted", "sql": sql, "topology": "flights"}
    costs = []
    for weight in (1.0, 8.0):
        assert ask(as_operator, storage_weight=weight).status_code == 200
        answer = as_operator.post("/api/sql/explain/", draft, content_type="application/json")
        assert answer.status_code == 200, answer.content
        costs.append(answer.json()["cost"])
    assert costs[1]["storage"] == pytest.approx(8 * costs[0]["storage"])
