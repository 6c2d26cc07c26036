"""Actions on topologies: each writes what is wanted and wakes the tasks on commit."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from backend.accounts.queries import refuse_non_operators, refuse_others
from backend.audit.actions import Subject, record
from backend.audit.changes import changed
from backend.bounded.caller import calling
from backend.budgets.queries import refuse_spent
from backend.catalog.models import Query, QueryVersion
from backend.deployments.noted import note
from backend.deployments.placement import topology_of
from backend.deployments.topology_quota import claim_topology
from backend.errors import Conflict
from backend.limits.query_limits import refuse_too_costly
from backend.runs import tasks
from backend.topologies.asked import note_asked
from backend.topologies.models import ENDED, Desired, Run, Topology, TopologyQuery
from backend.topologies.status import deployment_state


@dataclass(frozen=True, slots=True)
class Deployment:
    """A change of a topology's queries that was accepted and is being planned."""

    topology: str
    revision: int
    query: str
    version: int


def create_topology(name: str) -> Topology:
    """The topology of this name, made if it is not there."""
    return _found_or_made(name, None)[0]


def _found_or_made(name: str, account: User | None) -> tuple[Topology, bool]:
    return Topology.objects.get_or_create(
        name=name,
        defaults={
            "planner": {"method": settings.MILLRACE_METHOD},
            "job": {"trigger_ms": int(settings.MILLRACE_TRIGGER_MS)},
            "made_by": account,
        },
    )


def deploy_query(
    account: User, query: Query, topology: str | None = None, version: int | None = None
) -> Deployment:
    """Let a topology answer the query's version (the current one) and start it.

    Raises `Conflict` when another topology answers it already, when there is no such version, when it is
    estimated to cost more than one query may, or when its maker has as many topologies as may be.
    """
    refuse_others(account, query, "deploys it")
    wanted = query.current
    if version is not None:
        wanted = query.versions.filter(number=version).first()
    if wanted is None:
        raise Conflict("no-such-version", f"{query.name} has no version {version}")
    refuse_too_costly(calling(account), wanted)
    return place_version(account, query, wanted, topology)


def place_version(
    account: User, query: Query, wanted: QueryVersion, topology: str | None = None
) -> Deployment:
    """As `deploy_query`, of a version that was seen to be within its limits.

    Raises `Conflict` when another topology answers the query already, when its maker has too many topologies,
    or when its team has spent its budget.
    """
    refuse_others(account, query, "deploys it")
    refuse_spent(query)
    with transaction.atomic():
        target, is_new = _target(account, query, wanted, topology)
        found = TopologyQuery.objects.filter(query=query).select_related("topology", "version")
        present = found.first()
        if present is not None and present.topology_id != target.pk:
            raise Conflict(
                "deployed-elsewhere",
                f"{present.topology} answers {query.name} already; undeploy it there first",
            )
        if present is None:
            claim_topology(account, query, target, is_new)
        revision = _revise(target)
        try:
            TopologyQuery.objects.update_or_create(
                query=query,
                defaults={
                    "topology": target,
                    "version": wanted,
                    "revision": revision,
                    "excess_batches": 0,
                    "excess": "",
                    "suspended_at": None,
                },
            )
        except IntegrityError as error:
            raise Conflict(
                "deployed-elsewhere", f"{query.name} is being deployed by somebody else"
            ) from error
        note_asked(target, query)
        Topology.objects.filter(pk=target.pk).update(desired=Desired.RUNNING, restart_at=None, halted=False)
        before = None if present is None else present.version.number
        _note_query(target, account, "deploy", query, before, wanted.number)
    return Deployment(target.name, revision, query.name, wanted.number)


def undeploy_query(account: User, query: Query) -> Deployment:
    """Take the query out of its topology; a topology without queries stops."""
    refuse_others(account, query, "undeploys it")
    with transaction.atomic():
        present = TopologyQuery.objects.filter(query=query).select_related("topology", "version").first()
        if present is None:
            raise Conflict("not-deployed", f"no topology answers {query.name}")
        topology = present.topology
        present.delete()
        revision = _revise(topology)
        # Less to answer may need less memory.
        Topology.objects.filter(pk=topology.pk).update(halted=False)
        _note_query(topology, account, "undeploy", query, present.version.number, None)
        if not topology.answered.exists():
            _stop(topology, "now")
    return Deployment(topology.name, revision, query.name, present.version.number)


