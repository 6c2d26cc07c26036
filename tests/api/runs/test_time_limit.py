"""A task that takes too long ends with a word about it, and the next one works."""

from __future__ import annotations

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.contrib.auth.models import User

from backend.catalog.models import Query
from backend.celery import app
from backend.deployments.actions import deploy_query
from backend.planning import revisions
from backend.topologies.models import Topology
from backend.topologies.status import deployment_state

pytestmark = pytest.mark.django_db


def test_every_task_has_a_limit() -> None:
    assert app.conf.task_soft_time_limit == settings.MILLRACE_TASK_SECONDS == 300.0
    assert app.conf.task_time_limit > app.conf.task_soft_time_limit
    # Planning ends by itself long before.
    assert app.conf.task_soft_time_limit / 2 > settings.MILLRACE_PLAN_SECONDS


@pytest.mark.parametrize("step", ["plan_deployed", "keep_forecasts"])
def test_a_planning_that_was_ended_is_failed_until_it_is_asked_for_again(
    owner: User, query: Query, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    deploy_query(owner, query, "flights")
    topology = Topology.objects.get(name="flights")

    def for_ever(*_: object, **__: object) -> None:
        raise SoftTimeLimitExceeded

    with monkeypatch.context() as patched:
        patched.setattr(revisions, step, for_ever)
        with pytest.raises(SoftTimeLimitExceeded):
            revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    assert deployment_state(topology) == "failed"
    assert topology.deployment_error.startswith("the optimizer failed: SoftTimeLimitExceeded")
    deploy_query(owner, query, "flights")
    assert revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    assert deployment_state(topology) == "planned"
