"""A topology of two queries, and what its job has measured of them."""

from __future__ import annotations

import redis
from django.contrib.auth.models import User

from backend.accounts.models import Team
from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.planning import revisions
from backend.topologies.models import Topology
from jobs.protocol import CoreUse, StoreMetrics
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import StoreRule, received_on
from tests.api.conftest import TWO_WAY
from tests.api.history.told import batch, epoch, say

TEAM = "=airside"


def two_queries(query: Query, owner: User) -> Topology:
    """The query, of no team, and `two`, of a team of the owner's."""
    deploy_query(owner, query, "flights")
    team = Team.objects.create(name=TEAM)
    team.members.add(owner)
    two = create_query(owner, "two", TWO_WAY)
    Query.objects.filter(pk=two.pk).update(team=team)
    deploy_query(owner, two, "flights")
    found = Topology.objects.get(name="flights")
    assert revisions.plan_newest(found.pk)
    found.refresh_from_db()
    return found


def tell(bus: redis.Redis, topology: Topology, processes: float | None = 2.0) -> PhysicalGraph:
    """A batch, and an epoch in which every part took 10 millicores."""
    assert topology.plan is not None
    graph = PhysicalGraph.from_json(topology.plan.graph)
    parts = [one.id for one in graph.stores] + [
        one.id for one in graph.rules if received_on(one) and not isinstance(one, StoreRule)
    ]
    plan_id = topology.plan.plan_id
    told = batch(0, 15).model_copy(
        update={
            "plan_id": plan_id,
            "stores": {one.id: StoreMetrics(tuples=10, bytes=1000, per_task=[10]) for one in graph.stores},
        }
    )
    whole = epoch(1, 0, 1.0).model_copy(
        update={
            "plan_id": plan_id,
            "cores": {part: CoreUse(estimated=None, measured=0.01) for part in parts},
            "process_cores": processes,
        }
    )
    say(bus, told, whole)
    return graph
