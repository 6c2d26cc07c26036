"""A running topology's next plan starts from the one in use, whichever worker made that."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query, replan, undeploy_query
from backend.planning import revisions
from backend.topologies.models import Plan as PlanRecord
from backend.topologies.models import Topology
from optimizer.planner.plan import Plan
from optimizer.planner.plan_in_use import Running

pytestmark = pytest.mark.django_db

TWO_WAY = """SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w
WHERE d.origin = w.origin
"""


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Running | None]:
    """What each planning began with, in order."""
    seen: list[Running | None] = []
    plan_deployed = revisions.plan_deployed

    def recorded(topology: Any, deployed: Any, known: Any, running: Running | None = None) -> Plan:
        seen.append(running)
        return plan_deployed(topology, deployed, known, running)

    monkeypatch.setattr(revisions, "plan_deployed", recorded)
    return seen


def test_another_query_is_planned_on_top_of_what_runs(
    topology: Topology, owner: User, starts: list[Running | None]
) -> None:
    deploy_query(owner, create_query(owner, "second", TWO_WAY), "flights")
    assert revisions.plan_newest(topology.pk)

    (start,) = starts
    assert start is not None
    assert [[query.name for query in part.queries] for part in start.components] == [["windy"]]
    assert {one.query.name for one in PlanRecord.objects.latest("pk").versions.all()} == {"second", "windy"}


def test_a_query_that_leaves_is_planned_on_top_of_what_runs(
    topology: Topology, owner: User, query: Query, starts: list[Running | None]
) -> None:
    deploy_query(owner, create_query(owner, "second", TWO_WAY), "flights")
    assert revisions.plan_newest(topology.pk)
    undeploy_query(owner, query)
    assert revisions.plan_newest(topology.pk)

    assert starts[1] is not None
    assert [[query.name for query in part.queries] for part in starts[1].components] == [["second", "windy"]]


def test_who_asks_for_another_plan_gets_a_search_from_nothing(
    topology: Topology, operator: User, starts: list[Running | None]
) -> None:
    replan(operator, topology)
    assert revisions.plan_newest(topology.pk)

    assert starts == [None]


def test_a_plan_of_a_release_that_kept_no_start_is_none(
    topology: Topology, owner: User, starts: list[Running | None]
) -> None:
    PlanRecord.objects.update(running="")
    deploy_query(owner, create_query(owner, "second", TWO_WAY), "flights")
    assert revisions.plan_newest(topology.pk)

    assert starts == [None]
