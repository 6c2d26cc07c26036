"""Suspend queries that cost too much or fail, so that the others go on.

Events are judged where they are stored (`note_*`, once each); the supervisor carries it out. A suspended
query keeps its place in the topology with the reason, and comes back by being deployed again.
"""

from __future__ import annotations

import logging
from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.db import transaction
from django.db.models import F

from backend.audit.actions import Subject, record
from backend.limits.query_limits import estimates, fastest_step, limits_of
from backend.limits.quota_usage import Shares, excess_of, shares
from backend.topologies.models import Desired, Plan, Topology, TopologyQuery
from jobs.protocol import BatchCompleted, BatchGivenUp
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.usage import users_of

log = logging.getLogger(__name__)


def note_batch(topology: Topology, event: BatchCompleted) -> None:
    """Count the batches in a row in which queries are above their limits."""
    judged = topology.answered.filter(query__allowance=None).select_related("query__team")
    rows = {row.query.name: row for row in judged}
    limits = {name: limits_of(row.query) for name, row in rows.items()}
    needed: Shares = {}
    if sum(store.bytes for store in event.stores.values()) > min(
        (limit.state_bytes for limit in limits.values()), default=0.0
    ):
        needed = _shares(topology, event.plan_id)
    found = excess_of(event, needed, limits, topology.job_settings.trigger_ms / 1000)
    within = [row.pk for name, row in rows.items() if name not in found and row.excess_batches]
    if within:
        TopologyQuery.objects.filter(pk__in=within).update(excess_batches=0)
    for name, reason in found.items():
        row = TopologyQuery.objects.filter(pk=rows[name].pk)
        row.update(excess_batches=F("excess_batches") + 1)
        row.filter(excess_batches__gte=settings.MILLRACE_EXCESS_BATCHES).update(excess=reason)


def note_given_up(topology: Topology, event: BatchGivenUp) -> None:
    """Remember that a batch waits for a plan with less in it."""
    Topology.objects.filter(pk=topology.pk).update(given_up=event.model_dump_json())


def suspend_excessive(topology_id: int, now: datetime) -> bool:
    """Suspend a topology's queries with too much; true if its plan must be made anew.

    Several workers may do so at once: a query is suspended once.
    """
    topology = Topology.objects.filter(pk=topology_id).first()
    if topology is None:
        return False
    if topology.given_up:
        _blame(topology, BatchGivenUp.model_validate_json(topology.given_up))
    revised = False
    for row in topology.answered.exclude(excess="").select_related("query__team", "version"):
        with transaction.atomic():
            claimed = TopologyQuery.objects.filter(pk=row.pk, suspended_at=None, excess=row.excess)
            if not claimed.update(suspended_at=now):
                continue
            revised = True
            record(
                None,
                "suspend",
                Subject.of("query", row.query),
                topology=topology.name,
                detail=f"{row.query.name} v{row.version.number}: {row.excess}",
            )
            Topology.objects.filter(pk=topology_id).update(revision=F("revision") + 1, revised_at=now)
            if not topology.answered.exists():
                Topology.objects.filter(pk=topology_id).update(desired=Desired.STOPPED, restart_at=None)
        ids = {"topology": topology.name, "query": row.query.name}
        log.warning("topology %s: suspended %s: %s", topology, row.query, row.excess, extra=ids)
    return revised


def _blame(topology: Topology, event: BatchGivenUp) -> None:
    """Mark the queries to suspend for steps that made too much, or failures.

    It marks a query of every step that made too much; where several share a step, the costliest one. Of
    queries that fail on the same work, it marks the one deployed last: the others were answered without it.

    A plan whose queries are not those of today says nothing about them: another one is on its way.
    """
    answered = {row.query.name: row for row in topology.answered.select_related("query", "version__query")}
    plan = Plan.objects.filter(topology=topology, plan_id=event.plan_id).first()
    if plan is not None and _still_answered(plan, answered):
        behind = users_of(PhysicalGraph.from_json(plan.graph, f"plan {plan.plan_id}")).probes
        blamed: set[str] = set()
        for step in sorted(event.steps):
            users = sorted(behind.get(step, frozenset()))
            if not users or blamed & set(users):
                continue
            name = users[0] if len(users) == 1 else _costliest(topology, [answered[user] for user in users])
            blamed.add(name)
            TopologyQuery.objects.filter(pk=answered[name].pk).update(
                excess=f"a step made {event.steps[step]:,} combinations in one batch; "
                f"at most {event.most:,} are allowed"
            )
        failing = [answered[name] for name in event.failed if name in answered]
        if failing:
            row = max(failing, key=lambda row: (row.revision, row.query.name))
            TopologyQuery.objects.filter(pk=row.pk).update(excess=f"it fails: {event.failed[row.query.name]}")
    Topology.objects.filter(pk=topology.pk, given_up=topology.given_up).update(given_up="")


def _still_answered(plan: Plan, answered: dict[str, TopologyQuery]) -> bool:
    return set(plan.versions.values_list("pk", flat=True)) <= {row.version_id for row in answered.values()}


def _costliest(topology: Topology, rows: list[TopologyQuery]) -> str:
    """The query with the step expected to make most, of equal ones the last deployed."""
    expected = estimates([row.version for row in rows], topology.learnt)
    costs = (
        (fastest_step(one), row.revision, row.query.name) for one, row in zip(expected, rows, strict=True)
    )
    return max(costs)[2]


def _shares(topology: Topology, plan_id: str) -> Shares:
    plan = Plan.objects.filter(topology=topology, plan_id=plan_id).only("pk", "created_at").first()
    return {} if plan is None else _shares_of(plan.pk, plan.created_at)


@lru_cache(maxsize=64)
def _shares_of(plan: int, created_at: datetime) -> Shares:
    """What the queries of a plan need of its stores, kept in memory.

    A plan never changes once written; its time tells it from another one, because a database that is restored
    may give its number again.
    """
    record = Plan.objects.get(pk=plan, created_at=created_at)
    return shares(PhysicalGraph.from_json(record.graph, f"plan {record.plan_id}"))
