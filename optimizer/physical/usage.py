"""Which queries need which part of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import (
    AggregateRule,
    DueRule,
    ProbeRule,
    SettleRule,
    SourceRule,
    StoreRule,
    received_on,
)


@dataclass(frozen=True, slots=True)
class Users:
    """The names of queries, by the parts that they need."""

    stores: dict[str, frozenset[str]]
    """By store, the queries whose results pass through a probe of it. A store of an intermediate result
    passes its users on to the stores that it is built from."""
    probes: dict[str, frozenset[str]]
    """By probe rule, the queries that are answered there or behind it, also by way of such a store."""
    sources: dict[str, frozenset[str]]
    """The same by source rule, and by due and settle rule."""
    streams: dict[str, frozenset[str]]
    """By stream, the queries that its tuples are read for: they probe, or are kept to be probed."""

    def of_rule(self, rule: str) -> frozenset[str]:
        """Of a source or probe rule."""
        return self.probes[rule] if rule in self.probes else self.sources[rule]

    def of(self, part: str) -> frozenset[str]:
        """Of a store, or of a rule that receives tuples."""
        return self.stores[part] if part in self.stores else self.of_rule(part)


def users_of(graph: PhysicalGraph) -> Users:
    """The names of the queries that need each store, probe and source of a plan."""
    receivers: dict[str, list[ProbeRule | StoreRule | SettleRule | AggregateRule]] = {}
    probes: dict[str, list[ProbeRule]] = {}
    for rule in graph.rules:
        if isinstance(rule, SourceRule | DueRule):
            continue
        for edge in received_on(rule):
            receivers.setdefault(edge, []).append(rule)
        if isinstance(rule, ProbeRule):
            probes.setdefault(rule.store, []).append(rule)
    held = {hold.name: hold.query for hold in graph.holds}
    kept_for = {hold.store: hold.query for hold in graph.holds}
    known: dict[str, frozenset[str]] = {}
    served: dict[str, frozenset[str]] = {}

    def users(store: str) -> frozenset[str]:
        if store not in known:
            waiting = {kept_for[store]} if store in kept_for else ()
            known[store] = frozenset(waiting).union(*(behind(rule) for rule in probes.get(store, ())))
        return known[store]

    def behind(rule: SourceRule | ProbeRule | DueRule | SettleRule | AggregateRule) -> frozenset[str]:
        if rule.id not in served:
            found = {held.get(emit.query, emit.query) for emit in rule.emits}
            for edge in rule.out:
                for receiver in receivers.get(edge, ()):
                    found |= users(receiver.store) if isinstance(receiver, StoreRule) else behind(receiver)
            served[rule.id] = frozenset(found)
        return served[rule.id]

    stores = {store.id: users(store.id) for store in graph.stores}
    sources = {
        rule.id: behind(rule)
        for rule in graph.rules
        if isinstance(rule, SourceRule | DueRule | SettleRule | AggregateRule)
    }
    return Users(
        stores=stores,
        probes={rule.id: behind(rule) for rules in probes.values() for rule in rules},
        sources=sources,
        streams=_readers(graph, stores, sources),
    )


def _readers(
    graph: PhysicalGraph, stores: Mapping[str, frozenset[str]], sources: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """By stream, whose tuples it is read for."""
    found = {stream.name: frozenset[str]() for stream in graph.streams}
    for rule in graph.rules:
        if isinstance(rule, SourceRule):
            found[rule.stream] |= sources[rule.id]
    for store in graph.stores:
        if store.is_base:
            # Groups are kept in stores, too, and read from nowhere.
            for held in (one.stream for one in store.inputs if one.stream in found):
                found[held] |= stores[store.id]
    return found
