"""Reading topologies, plans and runs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Prefetch, Q, QuerySet

from backend.accounts.queries import is_operator
from backend.accounts.reading import reads_everything
from backend.catalog.models import Query
from backend.catalog.queries import hidden_queries
from backend.topologies.asked import not_readable
from backend.topologies.models import Plan, QueryPin, Run, Topology, TopologyQuery
from backend.topologies.sight import Sight, sights_of
from optimizer.physical.graph import PhysicalGraph


def topologies(account: User | AnonymousUser) -> QuerySet[Topology]:
    """The topologies that the account reads.

    With what their API documents need, in a fixed number of queries.

    Those that answer a query that it reads, and for operators, who run them, all. What it may know of the
    other queries there says `backend.topologies.sight`.
    """
    deployed = TopologyQuery.objects.select_related(
        "query__pin", "query__applied__by", "version", "light__newest__topology"
    ).prefetch_related("version__inputs__stream", "query__tags")
    found = Topology.objects.select_related(
        "plan", "active_plan", "current_run__plan", "current_run__topology"
    ).prefetch_related(Prefetch("deployed", deployed))
    if reads_everything(account) or is_operator(account):
        return found
    hidden = hidden_queries(account)
    seen = TopologyQuery.objects.exclude(query__in=hidden).values("topology")
    # One that answers nothing is as what it answered.
    secret = not_readable(account, hidden).values("topology")
    empty = ~Q(pk__in=TopologyQuery.objects.values("topology"))
    return found.filter(Q(pk__in=seen) | (empty & ~Q(pk__in=secret)))


def readers_of(account: User | AnonymousUser, stream: str) -> list[Topology]:
    """The topologies that the account reads and that read the stream."""
    found = list(topologies(account).filter(deployed__version__inputs__stream__name=stream).distinct())
    sights = sights_of(account, found)
    return [topology for topology in found if sights[topology.pk].reads_stream(stream)]


def find_plan(topology: Topology, plan_id: str) -> Plan | None:
    """The plan of this id, or, without one, the plan that runs, or else the newest."""
    plans = Plan.objects.filter(topology=topology)
    if plan_id:
        return plans.filter(plan_id=plan_id).first()
    return topology.active_plan or topology.plan or plans.first()


SAVINGS = 50
"""As many as a page shows switches."""


def savings(topology: Topology) -> QuerySet[Plan]:
    """The newest plans that took over by what was learnt."""
    return Plan.objects.filter(topology=topology, predicted_saving__isnull=False)[:SAVINGS]


def seen_document(graph: Mapping[str, object], sight: Sight) -> dict[str, object]:
    """A plan's graph, as a document, as far as it is seen."""
    if sight.queries is None:
        return dict(graph)
    found: dict[str, object] = json.loads(sight.graph(PhysicalGraph.from_json(json.dumps(graph))).to_json())
    return found


def plan_document(plan: Plan, sight: Sight) -> dict[str, object]:
    """The plan as the API shows it, as far as it is seen.

    docs/design/frontend-contract.md has its form.
    """
    total = plan.probe + plan.storage + plan.latency
    gap = None
    if plan.bound is not None:
        gap = max(0.0, (total - plan.bound) / total) if total > 0 else 0.0
    return {
        "plan_id": plan.plan_id,
        "graph": seen_document(json.loads(plan.graph), sight),
        "cost": {"probe": plan.probe, "storage": plan.storage, "latency": plan.latency, "total": total},
        "individual_cost": plan.individual_cost,
        "method": plan.method,
        "status": plan.status,
        "bound": plan.bound,
        "gap": gap,
        "seconds": {"build": plan.build_seconds, "solve": plan.solve_seconds},
        "text": sight.text(plan.text),
        "created_at": plan.created_at,
    }


def runs(account: User | AnonymousUser) -> QuerySet[Run]:
    """The runs of the topologies that the account reads, newest first."""
    readable = topologies(account).order_by().values("pk")
    return Run.objects.filter(topology__in=readable).select_related("topology", "plan")


def newest_runs(account: User | AnonymousUser, topology: str, limit: int) -> list[Run]:
    """Newest first; of all topologies if none is named."""
    found = runs(account)
    if topology:
        found = found.filter(topology__name=topology)
    return list(found[:limit])


def pinned_topology(query: Query) -> str | None:
    """The same of a query whose pin was loaded with it."""
    pin: QueryPin | None = getattr(query, "pin", None)
    return None if pin is None else pin.topology
