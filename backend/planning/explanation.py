"""What a draft would cost, alone and beside the queries of a topology."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.catalog.language import texts_of
from backend.catalog.queries import readable_queries
from backend.planning import drafting
from backend.planning.drafting import Others, Planning, Registered
from backend.streams.queries import selectivities
from backend.topologies.models import Topology, TopologyQuery
from backend.topologies.queries import topologies
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query, registered_inputs
from optimizer.planner.batch_span import batch_span


def explain(
    account: User | AnonymousUser,
    caller: Caller,
    query: Query,
    sql: str,
    catalog: Catalog,
    topology: str | None,
) -> dict[str, object]:
    """How a query would be answered alone, and what it would add to a topology's plan.

    The document is the API's (docs/design/frontend-contract.md). Raises `Infeasible`.
    """
    compared = compared_with(account, query, topology)
    others = None if compared is None else compared[1]
    return pool.plan_join(
        caller, len(query.inputs), drafting.explain, query, sql, registered(catalog), others
    )


def planning_of(topology: Topology) -> Planning:
    """How a topology's plans are chosen."""
    span_s = batch_span(topology.job_settings.trigger_ms / 1000)
    return Planning(topology.planner_settings, topology.memory_limit_bytes, span_s)


def registered(catalog: Catalog) -> Registered:
    """What plans are made from, besides queries."""
    return Registered(catalog, selectivities(), int(settings.MILLRACE_PARALLELISM))


def compared_with(
    account: User | AnonymousUser, query: Query, name: str | None
) -> tuple[Topology, Others] | None:
    """The topology to compare with, and its other queries that the account reads.

    The one named, or else the one that shares most streams with the query. None if there is no topology or
    nothing else in it.
    """
    target = _comparable(account, query, name)
    if target is None:
        return None
    answered = target.answered.filter(query__in=readable_queries(account)).exclude(query__name=query.name)
    keys = tuple(answered.values_list("version_id", flat=True))
    return (target, Others(target.name, keys, texts_of(keys), planning_of(target))) if keys else None


def _comparable(account: User | AnonymousUser, query: Query, name: str | None) -> Topology | None:
    if name is not None:
        return topologies(account).filter(name=name).first()
    streams = {source.stream for source in registered_inputs(query)}
    sharing: dict[int, int] = {}
    rows = TopologyQuery.objects.filter(
        query__in=readable_queries(account), version__inputs__stream__name__in=streams
    )
    for topology_id, _ in rows.values_list("topology_id", "version__inputs__stream__name").distinct():
        sharing[topology_id] = sharing.get(topology_id, 0) + 1
    if not sharing:
        return None
    best = min(sharing, key=lambda pk: (-sharing[pk], pk))
    return Topology.objects.get(pk=best)
