"""A job more than the machine has places for waits for its turn, and nobody holds all places."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.catalog.actions import create_query
from backend.deployments.actions import deploy_query, stop_topology
from backend.planning import revisions
from backend.runs import process, supervision
from backend.runs.launch_queue import look
from backend.topologies.models import ENDED, Run, RunState, Topology
from tests.api.conftest import TWO_WAY

pytestmark = pytest.mark.django_db
Job = Callable[[str], None]


class Site:
    """Topologies of one query each, supervised by hand; places are freed by ending runs."""

    def __init__(self) -> None:
        self.now: datetime = timezone.now()

    def deploy(self, account: User, name: str) -> Topology:
        query = create_query(account, f"on-{name}", TWO_WAY)
        deploy_query(account, query, name)
        topology = Topology.objects.get(name=name)
        assert revisions.plan_newest(topology.pk)
        self.now += timedelta(seconds=1)
        Topology.objects.filter(pk=topology.pk).update(revised_at=self.now)
        return topology

    def supervise(self) -> set[str]:
        """One round over all, as the task does it; the names of those with a job."""
        self.now += timedelta(seconds=1)
        for topology_id in Topology.objects.order_by("pk").values_list("pk", flat=True):
            supervision.reconcile(topology_id, self.now)
        return self.running

    @property
    def running(self) -> set[str]:
        live = Run.objects.exclude(state__in=ENDED)
        return set(live.values_list("topology__name", flat=True))

    def end(self, name: str, operator: User) -> None:
        topology = Topology.objects.get(name=name)
        stop_topology(operator, topology, "now")
        run = Run.objects.select_related("topology").exclude(state__in=ENDED).get(topology=topology)
        process.end(run)
        Run.objects.filter(pk=run.pk).update(state=RunState.STOPPED)


@pytest.fixture
def site(job: Job, streams: object, settings: Settings) -> Site:
    settings.MILLRACE_MAX_JOBS = 2.0
    return Site()


def _reason(client: Client, name: str) -> str | None:
    (shown,) = [one for one in client.get("/api/topologies/").json() if one["name"] == name]
    assert shown["waiting"] == client.get(f"/api/topologies/{name}/").json()["waiting"]
    return shown["waiting"]


def test_one_too_many_waits_and_says_so_until_a_place_is_free(
    site: Site, operator: User, as_owner: Client
) -> None:
    for name in ("one", "two", "three", "four"):
        site.deploy(operator, name)
    assert site.supervise() == {"one", "two"}
    assert site.supervise() == {"one", "two"}
    assert _reason(as_owner, "one") is None
    assert _reason(as_owner, "three") == "waiting for a place: 2 of 2 jobs run"
    assert _reason(as_owner, "four") == "waiting for a place: 2 of 2 jobs run; 1 before it"
    site.end("one", operator)
    assert _reason(as_owner, "three") is None
    assert site.supervise() == {"two", "three"}
    assert _reason(as_owner, "four") == "waiting for a place: 2 of 2 jobs run"
    assert _reason(as_owner, "one") is None


def test_who_has_none_goes_before_who_has_waited_longer(
    site: Site, owner: User, teammate: User, operator: User, settings: Settings
) -> None:
    settings.MILLRACE_MAX_JOBS = 3.0
    for name in ("a1", "a2", "a3"):
        site.deploy(owner, name)
    assert site.supervise() == {"a1", "a2"}
    site.deploy(teammate, "b1")
    assert site.supervise() == {"a1", "a2", "b1"}
    site.deploy(teammate, "b2")
    site.end("a1", operator)
    site.end("a2", operator)
    # Ann has none by now, Bob one; then each has one, and the last place is nobody's second.
    assert site.supervise() == {"a3", "b1"}


def test_nobody_holds_the_last_place_but_who_has_none(
    site: Site, owner: User, outsider: User, as_owner: Client, settings: Settings
) -> None:
    settings.MILLRACE_MAX_JOBS = 4.0
    for number in range(5):
        site.deploy(owner, f"a{number}")
    assert site.supervise() == {"a0", "a1", "a2"}
    kept = "waiting for a place: 3 of 4 jobs run, and the last place is kept for an account without a job"
    assert _reason(as_owner, "a3") == kept
    assert _reason(as_owner, "a4") == f"{kept}; 1 before it"
    site.deploy(outsider, "z0")
    assert site.supervise() == {"a0", "a1", "a2", "z0"}


def test_the_only_place_is_everybodys(site: Site, owner: User, operator: User, settings: Settings) -> None:
    settings.MILLRACE_MAX_JOBS = 1.0
    for name in ("a1", "a2"):
        site.deploy(owner, name)
    assert site.supervise() == {"a1"}
    site.end("a1", operator)
    assert site.supervise() == {"a2"}


def test_one_that_cannot_be_launched_now_keeps_nobody_waiting(
    site: Site, owner: User, teammate: User, outsider: User, settings: Settings
) -> None:
    """Planned again, halted, backing off or without a plan: none of them stands in the queue."""
    settings.MILLRACE_MAX_JOBS = 1.0
    for number, account in enumerate((owner, teammate, outsider)):
        site.deploy(account, f"t{number}")
    first, second = Topology.objects.order_by("pk")[:2]
    Topology.objects.filter(pk=first.pk).update(halted=True)
    Topology.objects.filter(pk=second.pk).update(restart_at=site.now + timedelta(hours=1))
    assert [Topology.objects.get(pk=pk).name for pk in look(site.now).queue] == ["t2"]
    assert site.supervise() == {"t2"}
    Topology.objects.filter(pk=first.pk).update(halted=False, revision=5)
    assert look(site.now).queue == ()


def test_a_restart_finds_its_place_again(site: Site, operator: User) -> None:
    for name in ("one", "two", "three"):
        site.deploy(operator, name)
    assert site.supervise() == {"one", "two"}
    run = Run.objects.select_related("topology").get(topology__name="one")
    process.end(run)
    site.supervise()
    # Its place went to who waited, and it waits now.
    assert site.running == {"two", "three"}
    site.now += timedelta(minutes=5)
    assert len(look(site.now).queue) == 1
