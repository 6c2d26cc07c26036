"""Which queries need which part of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.physical.graph import PhysicalGraph, ProbeRule, SourceRule, StoreRule


@dataclass(frozen=True, slots=True)
class Users:
    """The names of queries, by the parts that they need."""

    stores: dict[str, frozenset[str]]
    """By store, the queries whose results pass through a probe of it. A store of an intermediate result
    passes its users on to the stores that it is built from."""
    probes: dict[str, frozenset[str]]
    """By probe rule, the queries that are answered there or behind it, also by way of such a store."""
    sources: dict[str, frozenset[str]]
    """The same by source rule."""

    def of_rule(self, rule: str) -> frozenset[str]:
        """Of a source or probe rule."""
        return self.probes[rule] if rule in self.probes else self.sources[rule]


def users_of(graph: PhysicalGraph) -> Users:
    """The names of the queries that need each store, probe and source of a plan."""
    receivers: dict[str, list[ProbeRule | StoreRule]] = {}
    probes: dict[str, list[ProbeRule]] = {}
    for rule in graph.rules:
        if isinstance(rule, SourceRule):
            continue
        receivers.setdefault(rule.edge, []).append(rule)
        if isinstance(rule, ProbeRule):
            probes.setdefault(rule.store, []).append(rule)
    known: dict[str, frozenset[str]] = {}
    served: dict[str, frozenset[str]] = {}

    def users(store: str) -> frozenset[str]:
        if store not in known:
            known[store] = frozenset().union(*(behind(rule) for rule in probes.get(store, ())))
        return known[store]

    def behind(rule: SourceRule | ProbeRule) -> frozenset[str]:
        if rule.id not in served:
            found = {emit.query for emit in rule.emits}
            for edge in rule.out:
                for receiver in receivers.get(edge, ()):
                    found |= behind(receiver) if isinstance(receiver, ProbeRule) else users(receiver.store)
            served[rule.id] = frozenset(found)
        return served[rule.id]

    return Users(
        stores={store.id: users(store.id) for store in graph.stores},
        probes={rule.id: behind(rule) for rules in probes.values() for rule in rules},
        sources={rule.id: behind(rule) for rule in graph.rules if isinstance(rule, SourceRule)},
    )
