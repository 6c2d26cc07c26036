"""Reading topologies, plans and runs."""

from __future__ import annotations

import json

from django.db.models import Prefetch, QuerySet

from backend.catalog.models import Query
from backend.topologies.models import Plan, QueryPin, Run, Topology, TopologyQuery


def topologies() -> QuerySet[Topology]:
    """Every topology with its API document's needs, in a fixed number of queries."""
    deployed = TopologyQuery.objects.select_related(
        "query__pin", "query__applied__by", "version", "light__newest__topology"
    ).prefetch_related("version__inputs__stream", "query__tags")
    return Topology.objects.select_related(
        "plan", "active_plan", "current_run__plan", "current_run__topology"
    ).prefetch_related(Prefetch("deployed", deployed))


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


def plan_document(plan: Plan) -> dict[str, object]:
    """The plan as the API shows it (docs/design/frontend-contract.md)."""
    total = plan.probe + plan.storage + plan.latency
    gap = None
    if plan.bound is not None:
        gap = max(0.0, (total - plan.bound) / total) if total > 0 else 0.0
    return {
        "plan_id": plan.plan_id,
        "graph": json.loads(plan.graph),
        "cost": {"probe": plan.probe, "storage": plan.storage, "latency": plan.latency, "total": total},
        "individual_cost": plan.individual_cost,
        "method": plan.method,
        "status": plan.status,
        "bound": plan.bound,
        "gap": gap,
        "seconds": {"build": plan.build_seconds, "solve": plan.solve_seconds},
        "text": plan.text,
        "created_at": plan.created_at,
    }


def runs(topology: str, limit: int) -> list[Run]:
    """Newest first; of all topologies if none is named."""
    found = Run.objects.select_related("topology", "plan")
    if topology:
        found = found.filter(topology__name=topology)
    return list(found[:limit])


def pinned_topology(query: Query) -> str | None:
    """The same of a query whose pin was loaded with it."""
    pin: QueryPin | None = getattr(query, "pin", None)
    return None if pin is None else pin.topology
