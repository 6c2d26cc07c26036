"""A revision that could not be planned is planned again: by other code, or when somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from backend.catalog.actions import delete_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query, undeploy_query
from backend.planning import revisions
from backend.topologies.models import Topology
from backend.topologies.status import deployment_state
from optimizer.planner.plan import plan

pytestmark = pytest.mark.django_db


@pytest.fixture
def failed(query: Query, owner: User, monkeypatch: pytest.MonkeyPatch) -> Topology:
    """A topology whose optimizer raised once; the fault is gone when the test begins."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of the optimizer")

    deploy_query(owner, query, "flights")
    topology = Topology.objects.get()
    with monkeypatch.context() as patch:
        patch.setattr(revisions, "plan", broken)
        with pytest.raises(ZeroDivisionError):
            revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    assert deployment_state(topology) == "failed"
    assert not revisions.plan_newest(topology.pk)
    return topology


def test_a_worker_that_starts_plans_it_again(failed: Topology) -> None:
    assert revisions.forget_failures() == [failed.pk]
    assert revisions.plan_newest(failed.pk)
    failed.refresh_from_db()
    assert (deployment_state(failed), failed.deployment_error) == ("planned", "")
    # The next worker finds nothing to do.
    assert revisions.forget_failures() == []


def test_a_start_plans_it_again(failed: Topology, as_operator: Client, post: Callable[..., Any]) -> None:
    answer = post(as_operator, "/api/topologies/flights/start/")
    assert answer.json()["deployment"]["state"] == "planning"
    assert revisions.plan_newest(failed.pk)
    failed.refresh_from_db()
    assert deployment_state(failed) == "planned"


def test_a_query_that_is_deleted_while_it_is_planned_has_no_plan(
    query: Query, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy_query(owner, query, "flights")
    topology = Topology.objects.get()

    def slowly(*arguments: Any, **options: Any) -> Any:
        made = plan(*arguments, **options)
        undeploy_query(owner, query)
        delete_query(owner, Query.objects.get())
        return made

    with monkeypatch.context() as patch:
        patch.setattr(revisions, "plan", slowly)
        assert revisions.plan_newest(topology.pk)
    connection.check_constraints()
    assert not topology.plans.exists()
    assert revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    assert topology.planned_revision == topology.revision


def test_what_is_planned_stays(failed: Topology) -> None:
    revisions.forget_failures()
    revisions.plan_newest(failed.pk)
    failed.refresh_from_db()
    before = failed.plan_id
    assert revisions.forget_failures() == []
    assert not revisions.plan_newest(failed.pk)
    failed.refresh_from_db()
    assert failed.plan_id == before
