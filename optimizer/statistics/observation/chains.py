"""What a probe step joins, from its start on: the same identity in every plan."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from optimizer.algebra.digest import digest
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import DueRule, ProbeRule, SourceRule
from optimizer.statistics.interval import Interval
from optimizer.statistics.provider import StatisticsProvider


@runtime_checkable
class StepProvider(Protocol):
    """What a `StatisticsProvider` may know besides."""

    def step(self, chain: str) -> Interval | None:
        """The tuples that a step makes of one that arrives; None if unknown."""
        ...


def partners(statistics: StatisticsProvider, chain: str) -> Interval | None:
    """What is known of a step itself: None where nothing is."""
    return statistics.step(chain) if isinstance(statistics, StepProvider) else None


def chains(graph: PhysicalGraph) -> dict[str, str]:
    """The identity of what each source, due and probe rule makes, by rule.

    It has the start with its filter (or what waited), then step by step the stream (or the materialized
    result), its window and what is checked; partitionings and numbers of tasks have no part in it.
    """
    holds = {hold.name: hold.store for hold in graph.holds}
    origins = {edge.id: edge.origin for edge in graph.edges}
    stores = {store.id: store for store in graph.stores}
    rules = {rule.id: rule for rule in graph.rules}
    found: dict[str, str] = {}

    def chain(identity: str) -> str:
        if identity in found:
            return found[identity]
        rule = rules[identity]
        if isinstance(rule, SourceRule):
            made = digest("c", rule.stream, rule.input, rule.filter)
        elif isinstance(rule, DueRule):
            made = digest("c", "due", holds[rule.hold])
        elif isinstance(rule, ProbeRule):
            store = stores[rule.store]
            partner = (
                (store.inputs[0].stream, rule.renames[0][1], rule.stored_window)
                if store.is_base
                else (store.id, rule.renames)
            )
            checked = frozenset({*rule.equalities, *rule.predicates})
            newest = [rule.newest] if rule.newest else []
            made = digest("c", chain(origins[rule.edge]), partner, checked, *newest)
        else:
            raise ValueError(f"no probe begins with the {rule.kind} rule {identity}")
        found[identity] = made
        return made

    walked = (rule.id for rule in graph.rules if isinstance(rule, SourceRule | DueRule | ProbeRule))
    return {rule: chain(rule) for rule in walked}
