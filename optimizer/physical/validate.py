"""What every physical graph must satisfy, checked before it may run.

The checks follow a tuple through the graph and keep account of what is *established* for the
combinations at each rule: the inputs they bind, the conditions that hold, the windows that were
checked. A query is answered correctly iff the same conditions are established on the way from
each of its inputs, once each, because a result is found from its newest tuple alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from optimizer.algebra.expression import Call, Column, Expression, columns_of, rename_inputs
from optimizer.algebra.types import ColumnType
from optimizer.logical.canonical_inputs import canonical_expression, conjuncts, stream_of
from optimizer.logical.window import UNBOUNDED, Window
from optimizer.physical.equalities import equality_class
from optimizer.physical.graph import (
    Edge,
    Emit,
    GraphStore,
    Grid,
    Grids,
    PhysicalGraph,
    ProbeRule,
    Slices,
    SourceRule,
    StoreRule,
)


class InvalidGraph(ValueError):
    """A graph that would lose, repeat or invent results; names the element at fault."""


@dataclass(frozen=True, slots=True)
class Established:
    """What holds for the combinations that leave a rule, or that a store holds."""

    conditions: frozenset[Expression]
    """Conjuncts in canonical form over canonical inputs."""
    windows: Mapping[str, Window]
    """Bound inputs with their windows."""
    columns: frozenset[Column]
    """Columns at hand."""
    level: int


def validate(graph: PhysicalGraph, predicates: Mapping[str, frozenset[Expression]] | None = None) -> None:
    """Raise `InvalidGraph` unless each query is answered fully and exactly once.

    Args:
        graph: any graph, from this optimizer or read from a file.
        predicates: per query the conjuncts that it must fulfil, over its canonical inputs. With
            it, conditions are compared with the query's and not only with each other.

    The checks: references resolve and ids are unique; levels increase, and a materialized result
    is complete before it is probed; every message carries what its receiver and all behind it
    read; a `group_by` key is implied equal to the store's partitioning column; a store holds
    every tuple that its probes rely on, for long enough; every query has exactly one leaf per
    starting input with the same conditions and windows; nothing is unreachable or idle.
    """
    _Checker(graph, predicates).check()


@dataclass(slots=True)
class _Checker:
    graph: PhysicalGraph
    predicates: Mapping[str, frozenset[Expression]] | None
    stores: dict[str, GraphStore] = field(init=False)
    edges: dict[str, Edge] = field(init=False)
    receivers: dict[str, StoreRule | ProbeRule] = field(init=False, default_factory=dict)
    rules: dict[str, SourceRule | StoreRule | ProbeRule] = field(init=False)
    feeders: dict[str, list[Edge]] = field(init=False, default_factory=lambda: defaultdict(list))
    leaving: dict[str, Established] = field(init=False, default_factory=dict)
    held: dict[str, Established] = field(init=False, default_factory=dict)

    def check(self) -> None:
        self._check_references()
        for rule in self.graph.rules:
            if isinstance(rule, ProbeRule):
                self._leaving(rule.id)
        for edge in self.graph.edges:
            self._check_message(edge)
        for store in self.graph.stores:
            self._check_store(store)
        self._check_queries()

    # References

    def _check_references(self) -> None:
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
                    _fault(rule.id, f"starts from the unknown input {rule.input} of {rule.stream}")
            elif isinstance(rule, StoreRule | ProbeRule):
                self._receive(rule)
            if isinstance(rule, StoreRule):
                continue
            if not rule.out and not rule.emits:
                _fault(rule.id, "sends nothing anywhere")
            for name in rule.out:
                sent[name] += 1
                if name not in self.edges or self.edges[name].origin != rule.id:
                    _fault(rule.id, f"sends along edge {name}, which does not begin there")
        for edge in graph.edges:
            if edge.target not in self.stores:
                _fault(edge.id, f"leads to the unknown store {edge.target}")
            if sent[edge.id] != 1 or edge.id not in self.receivers:
                _fault(edge.id, "is not both sent along and received, once each")

    def _receive(self, rule: StoreRule | ProbeRule) -> None:
        edge = self.edges.get(rule.edge)
        if edge is None or edge.target != rule.store:
            _fault(rule.id, f"receives on edge {rule.edge}, which does not lead to its store")
        if rule.edge in self.receivers:
            _fault(rule.edge, "is received by two rules")
        self.receivers[rule.edge] = rule
        if isinstance(rule, StoreRule):
            self.feeders[rule.store].append(edge)

    # What is established

    def _leaving(self, rule_id: str) -> Established:
        """What holds for everything that a source or probe rule sends."""
        if rule_id not in self.leaving:
            rule = self.rules[rule_id]
            if isinstance(rule, StoreRule):
                _fault(rule_id, "stores, so nothing leaves it")
            self.leaving[rule_id] = (
                self._of_source(rule) if isinstance(rule, SourceRule) else self._of_probe(rule)
            )
        return self.leaving[rule_id]

    def _of_source(self, rule: SourceRule) -> Established:
        stream = next(s for s in self.graph.streams if s.name == rule.stream)
        columns = frozenset(Column(rule.input, name, kind) for name, kind in stream.columns)
        conditions = conjuncts(rule.filter) if rule.filter is not None else frozenset()
        self._read(rule.id, conditions, columns)
        return Established(conditions, {rule.input: UNBOUNDED}, columns, 0)

    def _of_probe(self, rule: ProbeRule) -> Established:
        edge, store = self.edges[rule.edge], self.stores[rule.store]
        before = self._leaving(edge.origin)
        stored = self._held(store, rule)
        names = dict(rule.renames)
        if set(names) != {item.input for item in store.inputs}:
            _fault(rule.id, f"does not rename all inputs of store {store.label}")
        if tuple(sorted(before.windows)) != rule.bound or set(rule.bound) & set(names.values()):
            _fault(rule.id, "does not bind the inputs that arrive")
        origin = self.rules[edge.origin]
        start = origin.input if isinstance(origin, SourceRule) else getattr(origin, "start", None)
        if rule.start != start:
            _fault(rule.id, f"claims to start from {rule.start}, its sender starts from {start}")
        if edge.level <= before.level:
            _fault(edge.id, f"is handled at level {edge.level}, not behind its sender at {before.level}")
        windows = rule.window_of
        self._check_windows(rule, origin, before, stored, windows)
        columns = frozenset(edge.columns) | frozenset(
            Column(names[c.input], c.name, c.type) for c in stored.columns
        )
        fresh = frozenset(
            c for e in rule.equalities for c in conjuncts(Call("eq", (e.probe, e.stored), ColumnType.BOOLEAN))
        ) | frozenset(c for p in rule.predicates for c in conjuncts(p))
        self._read(rule.id, fresh, columns)
        renamed = frozenset(canonical_expression(rename_inputs(c, names)) for c in stored.conditions)
        conditions = reduced(before.conditions | renamed | fresh)
        established = Established(conditions, windows, columns, edge.level)
        self._check_routing(rule, edge, store, established.conditions)
        return established

    def _check_windows(
        self,
        rule: ProbeRule,
        origin: object,
        before: Established,
        stored: Established,
        windows: Mapping[str, Window],
    ) -> None:
        names = dict(rule.renames)
        if set(windows) != set(rule.bound) | set(names.values()):
            _fault(rule.id, "does not check the windows of all its inputs")
        # A narrower window than before is checked again, for all pairs: a query that leaves what it
        # shared with others takes its own.
        if isinstance(origin, ProbeRule) and not all(
            window.covers(windows[name]) for name, window in before.windows.items()
        ):
            _fault(rule.id, "checks a wider window than the rule before it")
        store = self.stores[rule.store]
        for item, retention in zip(store.inputs, store.retention, strict=True):
            window = windows[names[item.input]]
            if not store.is_base and not stored.windows[item.input].covers(window):
                _fault(rule.id, f"reads {item.input} of {store.label} in a wider window than was stored")
            if not retention.covers(window):
                _fault(store.id, f"evicts {item.input} before the window of rule {rule.id} ends")

    def _check_routing(
        self, rule: ProbeRule, edge: Edge, store: GraphStore, conditions: frozenset[Expression]
    ) -> None:
        if (edge.kind == "grid") != isinstance(store.partitioning, Grid | Grids):
            _fault(edge.id, f"does not ask one row of {store.label}, as probes of grids and no others do")
        if edge.kind == "grid":
            return
        if edge.kind == "shuffle":
            _fault(edge.id, "sends a probe to one task, whichever it is")
        if edge.kind == "all":
            return
        if edge.kind == "slices":
            if not isinstance(store.partitioning, Slices):
                _fault(edge.id, f"looks for slices of {store.label}, which has none")
            return
        if edge.key is None or not isinstance(store.partitioning, Column) or edge.key not in edge.columns:
            _fault(edge.id, "groups by a key that it does not carry, or into a store without partitioning")
        names = dict(rule.renames)
        target = Column(names[store.partitioning.input], store.partitioning.name, store.partitioning.type)
        if target not in equality_class(edge.key, conditions):
            _fault(edge.id, f"groups by {edge.key.input}.{edge.key.name}, not equal to {store.label}")

    def _held(self, store: GraphStore, rule: ProbeRule) -> Established:
        """What holds for a store's tuples, complete at the level of `rule`."""
        if store.id not in self.held:
            feeders = [(edge, self._leaving(edge.origin)) for edge in self.feeders[store.id]]
            if not feeders:
                _fault(store.id, "is probed but never stored into")
            first = feeders[0][1]
            for edge, established in feeders:
                if established.conditions != first.conditions or (
                    not store.is_base and established.windows != first.windows
                ):
                    _fault(edge.id, f"feeds {store.label} with tuples of another relation")
            columns = frozenset(
                column
                for column in first.columns
                for item in store.inputs
                if column.input == item.input and column.name in item.columns
            )
            level = max(edge.level for edge, _ in feeders)
            self.held[store.id] = Established(first.conditions, first.windows, columns, level)
        held = self.held[store.id]
        if self.edges[rule.edge].level < held.level:
            _fault(
                rule.id,
                f"probes {store.label} at level {self.edges[rule.edge].level}, "
                f"before it is complete at level {held.level}",
            )
        return held

    # Messages and stores

    def _check_message(self, edge: Edge) -> None:
        sender = self._leaving(edge.origin)
        missing = set(edge.columns) - sender.columns
        if missing:
            _fault(edge.id, f"carries {_names(missing)}, which its sender does not have")
        if edge.level <= sender.level:
            _fault(edge.id, f"is handled at level {edge.level}, not behind its sender at {sender.level}")
        for name in sender.windows:
            stream = next(s for s in self.graph.streams if s.name == stream_of(name))
            if not any(c.input == name and c.name == stream.event_time for c in edge.columns):
                _fault(edge.id, f"does not carry the event time of {name}")

    def _check_store(self, store: GraphStore) -> None:
        try:
            _ = store.grids
        except ValueError as error:
            _fault(store.id, f"is not laid out over all its tasks: {error}")
        if isinstance(store.partitioning, Slices):
            if not store.is_base:
                _fault(store.id, f"cuts {store.label} into slices, but its tuples have several event times")
            if not store.retention[0].is_bounded:
                _fault(store.id, f"cuts {store.label} into slices, but keeps its tuples for ever")
        for edge in self.feeders[store.id]:
            needed = {(item.input, name) for item in store.inputs for name in item.columns}
            if needed - {(column.input, column.name) for column in edge.columns}:
                _fault(edge.id, f"does not carry all columns of {store.label}")
            if (edge.kind, edge.key) != _placing(store):
                _fault(edge.id, f"does not place tuples by the partitioning of {store.label}")
        starts = Counter(self._start(edge.origin) for edge in self.feeders[store.id])
        expected = Counter(item.input for item in store.inputs)
        if starts != expected:
            _fault(
                store.id, f"is fed from {_counted(starts)}, expected once from each of {_counted(expected)}"
            )
        probed = any(isinstance(r, ProbeRule) and r.store == store.id for r in self.graph.rules)
        if not store.is_base and not probed:
            _fault(store.id, "is materialized but never probed")

    def _start(self, rule_id: str) -> str:
        rule = self.rules[rule_id]
        if isinstance(rule, StoreRule):
            _fault(rule_id, "stores, so nothing starts there")
        return rule.input if isinstance(rule, SourceRule) else rule.start

    # Queries

    def _check_queries(self) -> None:
        leaves: dict[str, list[tuple[str, Established, Emit]]] = defaultdict(list)
        for rule in self.graph.rules:
            if isinstance(rule, StoreRule):
                continue
            for emit in rule.emits:
                leaves[emit.query].append((rule.id, self._leaving(rule.id), emit))
        unknown = set(leaves) - {query.name for query in self.graph.queries}
        if unknown:
            _fault(leaves[min(unknown)][0][0], f"answers the unknown query {min(unknown)}")
        for query in self.graph.queries:
            starts = Counter(self._start(rule_id) for rule_id, _, _ in leaves[query.name])
            expected = Counter(item.input for item in query.inputs)
            if starts != expected:
                _fault(
                    query.name,
                    f"is answered from {_counted(starts)}, expected once from each of {_counted(expected)}",
                )
            wanted = None if self.predicates is None else self.predicates.get(query.name)
            totals = [self._total(rule_id, got, emit) for rule_id, got, emit in leaves[query.name]]
            wanted = totals[0] if wanted is None else frozenset(c for p in wanted for c in conjuncts(p))
            own = {item.input: item.window for item in query.inputs}
            for (rule_id, got, emit), total in zip(leaves[query.name], totals, strict=True):
                if reduced(wanted) != total:
                    _fault(rule_id, f"answers {query.name} with other conditions than asked for")
                self._check_leaf(rule_id, got, emit, own, query.outputs)

    def _total(self, rule_id: str, got: Established, emit: Emit) -> frozenset[Expression]:
        residuals = frozenset(c for r in emit.residuals for c in conjuncts(r))
        self._read(rule_id, residuals, got.columns)
        return reduced(got.conditions | residuals)

    def _check_leaf(
        self,
        rule_id: str,
        got: Established,
        emit: Emit,
        own: Mapping[str, Window],
        outputs: tuple[tuple[str, ColumnType], ...],
    ) -> None:
        if set(got.windows) != set(own):
            _fault(rule_id, f"answers {emit.query} without binding exactly its inputs")
        checked = {bound.input: bound.window for bound in emit.windows} or got.windows
        if len(own) > 1 and checked != own:
            _fault(rule_id, f"answers {emit.query} in other windows than asked for")
        for name, window in got.windows.items():
            if len(own) > 1 and not window.covers(own[name]):
                _fault(rule_id, f"checks a narrower window on {name} than {emit.query} asks for")
        if tuple((name, expression.type) for name, expression in emit.outputs) != outputs:
            _fault(rule_id, f"projects other columns than {emit.query} declares")
        self._read(rule_id, (expression for _, expression in emit.outputs), got.columns)

    def _read(self, element: str, expressions: Iterable[Expression], columns: frozenset[Column]) -> None:
        missing = {column for expression in expressions for column in columns_of(expression)} - columns
        if missing:
            _fault(element, f"reads {_names(missing)}, which does not reach it")


