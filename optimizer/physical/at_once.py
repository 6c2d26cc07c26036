"""The part of a graph that works on tuples as they arrive, without what waits."""

from __future__ import annotations

from dataclasses import replace

from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import AggregateRule, DueRule, ProbeRule, Rule, SettleRule, StoreRule


def at_once(graph: PhysicalGraph) -> PhysicalGraph:
    """The graph without its holds, whose leaves are then those of their queries.

    What is measured, estimated and checked of probe trees is of these: trees of what falls due begin at no
    stream, so no rate says what they do.

    >>> graph = PhysicalGraph(streams=(), stores=(), edges=(), rules=(), queries=())
    >>> at_once(graph) is graph
    True
    """
    if not graph.waits:
        return graph
    held = {hold.store for hold in graph.holds}
    held |= {stream.derived.store for stream in graph.streams if stream.derived is not None}
    origins = {edge.id: edge.origin for edge in graph.edges}
    rules = {rule.id: rule for rule in graph.rules}
    names = {hold.name: hold.query for hold in graph.holds}

    def waits(rule: Rule) -> bool:
        if isinstance(rule, StoreRule):
            return rule.store in held
        while isinstance(rule, ProbeRule):
            rule = rules[origins[rule.edge]]
        return isinstance(rule, DueRule | SettleRule | AggregateRule)

    def answering(rule: Rule) -> Rule:
        if isinstance(rule, StoreRule) or not rule.emits:
            return rule
        return replace(rule, emits=tuple(replace(e, query=names.get(e.query, e.query)) for e in rule.emits))

    left = [answering(rule) for rule in graph.rules if not waits(rule)]
    kept = {rule.id for rule in left}
    return replace(
        graph,
        stores=tuple(store for store in graph.stores if store.id not in held),
        edges=tuple(edge for edge in graph.edges if edge.target not in held and edge.origin in kept),
        rules=tuple(left),
        holds=(),
    )
