"""The columns of streams and stores that a plan reads and keeps."""

from __future__ import annotations

import hashlib

from jobs.plan.index import index_of
from optimizer.algebra.expression import columns_of
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import SourceRule, StoreRule


def stored_columns(graph: PhysicalGraph) -> dict[str, tuple[str, ...]]:
    """Per store, the columns that it keeps, as `input.column`."""
    return {
        store.id: tuple(f"{stored.input}.{name}" for stored in store.inputs for name in stored.columns)
        for store in graph.stores
    }


def store_filters(graph: PhysicalGraph) -> dict[str, str]:
    """The digest of each base store's filter, under which tuples are stored, or empty.

    An intermediate result's conditions are part of its id.
    """
    targets = {rule.edge: rule.store for rule in graph.rules if isinstance(rule, StoreRule)}
    base = {store.id for store in graph.stores if store.is_base}
    found: dict[str, list[str]] = {store.id: [] for store in graph.stores}
    for rule in graph.rules:
        if isinstance(rule, SourceRule):
            for edge in rule.out:
                if targets.get(edge) in base:
                    found[targets[edge]].append("" if rule.filter is None else repr(rule.filter))
    return {
        store: ""
        if not filters or "" in filters
        else hashlib.sha256("\n".join(sorted(filters)).encode()).hexdigest()[:12]
        for store, filters in found.items()
    }


def needed_columns(graph: PhysicalGraph, stream: str) -> frozenset[str]:
    """The columns of a stream that any rule of the graph reads."""
    return _needed_columns(id(graph), graph)[stream]


def _needed_columns(identity: int, graph: PhysicalGraph) -> dict[str, frozenset[str]]:
    known = _NEEDED.get(identity)
    if known is None or known[0] is not graph:
        index = index_of(graph)
        needed = {name: {declared.event_time} for name, declared in index.streams.items()}
        for rules in index.sources.values():
            for rule in rules:
                expressions = [rule.filter] if rule.filter is not None else []
                for emit in rule.emits:
                    expressions.extend((*emit.residuals, *(value for _, value in emit.outputs)))
                read_here = {column.name for e in expressions for column in columns_of(e)}
                sent = {c.name for edge in rule.out for c in index.edges[edge].columns}
                needed[rule.stream] |= read_here | sent
        _NEEDED.clear()
        known = _NEEDED[identity] = (graph, {name: frozenset(columns) for name, columns in needed.items()})
    return known[1]


_NEEDED: dict[int, tuple[PhysicalGraph, dict[str, frozenset[str]]]] = {}
