"""Choose a query's topology when the request names none."""

from __future__ import annotations

from django.conf import settings

from backend.catalog.models import Query, QueryVersion
from backend.errors import Conflict
from backend.topologies.models import QueryPin, TopologyQuery
from optimizer.planner.topology_assignment import assign


def topology_of(query: Query, version: QueryVersion, wanted: str | None) -> str:
    """The name of the topology that shall answer the query.

    That is where an operator pinned it, else the one `wanted`, else where it runs, else where the
    optimizer puts it. Raises `Conflict` when somebody wants another one than the pinned.
    """
    pin = pinned_to(query)
    if pin is not None:
        if wanted not in (None, pin):
            raise Conflict("pinned", f"an operator pinned {query.name} to {pin}; deploy it there")
        return pin
    if wanted is not None:
        return wanted
    streams: dict[str, set[str]] = {query.name: set()}
    running: dict[str, str] = {}
    rows = TopologyQuery.objects.values_list("query__name", "topology__name", "version__inputs__stream__name")
    for name, topology, stream in rows:
        running[name] = topology
        streams.setdefault(name, set()).add(stream)
    streams[query.name] = set(version.inputs.values_list("stream__name", flat=True))
    placed = assign(
        {name: frozenset(read) for name, read in streams.items()},
        running,
        {},
        int(settings.MILLRACE_MOST_QUERIES),
    )
    return placed[query.name]


def pinned_to(query: Query) -> str | None:
    """The topology to which an operator pinned the query."""
    return QueryPin.objects.filter(query=query).values_list("topology", flat=True).first()
