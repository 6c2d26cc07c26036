"""A graph's elements by id: each there once, and every reference leading to one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from optimizer.logical.canonical_inputs import stream_of
from optimizer.physical.graph import Edge, GraphStore, PhysicalGraph
from optimizer.physical.rules import ProbeRule, SourceRule, StoreRule


class InvalidGraph(ValueError):
    """A graph that would lose, repeat or invent results; names the element at fault."""


@dataclass(slots=True)
class Elements:
    """Looks up what a graph's rules and edges name.

    Raises `InvalidGraph` for an id that is there twice, or a reference that leads nowhere.
    """

    graph: PhysicalGraph
    stores: dict[str, GraphStore] = field(init=False)
    edges: dict[str, Edge] = field(init=False)
    receivers: dict[str, StoreRule | ProbeRule] = field(init=False, default_factory=dict)
    rules: dict[str, SourceRule | StoreRule | ProbeRule] = field(init=False)
    feeders: dict[str, list[Edge]] = field(init=False, default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        graph = self.graph
        _unique("store", (s.id for s in graph.stores))
        _unique("edge", (e.id for e in graph.edges))
        _unique("rule", (r.id for r in graph.rules))
        _unique("query", (q.name for q in graph.queries))
        self.stores = {store.id: store for store in graph.stores}
        self.edges = {edge.id: edge for edge in graph.edges}
        self.rules = {
            rule.id: rule for rule in graph.rules if isinstance(rule, SourceRule | StoreRule | ProbeRule)
        }
        streams = {stream.name for stream in graph.streams}
        sent: Counter[str] = Counter()
        for rule in graph.rules:
            if isinstance(rule, SourceRule):
                if rule.stream not in streams or stream_of(rule.input) != rule.stream:
                    fault(rule.id, f"starts from the unknown input {rule.input} of {rule.stream}")
            elif isinstance(rule, StoreRule | ProbeRule):
                self._receive(rule)
            if isinstance(rule, StoreRule):
                continue
            if not rule.out and not rule.emits:
                fault(rule.id, "sends nothing anywhere")
            for name in rule.out:
                sent[name] += 1
                if name not in self.edges or self.edges[name].origin != rule.id:
                    fault(rule.id, f"sends along edge {name}, which does not begin there")
        for edge in graph.edges:
            if edge.target not in self.stores:
                fault(edge.id, f"leads to the unknown store {edge.target}")
            if sent[edge.id] != 1 or edge.id not in self.receivers:
                fault(edge.id, "is not both sent along and received, once each")

    def _receive(self, rule: StoreRule | ProbeRule) -> None:
        edge = self.edges.get(rule.edge)
        if edge is None or edge.target != rule.store:
            fault(rule.id, f"receives on edge {rule.edge}, which does not lead to its store")
        if rule.edge in self.receivers:
            fault(rule.edge, "is received by two rules")
        self.receivers[rule.edge] = rule
        if isinstance(rule, StoreRule):
            self.feeders[rule.store].append(edge)


def _unique(kind: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            fault(name, f"is the id of {count} different elements of kind {kind}")


def fault(element: str, problem: str) -> NoReturn:
    raise InvalidGraph(f"{element} {problem}")
