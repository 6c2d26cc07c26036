"""Judge, purely, from batches which queries exceed their limits.

What a query needs of a store is what it would need alone: of a store that keeps ten minutes, a query
with a window of one minute needs a tenth. So nobody pays for another's long window, and two that share
a store are each judged as if it were theirs.
"""

from __future__ import annotations

from collections.abc import Mapping

from backend.limits.query_limits import Limits
from jobs.protocol import BatchCompleted
from optimizer.logical.window import union
from optimizer.physical.graph import GraphQuery, GraphStore, PhysicalGraph
from optimizer.physical.usage import users_of

Shares = Mapping[str, Mapping[str, float]]
"""By query and store, the part of the store's tuples that the query needs: above 0, at most 1."""


def shares(graph: PhysicalGraph) -> Shares:
    """What every query of a plan needs of every store that it uses."""
    users = users_of(graph).stores
    return {
        query.name: {
            store.id: _share(query, store) for store in graph.stores if query.name in users[store.id]
        }
        for query in graph.queries
    }


def _share(query: GraphQuery, store: GraphStore) -> float:
    """A query's share of a combination's window.

    A combination is kept until its first tuple leaves its window: the shortest of them decides.
    """
    parts = [1.0]
    for stored, retention in zip(store.inputs, store.retention, strict=True):
        windows = [one.window for one in query.inputs if one.stream == stored.stream]
        needed = union(windows).reach_us if windows else None
        if retention.reach_us and needed is not None:
            parts.append(needed / retention.reach_us)
    return min(parts)


def excess_of(
    batch: BatchCompleted, needed: Shares, limits: Mapping[str, Limits], least_seconds: float
) -> dict[str, str]:
    """What queries have too much of in one batch, in one line each.

    Args:
        batch: what the job said of it.
        needed: of its plan.
        limits: by query; queries that have none are not judged.
        least_seconds: the trigger interval, so that a short batch does not look like a high rate.
    """
    found = {}
    seconds = max(batch.seconds, least_seconds)
    for name, limit in sorted(limits.items()):
        metrics = batch.queries.get(name)
        if metrics is None:
            continue
        rate = metrics.results / seconds
        needs = sum(
            batch.stores[store].bytes * share
            for store, share in needed.get(name, {}).items()
            if store in batch.stores
        )
        if rate > limit.result_rate:
            found[name] = f"{rate:,.0f} results per second; at most {limit.result_rate:,.0f} are allowed"
        elif needs > limit.state_bytes:
            found[name] = f"{needs:,.0f} bytes of state; at most {limit.state_bytes:,.0f} are allowed"
    return found
