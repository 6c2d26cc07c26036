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

from optimizer.algebra.expression import Call, Column, Expression, columns_of, rename_inputs
from optimizer.algebra.types import ColumnType
from optimizer.logical.canonical_inputs import canonical_expression, conjuncts, stream_of
from optimizer.logical.window import UNBOUNDED, Window
from optimizer.physical.elements import Elements, fault
from optimizer.physical.equalities import equality_class
from optimizer.physical.graph import Edge, GraphStore, Grid, Grids, PhysicalGraph, Slices
from optimizer.physical.rules import Emit, ProbeRule, SourceRule, StoreRule


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
    elements: Elements = field(init=False)
    leaving: dict[str, Established] = field(init=False, default_factory=dict)
    held: dict[str, Established] = field(init=False, default_factory=dict)

    def check(self) -> None:
        self.elements = Elements(self.graph)
        for rule in self.graph.rules:
            if isinstance(rule, ProbeRule):
                self._leaving(rule.id)
        for edge in self.graph.edges:
            self._check_message(edge)
        for store in self.graph.stores:
            self._check_store(store)
        self._check_queries()

    # What is established

    def _leaving(self, rule_id: str) -> Established:
        """What holds for everything that a source or probe rule sends."""
        if rule_id not in self.leaving:
            rule = self.elements.rules[rule_id]
            if isinstance(rule, StoreRule):
                fault(rule_id, "stores, so nothing leaves it")
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
        edge, store = self.elements.edges[rule.edge], self.elements.stores[rule.store]
        before = self._leaving(edge.origin)
        stored = self._held(store, rule)
        names = dict(rule.renames)
        if set(names) != {item.input for item in store.inputs}:
            fault(rule.id, f"does not rename all inputs of store {store.label}")
        if tuple(sorted(before.windows)) != rule.bound or set(rule.bound) & set(names.values()):
            fault(rule.id, "does not bind the inputs that arrive")
        origin = self.elements.rules[edge.origin]
        start = origin.input if isinstance(origin, SourceRule) else getattr(origin, "start", None)
        if rule.start != start:
            fault(rule.id, f"claims to start from {rule.start}, its sender starts from {start}")
        if edge.level <= before.level:
            fault(edge.id, f"is handled at level {edge.level}, not behind its sender at {before.level}")
        windows = rule.window_of
        self._check_windows(rule, origin, before, stored, windows)
        columns = frozenset(edge.columns) | frozenset(
            Column(names[c.input], c.name, c.type) for c in stored.columns
        )
        checked = (*(equality.condition for equality in rule.equalities), *rule.predicates)
        fresh = frozenset(c for condition in checked for c in conjuncts(condition))
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
            fault(rule.id, "does not check the windows of all its inputs")
        # A narrower window than before is checked again, for all pairs: a query that leaves what it
        # shared with others takes its own.
        if isinstance(origin, ProbeRule) and not all(
            window.covers(windows[name]) for name, window in before.windows.items()
        ):
            fault(rule.id, "checks a wider window than the rule before it")
        store = self.elements.stores[rule.store]
        for item, retention in zip(store.inputs, store.retention, strict=True):
            window = windows[names[item.input]]
            if not store.is_base and not stored.windows[item.input].covers(window):
                fault(rule.id, f"reads {item.input} of {store.label} in a wider window than was stored")
            if not retention.covers(window):
                fault(store.id, f"evicts {item.input} before the window of rule {rule.id} ends")

    def _check_routing(
        self, rule: ProbeRule, edge: Edge, store: GraphStore, conditions: frozenset[Expression]
    ) -> None:
        if (edge.kind == "grid") != isinstance(store.partitioning, Grid | Grids):
            fault(edge.id, f"does not ask one row of {store.label}, as probes of grids and no others do")
        if edge.kind == "grid":
            return
        if edge.kind == "shuffle":
            fault(edge.id, "sends a probe to one task, whichever it is")
        if edge.kind == "all":
            return
        if edge.kind == "slices":
            if not isinstance(store.partitioning, Slices):
                fault(edge.id, f"looks for slices of {store.label}, which has none")
            return
        if edge.key is None or not isinstance(store.partitioning, Column) or edge.key not in edge.columns:
            fault(edge.id, "groups by a key that it does not carry, or into a store without partitioning")
        names = dict(rule.renames)
        target = Column(names[store.partitioning.input], store.partitioning.name, store.partitioning.type)
        if target not in equality_class(edge.key, conditions):
            fault(edge.id, f"groups by {edge.key.input}.{edge.key.name}, not equal to {store.label}")

    def _held(self, store: GraphStore, rule: ProbeRule) -> Established:
        """What holds for a store's tuples, complete at the level of `rule`."""
        if store.id not in self.held:
            feeders = [(edge, self._leaving(edge.origin)) for edge in self.elements.feeders[store.id]]
            if not feeders:
                fault(store.id, "is probed but never stored into")
            first = feeders[0][1]
            for edge, established in feeders:
                if established.conditions != first.conditions or (
                    not store.is_base and established.windows != first.windows
                ):
                    fault(edge.id, f"feeds {store.label} with tuples of another relation")
            columns = frozenset(
                column
                for column in first.columns
                for item in store.inputs
                if column.input == item.input and column.name in item.columns
            )
            level = max(edge.level for edge, _ in feeders)
            self.held[store.id] = Established(first.conditions, first.windows, columns, level)
        held = self.held[store.id]
        if self.elements.edges[rule.edge].level < held.level:
            fault(
                rule.id,
                f"probes {store.label} at level {self.elements.edges[rule.edge].level}, "
                f"before it is complete at level {held.level}",
            )
        return held

    # Messages and stores

    def _check_message(self, edge: Edge) -> None:
        sender = self._leaving(edge.origin)
        missing = set(edge.columns) - sender.columns
        if missing:
            fault(edge.id, f"carries {_names(missing)}, which its sender does not have")
        if edge.level <= sender.level:
            fault(edge.id, f"is handled at level {edge.level}, not behind its sender at {sender.level}")
        for name in sender.windows:
            stream = next(s for s in self.graph.streams if s.name == stream_of(name))
            if not any(c.input == name and c.name == stream.event_time for c in edge.columns):
                fault(edge.id, f"does not carry the event time of {name}")

    def _check_store(self, store: GraphStore) -> None:
        try:
            _ = store.grids
        except ValueError as error:
            fault(store.id, f"is not laid out over all its tasks: {error}")
        if isinstance(store.partitioning, Slices):
            if not store.is_base:
                fault(store.id, f"cuts {store.label} into slices, but its tuples have several event times")
            if not store.retention[0].is_bounded:
                fault(store.id, f"cuts {store.label} into slices, but keeps its tuples for ever")
        for edge in self.elements.feeders[store.id]:
            needed = {(item.input, name) for item in store.inputs for name in item.columns}
            if needed - {(column.input, column.name) for column in edge.columns}:
                fault(edge.id, f"does not carry all columns of {store.label}")
            if (edge.kind, edge.key) != _placing(store):
                fault(edge.id, f"does not place tuples by the partitioning of {store.label}")
        starts = Counter(self._start(edge.origin) for edge in self.elements.feeders[store.id])
        expected = Counter(item.input for item in store.inputs)
        if starts != expected:
            fault(
                store.id, f"is fed from {_counted(starts)}, expected once from each of {_counted(expected)}"
            )
        probed = any(isinstance(r, ProbeRule) and r.store == store.id for r in self.graph.rules)
        if not store.is_base and not probed:
            fault(store.id, "is materialized but never probed")

    def _start(self, rule_id: str) -> str:
        rule = self.elements.rules[rule_id]
        if isinstance(rule, StoreRule):
            fault(rule_id, "stores, so nothing starts there")
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
            fault(leaves[min(unknown)][0][0], f"answers the unknown query {min(unknown)}")
        for query in self.graph.queries:
            starts = Counter(self._start(rule_id) for rule_id, _, _ in leaves[query.name])
            expected = Counter(item.input for item in query.inputs)
            if starts != expected:
                fault(
                    query.name,
                    f"is answered from {_counted(starts)}, expected once from each of {_counted(expected)}",
                )
            wanted = None if self.predicates is None else self.predicates.get(query.name)
            totals = [self._total(rule_id, got, emit) for rule_id, got, emit in leaves[query.name]]
            wanted = totals[0] if wanted is None else frozenset(c for p in wanted for c in conjuncts(p))
            own = {item.input: item.window for item in query.inputs}
            for (rule_id, got, emit), total in zip(leaves[query.name], totals, strict=True):
                if reduced(wanted) != total:
                    fault(rule_id, f"answers {query.name} with other conditions than asked for")
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
            fault(rule_id, f"answers {emit.query} without binding exactly its inputs")
        checked = {bound.input: bound.window for bound in emit.windows} or got.windows
        if len(own) > 1 and checked != own:
            fault(rule_id, f"answers {emit.query} in other windows than asked for")
        for name, window in got.windows.items():
            if len(own) > 1 and not window.covers(own[name]):
                fault(rule_id, f"checks a narrower window on {name} than {emit.query} asks for")
        if tuple((name, expression.type) for name, expression in emit.outputs) != outputs:
            fault(rule_id, f"projects other columns than {emit.query} declares")
        self._read(rule_id, (expression for _, expression in emit.outputs), got.columns)

    def _read(self, element: str, expressions: Iterable[Expression], columns: frozenset[Column]) -> None:
        missing = {column for expression in expressions for column in columns_of(expression)} - columns
        if missing:
            fault(element, f"reads {_names(missing)}, which does not reach it")


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


def _names(columns: Iterable[Column]) -> str:
    return ", ".join(sorted(f"{column.input}.{column.name}" for column in columns))


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in sorted(names.items())) or "nowhere"
