"""What holds of a graph must satisfy, checked before it may run.

The joins below them are checked as any (`optimizer.physical.validate`). Here: that what waits has what it is
decided by, that stores keep partners for as long as it may ask for them, and that it is finished once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from optimizer.algebra.expression import Column, Expression, columns_of
from optimizer.logical.canonical_inputs import stream_of
from optimizer.physical.elements import fault
from optimizer.physical.graph import Edge, GraphStore, GraphStream, Hold, PhysicalGraph, Slices
from optimizer.physical.rules import (
    AggregateRule,
    DueRule,
    ProbeRule,
    Rule,
    SettleRule,
    StoreRule,
    received_on,
)


def validate_holds(graph: PhysicalGraph) -> None:
    """Raise `InvalidGraph` unless what waits is answered fully and exactly once.

    The checks: every leaf that keeps something for a hold sends it there, and nobody else does; deadlines
    and what falls due are columns of what waits; looks carry what they compare and go into stores of streams,
    which keep tuples for as long as partners may be older and combinations wait; levels increase; what is
    due comes home once, with what was found of it; every hold is finished by one rule.
    """
    _HoldChecker(graph).check()


@dataclass(slots=True)
class _HoldChecker:
    graph: PhysicalGraph
    edges: dict[str, Edge] = field(init=False)
    rules: dict[str, Rule] = field(init=False)
    stores: dict[str, GraphStore] = field(init=False)
    holds: dict[str, Hold] = field(init=False)
    event_times: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.edges = {edge.id: edge for edge in self.graph.edges}
        self.rules = {rule.id: rule for rule in self.graph.rules}
        self.stores = {store.id: store for store in self.graph.stores}
        self.holds = {hold.name: hold for hold in self.graph.holds}
        self.event_times = {stream.name: stream.event_time for stream in self.graph.streams}

    def check(self) -> None:
        for hold in self.graph.holds:
            self._check_hold(hold)
        for stream in self.graph.derived:
            self._check_derived(stream)
        for store in self.graph.stores:
            self._check_store(store)
        for rule in self.graph.rules:
            match rule:
                case DueRule():
                    self._check_due(rule)
                case ProbeRule():
                    if (waited := self._waited(rule)) is not None:
                        self._check_look(rule, waited)
                case SettleRule():
                    self._check_settled(rule)
                case AggregateRule():
                    self._check_finished(rule)

    def _waited(self, rule: Rule) -> Hold | None:
        """The hold from which a tree begins; None for one of a stream."""
        while isinstance(rule, ProbeRule):
            rule = self._sender(rule.edge)
        return self.holds.get(rule.hold) if isinstance(rule, DueRule) else None

    def _sender(self, edge: str) -> Rule:
        found = self.edges.get(edge)
        if found is None or found.origin not in self.rules:
            fault(edge, "is received, but nobody sends along it")
        return self.rules[found.origin]

    # What waits

    def _check_hold(self, hold: Hold) -> None:
        store = self.stores.get(hold.store)
        if store is None or [item.stream for item in store.inputs] != [hold.stream.name]:
            fault(hold.name, f"has no store of its own: {hold.store}")
        kept = {name for name, _ in hold.stream.columns}
        if set(store.inputs[0].columns) != kept:
            fault(hold.store, f"does not keep all columns of what {hold.name} holds")
        asked = {*hold.times, *(bound.input for bounds in hold.deadlines for bound in bounds)}
        if asked - kept:
            fault(hold.name, f"is due by {', '.join(sorted(asked - kept))}, which it does not keep")
        leaves = Counter(
            rule.id
            for rule in self.graph.rules
            if not isinstance(rule, StoreRule)
            for leaf in rule.emits
            if leaf.query == hold.name
        )
        if leaves != Counter(rule for rule, _ in hold.edges):
            fault(hold.name, "is not sent to once from each of the leaves that keep something for it")
        for rule, edge in hold.edges:
            if edge not in self.edges or (self.edges[edge].origin, self.edges[edge].target) != (
                rule,
                hold.store,
            ):
                fault(edge, f"does not lead from {rule} to the store of {hold.name}")
        ends = [
            r for r in self.graph.rules if isinstance(r, SettleRule | AggregateRule) and r.hold == hold.name
        ]
        if len(ends) != 1 or isinstance(ends[0], AggregateRule) != (hold.groups is not None):
            fault(hold.name, f"is finished by {len(ends)} rules of its kind, expected one")

    def _check_derived(self, stream: GraphStream) -> None:
        """Check that all results of a derived stream's query wait for the next batch once."""
        assert stream.derived is not None
        store = self.stores.get(stream.derived.store)
        if store is None or [item.stream for item in store.inputs] != [stream.name]:
            fault(stream.name, f"has no store of results: {stream.derived.store}")
        if store.partitioning is not None or {*store.inputs[0].columns} != {n for n, _ in stream.columns}:
            fault(store.id, f"does not keep all columns of {stream.name} wherever there is room")
        leaves = Counter(
            rule.id
            for rule in self.graph.rules
            if not isinstance(rule, StoreRule)
            for leaf in rule.emits
            if leaf.query == stream.name
        )
        if not leaves or leaves != Counter(rule for rule, _ in stream.derived.edges):
            fault(stream.name, "is not sent to once from each of the leaves that find its tuples")
        for rule, edge in stream.derived.edges:
            there = self.edges.get(edge)
            if there is None or (there.origin, there.target) != (rule, store.id):
                fault(edge, f"does not lead from {rule} to the results of {stream.name}")

    def _check_store(self, store: GraphStore) -> None:
        if not isinstance(store.partitioning, Slices):
            return
        if not store.retention[0].is_bounded:
            fault(store.id, f"cuts {store.label} into slices, but keeps its tuples for ever")
        if store.key:
            fault(store.id, f"cuts {store.label} into slices, but its versions may be of any age")

    def _check_due(self, rule: DueRule) -> None:
        hold = self.holds.get(rule.hold)
        if hold is None:
            fault(rule.id, f"sends what falls due of {rule.hold}, which is no hold")
        kept = dict(hold.stream.columns)
        for name, column in rule.columns:
            if kept.get(name) is not column.type:
                fault(rule.id, f"sends {name}, which {hold.name} does not keep as {column.type}")
        self._check_sent(rule.id, rule.out, {column for _, column in rule.columns}, 0)

    # What looks for partners

    def _check_look(self, rule: ProbeRule, hold: Hold) -> None:
        store, edge = self.stores[rule.store], self.edges[rule.edge]
        if not store.is_base or len(rule.renames) != 1:
            fault(rule.id, f"looks for partners in {store.label}, which is no store of a stream")
        (stored, name) = rule.renames[0]
        if stored != store.inputs[0].input:
            fault(rule.id, f"does not rename the input of {store.label}")
        types = dict(next(s for s in self.graph.streams if s.name == store.inputs[0].stream).columns)
        own = {Column(name, column, types[column]) for column in store.inputs[0].columns}
        at_hand = own | set(edge.columns)
        self._read(rule.id, [e.condition for e in rule.equalities], at_hand)
        self._read(rule.id, (*rule.predicates, *rule.newest), at_hand)
        for bound in rule.windows:
            time = self.event_times[stream_of(bound.input)]
            if not any((c.input, c.name) == (bound.input, time) for c in at_hand):
                fault(rule.id, f"checks the window of {bound.input}, whose event time does not reach it")
        looks = [look for look in hold.looks if look.store == rule.store]
        if not looks:
            fault(rule.id, f"looks into {store.label}, of which {hold.name} does not know")
        wait_us = hold.longest_wait_us
        for look in looks:
            back, kept = look.back.reach_us, store.retention[0].reach_us
            if kept is not None and (back is None or kept < back + wait_us):
                fault(store.id, f"evicts {store.label} before {hold.name} has looked for its partners")
        self._check_sent(rule.id, rule.out, at_hand, edge.level)

    def _check_sent(self, rule: str, out: Iterable[str], at_hand: set[Column], level: int) -> None:
        for name in out:
            edge = self.edges.get(name)
            if edge is None or edge.origin != rule:
                fault(rule, f"sends along edge {name}, which does not begin there")
            if set(edge.columns) - at_hand:
                fault(name, f"carries {_names(set(edge.columns) - at_hand)}, which its sender does not have")
            if edge.level <= level:
                fault(name, f"is handled at level {edge.level}, not behind its sender at {level}")

    # What is final

    def _check_settled(self, rule: SettleRule) -> None:
        hold = self.holds.get(rule.hold)
        home = self._sender(rule.edge)
        if hold is None or not isinstance(home, DueRule) or home.hold != rule.hold:
            fault(rule.id, f"settles what is not due of {rule.hold}")
        own = self.edges[rule.edge]
        at_hand = set(own.columns)
        for found in rule.found:
            looked, answer = self._sender(found.edge), self.edges[found.edge]
            if not isinstance(looked, ProbeRule) or self._waited(looked) is not hold:
                fault(found.edge, f"answers {hold.name}, but nobody looked for it there")
            if (answer.target, answer.level, answer.kind) != (own.target, own.level, "home"):
                fault(found.edge, f"does not come home where {hold.name} is settled")
            self._read(found.edge, found.newest, set(answer.columns))
            at_hand |= set(found.newest)
        for leaf in rule.emits:
            self._read(rule.id, (*leaf.residuals, *(value for _, value in leaf.outputs)), at_hand)

    def _check_finished(self, rule: AggregateRule) -> None:
        hold = self.holds.get(rule.hold)
        if hold is not None and hold.is_running:
            self._check_running(rule, hold)
            return
        due = self._sender(rule.edge)
        if hold is None or not isinstance(due, DueRule) or due.hold != rule.hold:
            fault(rule.id, f"finishes groups that are not due of {rule.hold}")
        if Counter(rule.direct) != Counter(edge for _, edge in hold.direct):
            fault(rule.id, f"does not take all that goes past the store of {hold.name}")
        for edge in (rule.edge, *rule.direct):
            if self.edges[edge].kind != "group":
                fault(edge, f"does not bring groups of {hold.name} together")

    def _check_running(self, rule: AggregateRule, hold: Hold) -> None:
        """Check that states of a running group meet in its task, behind all leaves."""
        edges = [self.edges[edge] for edge in (rule.edge, *rule.direct)]
        if Counter(edge.id for edge in edges) != Counter(edge for _, edge in hold.edges):
            fault(rule.id, f"does not take what all leaves send to {hold.name}")
        store = self.stores[hold.store]
        if store.retention[0].is_bounded:
            fault(store.id, f"forgets groups of {hold.name}, which have no end")
        for edge in edges:
            before = max((self.edges[one].level for one in received_on(self.rules[edge.origin])), default=0)
            if edge.kind != "group_by" or edge.key != store.partitioning or edge.level <= before:
                fault(edge.id, f"does not lead to the task that keeps groups of {hold.name}")

    def _read(self, element: str, expressions: Iterable[Expression], at_hand: set[Column]) -> None:
        missing = {column for expression in expressions for column in columns_of(expression)} - at_hand
        if missing:
            fault(element, f"reads {_names(missing)}, which does not reach it")


def _names(columns: Iterable[Column]) -> str:
    return ", ".join(sorted(f"{column.input}.{column.name}" for column in columns))