def replan(account: User, topology: Topology) -> None:
    """Plan the topology's queries again, with what is known now."""
    _operators_only(account, topology)
    with transaction.atomic():
        _refuse_empty(topology)
        _revise(topology)
        _note(topology, account, "optimize", _desired(topology))


def start_topology(account: User, topology: Topology) -> None:
    """Want the topology's job to run.

    Also tries a failed one again at once, and a failed planning.
    """
    _operators_only(account, topology)
    with transaction.atomic():
        _refuse_empty(topology)
        if deployment_state(topology) == "failed":
            _revise(topology)
        before = _desired(topology)
        _start(topology)
        _note(topology, account, "start", before)


def stop_topology(account: User, topology: Topology, mode: str) -> None:
    """Want the job to end after its running batch (`now`), or after all (`drain`)."""
    _operators_only(account, topology)
    with transaction.atomic():
        before = _desired(topology)
        _stop(topology, mode)
        _note(topology, account, "stop", before, mode)


def restart_topology(account: User, topology: Topology) -> None:
    """End the job after its running batch and launch it again, on the same checkpoint."""
    _operators_only(account, topology)
    with transaction.atomic():
        _refuse_empty(topology)
        _request_stop(topology, "now")
        before = _desired(topology)
        _start(topology)
        _note(topology, account, "restart", before)


def _operators_only(account: User, topology: Topology) -> None:
    refuse_non_operators(account, f"start, stop and plan {topology}")


def _refuse_empty(topology: Topology) -> None:
    if not topology.answered.exists():
        raise Conflict("no-queries", f"{topology} has no queries; deploy one first")


def _start(topology: Topology) -> None:
    Topology.objects.filter(pk=topology.pk).update(
        desired=Desired.RUNNING, restart_at=None, failures=0, halted=False
    )
    transaction.on_commit(lambda: tasks.reconcile.delay(topology.pk))


def _stop(topology: Topology, mode: str) -> None:
    Topology.objects.filter(pk=topology.pk).update(desired=Desired.STOPPED, restart_at=None)
    _request_stop(topology, mode)


def _request_stop(topology: Topology, mode: str) -> None:
    runs = Run.objects.filter(topology=topology).exclude(state__in=ENDED)
    runs.update(stop_requested_at=timezone.now(), stop_mode=mode)
    ids = list(runs.values_list("pk", flat=True))
    transaction.on_commit(lambda: [tasks.stop.delay(run_id) for run_id in ids])


def _revise(topology: Topology) -> int:
    Topology.objects.filter(pk=topology.pk).update(revision=F("revision") + 1, revised_at=timezone.now())
    revision = Topology.objects.values_list("revision", flat=True).get(pk=topology.pk)
    transaction.on_commit(lambda: tasks.optimize.delay(topology.pk))
    return revision


def _target(account: User, query: Query, version: QueryVersion, name: str | None) -> tuple[Topology, bool]:
    """The topology that the query belongs to, made if it is not there; whether it was."""
    return _found_or_made(topology_of(query, version, name), account)


def _desired(topology: Topology) -> str:
    return Topology.objects.values_list("desired", flat=True).get(pk=topology.pk)


def _note(topology: Topology, account: User, verb: str, before: str, detail: str = "") -> None:
    note(account, verb, topology, changed({"desired": before}, {"desired": _desired(topology)}), detail)


def _note_query(
    topology: Topology, account: User, verb: str, query: Query, before: int | None, after: int | None
) -> None:
    detail = f"{query.name} v{before if after is None else after}"
    changes = changed({"version": before}, {"version": after})
    subject = Subject.of("query", query)
    record(account, verb, subject, topology=topology.name, detail=detail, changes=changes)
