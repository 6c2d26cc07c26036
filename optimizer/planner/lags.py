"""What stores keep longer because of derived streams.

Results of a time come up to their stream's lag behind it. What they are joined with is kept for so long.
"""

from __future__ import annotations

from dataclasses import replace

from optimizer.physical.graph import GraphStore, PhysicalGraph
from optimizer.physical.usage import users_of


def with_lags(graph: PhysicalGraph) -> PhysicalGraph:
    """The graph with stores that keep tuples until late results have come.

    Let a stream of a query lag by L. A tuple of it that comes under the watermark w is not older than w - L,
    so what may be older by W than its partners is needed until w has passed it by W + L.
    """
    lags = {stream.name: stream.derived.lag_us for stream in graph.streams if stream.derived is not None}
    if not any(lags.values()):
        return graph
    of_query = {query.name: max(lags.get(item.stream, 0) for item in query.inputs) for query in graph.queries}
    waiting = {hold.store for hold in graph.holds}
    waiting |= {stream.derived.store for stream in graph.streams if stream.derived is not None}
    users = users_of(graph).stores

    def kept(store: GraphStore) -> GraphStore:
        lag_us = max((of_query[name] for name in users[store.id]), default=0)
        if store.id in waiting or not lag_us:
            return store
        return replace(store, retention=tuple(window.longer(lag_us) for window in store.retention))

    return replace(graph, stores=tuple(kept(store) for store in graph.stores))
