"""The part of a plan that some of its queries need.

Nothing of what others ask is in it.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import (
    AggregateRule,
    DueRule,
    Emit,
    ProbeRule,
    Rule,
    SettleRule,
    SourceRule,
    StoreRule,
)
from optimizer.physical.usage import users_of


def restricted_to(graph: PhysicalGraph, names: Set[str]) -> PhysicalGraph:
    """The graph as a reader of these queries may see it.

    Such a reader knows none of the others.

    Stores, edges and rules that none of them needs are left out. Of what others need too the conditions that
    the plan may have widened or narrowed for these are left out, a source's filter and a probe's predicates:
    queries check their own at their leaves. Equalities stay, each of which all users of a step ask for.

    Args:
        graph: a whole plan, which the runtime can have; its restriction is for people alone.
        names: queries that are answered; those of them that the graph lacks count for nothing.

    >>> graph = PhysicalGraph(streams=(), stores=(), edges=(), rules=(), queries=())
    >>> restricted_to(graph, {"windy"}) == graph
    True
    """
    known = _with_results(graph, names)
    if known >= {query.name for query in graph.queries}:
        return graph
    users = users_of(graph)
    seen = {
        rule.id for rule in graph.rules if not isinstance(rule, StoreRule) and users.of_rule(rule.id) & known
    }
    derived = {one.derived.store for one in graph.derived if one.derived is not None and one.name in known}
    stores = {store.id for store in graph.stores if users.stores[store.id] & known} | derived
    kept_edges = {edge.id: edge for edge in graph.edges if edge.origin in seen and edge.target in stores}
    rules: list[Rule] = []
    for rule in graph.rules:
        if isinstance(rule, StoreRule):
            if rule.edge in kept_edges:
                rules.append(rule)
        elif rule.id in seen:
            rules.append(_told(rule, known, kept_edges.keys(), users.of_rule(rule.id) <= known, graph))
    ids = {*stores, *kept_edges, *(rule.id for rule in rules)}
    read = {item.stream for store in graph.stores if store.id in stores for item in store.inputs}
    read |= {rule.stream for rule in rules if isinstance(rule, SourceRule)}
    return replace(
        graph,
        streams=tuple(one for one in graph.streams if one.name in read or one.name in known),
        stores=tuple(store for store in graph.stores if store.id in stores),
        edges=tuple(kept_edges.values()),
        rules=tuple(rules),
        queries=tuple(query for query in graph.queries if query.name in known),
        estimates=tuple(one for one in graph.estimates if one.id in ids),
        holds=tuple(hold for hold in graph.holds if hold.query in known),
    )


def _with_results(graph: PhysicalGraph, names: Set[str]) -> frozenset[str]:
    """The queries, and those whose results they read."""
    inner = {stream.name for stream in graph.derived}
    read = {query.name: {item.stream for item in query.inputs} & inner for query in graph.queries}
    known: set[str] = set()
    pending = [name for name in names if name in read]
    while pending:
        name = pending.pop()
        if name not in known:
            known.add(name)
            pending += read.get(name, ())
    return frozenset(known)


def _told(
    rule: SourceRule | ProbeRule | DueRule | SettleRule | AggregateRule,
    known: Set[str],
    edges: Set[str],
    is_own: bool,
    graph: PhysicalGraph,
) -> Rule:
    held = {hold.name: hold.query for hold in graph.holds}
    emits: tuple[Emit, ...] = tuple(one for one in rule.emits if held.get(one.query, one.query) in known)
    out = tuple(edge for edge in rule.out if edge in edges)
    if isinstance(rule, SourceRule):
        return replace(rule, emits=emits, out=out, filter=rule.filter if is_own else None)
    if isinstance(rule, ProbeRule):
        return replace(rule, emits=emits, out=out, predicates=rule.predicates if is_own else ())
    return replace(rule, emits=emits, out=out)