def _placing(store: GraphStore) -> tuple[str, Column | None]:
    """Kind and key of the edges along which tuples are stored."""
    match store.partitioning:
        case None:
            return "shuffle", None
        case Slices():
            return "slices", None
        case Grid() | Grids():
            return "grid", None
        case Column() as column:
            return "group_by", column


def reduced(conditions: frozenset[Expression]) -> frozenset[Expression]:
    """The conditions without disjunctions that follow from the others.

    A shared store's filter is the union of its users' filters; whoever also checks its own
    filter has checked the union.
    """
    return frozenset(c for c in conditions if not _is_implied(c, conditions - {c}))


def _is_implied(condition: Expression, known: frozenset[Expression]) -> bool:
    """True if a disjunction holds because all conjuncts of one alternative do."""
    if not (isinstance(condition, Call) and condition.function == "or"):
        return False
    return any(conjuncts(alternative) <= known for alternative in condition.arguments)


def _unique(kind: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            _fault(name, f"is the id of {count} different elements of kind {kind}")


def _names(columns: Iterable[Column]) -> str:
    return ", ".join(sorted(f"{column.input}.{column.name}" for column in columns))


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in sorted(names.items())) or "nowhere"


def _fault(element: str, problem: str) -> NoReturn:
    raise InvalidGraph(f"{element} {problem}")
