"""Graphs of separate plans as one topology in which nothing is shared."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.graph import PhysicalGraph


def together(graphs: Sequence[PhysicalGraph], method: str) -> PhysicalGraph:
    """All graphs side by side. Their identities must differ: see `to_graph`'s salt.

    Raises:
        ValueError: two graphs have a store or rule of the same identity.
    """
    identities = [element.id for graph in graphs for element in (*graph.stores, *graph.rules)]
    if len(set(identities)) != len(identities):
        raise ValueError("graphs side by side must not share stores or rules")
    streams = {stream.name: stream for graph in graphs for stream in graph.streams}
    return PhysicalGraph(
        streams=tuple(streams[name] for name in sorted(streams)),
        stores=tuple(store for graph in graphs for store in graph.stores),
        edges=tuple(sorted((e for graph in graphs for e in graph.edges), key=lambda e: (e.level, e.id))),
        rules=tuple(rule for graph in graphs for rule in graph.rules),
        queries=tuple(query for graph in graphs for query in graph.queries),
        estimates=tuple(estimate for graph in graphs for estimate in graph.estimates),
        method=method,
    )
