"""Blast radius: what a stop, an undeployment or an edit would reach.

An edit of a query reaches nobody: its readers keep the version that they read (`QueryVersion.reads`).
They are listed all the same, with that version, because they answer what the old text means.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User

from backend.accounts.queries import is_service
from backend.catalog.models import Query, QueryVersion
from backend.live.queries import live_state
from backend.topologies.models import Topology
from backend.topologies.queries import readers_of
from backend.topologies.query_search import deployment_of, queries
from backend.topologies.sight import OTHERS, Sight, sight_of
from backend.topologies.status import QueryStatus, query_status
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.usage import users_of


@dataclass(frozen=True, slots=True)
class ReachedQuery:
    id: int
    name: str
    owner: str
    owner_is_service: bool
    status: QueryStatus
    pinned_version: int | None
    """The version of the changed query that this one goes on reading; None if it is reached directly."""


@dataclass(frozen=True, slots=True)
class ReachedStore:
    topology: str
    id: str
    label: str
    used_by: tuple[str, ...]
    """The queries that its tuples serve, sorted."""
    released: bool
    """True if nothing else needs it, so that its tuples go."""
    tuples: int | None
    """None before the first batch of the present run."""
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Impact:
    queries: tuple[ReachedQuery, ...]
    topologies: tuple[str, ...]
    stores: tuple[ReachedStore, ...]


def of_query(account: User | AnonymousUser, record: Query) -> Impact:
    """What undeploying, changing or deleting a query reaches."""
    readers = QueryVersion.objects.filter(reads__query=record).exclude(query=record)
    pinned: dict[int, int] = {}
    for pk, number in readers.order_by("number").values_list("query_id", "reads__number"):
        pinned[pk] = number
    reached = [_reached(one, pinned[one.pk]) for one in queries(account).filter(pk__in=pinned)]
    deployment = deployment_of(record)
    if deployment is None:
        return Impact(tuple(reached), (), ())
    stores = [
        store
        for store in _stores(account, deployment.topology, leaving={record.name})
        if record.name in store.used_by
    ]
    return Impact(tuple(reached), (deployment.topology.name,), tuple(stores))


def of_topology(account: User | AnonymousUser, topology: Topology) -> Impact:
    """What stopping a topology reaches; no store goes, as its checkpoint keeps them."""
    reached = [_reached(one, None) for one in queries(account).filter(deployment__topology=topology)]
    return Impact(tuple(reached), (topology.name,), tuple(_stores(account, topology, leaving=set())))


def of_stream(account: User | AnonymousUser, name: str) -> Impact:
    """What a change of a stream, or its silence, reaches."""
    found = list(queries(account).filter(current__inputs__stream__name=name).distinct())
    read = readers_of(account, name)
    stores = [store for topology in read for store in _stores(account, topology, leaving=set(), stream=name)]
    names = tuple(topology.name for topology in read)
    return Impact(tuple(_reached(one, None) for one in found), names, tuple(stores))


def _reached(record: Query, pinned: int | None) -> ReachedQuery:
    owner, status = record.owner, query_status(deployment_of(record))
    return ReachedQuery(record.pk, record.name, owner.get_username(), is_service(owner), status, pinned)


def _stores(
    account: User | AnonymousUser, topology: Topology, leaving: set[str], stream: str | None = None
) -> list[ReachedStore]:
    """The stores of the plan that runs, or of the one that should.

    As far as they are seen.
    """
    sight = sight_of(account, topology)
    plan = topology.active_plan or topology.plan
    if plan is None:
        return []
    graph = PhysicalGraph.from_json(plan.graph)
    users = users_of(graph).stores
    seen = {store.id for store in sight.graph(graph).stores}
    batch = live_state(topology).batch
    found = []
    for store in graph.stores:
        if store.id not in seen:
            continue
        if stream is not None and stream not in {source.stream for source in store.inputs}:
            continue
        metrics = None if batch is None else batch.stores.get(store.id)
        used_by = users[store.id]
        found.append(
            ReachedStore(
                topology=topology.name,
                id=store.id,
                label=store.label,
                used_by=_named(used_by, sight),
                released=bool(leaving) and used_by <= leaving,
                tuples=None if metrics is None else metrics.tuples,
                bytes=None if metrics is None else metrics.bytes,
            )
        )
    return found


def _named(queries: Iterable[str], sight: Sight) -> tuple[str, ...]:
    """The queries that are seen, sorted, and a word for others if there are any."""
    found = sorted(queries)
    others = (OTHERS,) if any(not sight.reads(name) for name in found) else ()
    return (*(name for name in found if sight.reads(name)), *others)
