"""A solution to the physical graph that the runtime executes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Column, Expression
from optimizer.algebra.udf_names import calls_user_function, user_calls, user_name
from optimizer.formulate.model import Occurrence, QueryTerms, Translation
from optimizer.logical.canonical_inputs import sort_key, stream_of
from optimizer.logical.stream import Stream
from optimizer.logical.window import Window, union
from optimizer.lower.columns import Columns, left_over
from optimizer.lower.probe_forest import Forest, Node, StoreKey
from optimizer.lower.text import query_text
from optimizer.physical.equalities import split_conditions
from optimizer.physical.graph import (
    Edge,
    Estimate,
    GraphFunction,
    GraphQuery,
    GraphStore,
    GraphStream,
    PhysicalGraph,
    QueryInput,
    StoredInput,
)
from optimizer.physical.rules import (
    Emit,
    ProbeRule,
    Rule,
    SourceRule,
    StoreRule,
    WindowBound,
    expressions_of,
)
from optimizer.statistics.defaults import default_selectivity
from optimizer.udf.measure import cost_us, costs_us
from optimizer.udf.pair_cost import pair_cost, rank
from optimizer.udf.registry import FunctionRegistry

_MICROSECOND = timedelta(microseconds=1)


def to_graph(
    forest: Forest, *, method: str, texts: Mapping[str, str] | None = None, salt: str = ""
) -> PhysicalGraph:
    """The physical graph of probe trees (dissertation sections 4.2, 7.1.2 and 8.3.1).

    Args:
        forest: of a solution, with all partitionings decided (`store_layouts.choose_store_copies`).
        method: the name of the method that found the solution.
        texts: SQL by query name, as a person wrote it; missing ones are rendered.
        salt: makes identities differ from those of an equal graph, so that two can run side by
            side without sharing; empty for a shared topology.

    Returns:
        A graph whose ids are digests of structure: equal for equal queries in every process,
        whatever their names and order.
    """
    return _Writer(forest.translation, forest, dict(texts or {}), salt).graph(method)


@dataclass(slots=True)
class _Writer:
    translation: Translation
    forest: Forest
    texts: dict[str, str]
    salt: str
    columns: Columns = field(init=False)
    rates: dict[str, float] = field(init=False)
    terms: dict[str, QueryTerms] = field(init=False)
    feeders: dict[StoreKey, list[Node]] = field(init=False, default_factory=dict)
    levels: dict[int, int] = field(init=False, default_factory=dict)
    stores: dict[StoreKey, GraphStore] = field(init=False, default_factory=dict)
    edges: dict[str, Edge] = field(init=False, default_factory=dict)
    sources: dict[str, SourceRule] = field(init=False, default_factory=dict)
    kept: dict[str, StoreRule] = field(init=False, default_factory=dict)
    probes: dict[str, ProbeRule] = field(init=False, default_factory=dict)
    estimates: dict[str, Estimate] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = Columns(self.forest)
        self.rates = dict(self.translation.rates)
        self.terms = {terms.query.name: terms for terms in self.translation.queries}
        for node in self.forest.nodes():
            for fed in node.feeds:
                self.feeders.setdefault(fed, []).append(node)

    def graph(self, method: str) -> PhysicalGraph:
        keys = {node.store for node in self.forest.nodes() if node.store is not None}
        if self.translation.retain == "everything":
            stored = {key.stream for key in keys}
            tasks = dict(self.translation.tasks)
            joined = {occurrence.stream for occurrence in self._occurrences()}
            keys |= {
                StoreKey(stream, frozenset(), frozenset(), None, tasks[stream], stream)
                for stream in joined - stored
            }
        for key in sorted(keys, key=lambda k: k.order):
            self.stores[key] = self._store(key)
        copies: dict[tuple[str, str], list[StoreKey]] = {}
        for key in sorted(keys, key=lambda k: k.order):
            if key.stream is not None:
                copies.setdefault((key.stream, key.kept_in), []).append(key)
        for stream, kept_in in sorted(copies):
            self._store_stream(stream, kept_in, copies[stream, kept_in])
        for root in self.forest.roots.values():
            self._source(root)
        levels = {edge.id: edge.level for edge in self.edges.values()}
        return PhysicalGraph(
            streams=tuple(graph_stream(stream) for stream in self.translation.streams),
            stores=tuple(sorted(self.stores.values(), key=lambda s: (len(s.inputs), s.label, s.id))),
            edges=tuple(sorted(self.edges.values(), key=lambda e: (e.level, e.id))),
            rules=(
                *sorted(self.sources.values(), key=lambda r: (r.stream, r.input, r.id)),
                *sorted(self.kept.values(), key=lambda r: (levels[r.edge], r.id)),
                *sorted(self.probes.values(), key=lambda r: (levels[r.edge], r.start, r.id)),
            ),
            queries=tuple(self._query(terms) for terms in self.translation.queries),
            estimates=tuple(self.estimates[identity] for identity in sorted(self.estimates)),
            method=method,
            functions=called_functions(
                [*self.sources.values(), *self.probes.values()], self.translation.functions
            ),
        )

    # Stores

    def _store(self, key: StoreKey) -> GraphStore:
        columns = self.columns.stored(key)
        names = sorted({column.input for column in columns})
        inputs = tuple(
            StoredInput(name, stream_of(name), tuple(c.name for c in columns if c.input == name))
            for name in names
        )
        partitioning = None if key.partitioning is None else self.columns.column(*key.partitioning)
        retention = tuple(self._retention(key, name) for name in names)
        kept = None if key.stream is None else self.columns.store_filter(key.kept_in)
        content: tuple[object, ...] = (key.stream, kept)
        if key.stream is None:
            relations = tuple(self.forest.occurrences[r] for r in sorted(key.relations))
            predicates = frozenset(self.forest.expressions[p] for p in key.predicates)
            content = (relations, predicates)
        identity = self._id("S", content, partitioning, key.tasks, inputs)
        mark = "" if partitioning is None else f"[{_column_text(partitioning, key)}]"
        label = "*".join(names) + mark
        self._estimate(identity, tuples=self.forest.stored(key))
        return GraphStore(identity, label, inputs, partitioning, key.tasks, retention)

    def _retention(self, key: StoreKey, name: str) -> Window:
        if key.stream is None:
            return next(
                self.forest.occurrences[r].window
                for r in sorted(key.relations)
                if self.forest.occurrences[r].input == name
            )
        return union(
            variant.served_by.window
            for terms in self.translation.queries
            for variant in terms.variants
            if len(terms.variants) > 1 and self.forest.kept_in[variant.served_by.id] == key.kept_in
        )

    def _occurrences(self) -> list[Occurrence]:
        """Relations that some join reads."""
        return [self.forest.occurrences[r.id] for r in self.translation.problem.relations]

    def _store_stream(self, stream: str, kept_in: str, keys: list[StoreKey]) -> None:
        rule = self._source_rule(stream, stream, self.columns.store_filter(kept_in))
        for key in keys:
            edge = self._store_edge(rule.id, 0, key)
            self._estimate(edge.id, rate=self.translation.problem.stored_rates[kept_in])
            rule = self._send(rule, edge.id)

    def _store_edge(self, origin: str, level: int, key: StoreKey) -> Edge:
        store = self.stores[key]
        column = None if key.partitioning is None else self.columns.column(*key.partitioning)
        edge = Edge(
            id=self._id("E", "store", origin, store.id),
            origin=origin,
            target=store.id,
            kind="shuffle" if column is None else "group_by",
            key=column,
            level=level + 1,
            columns=self.columns.stored(key),
        )
        self.edges[edge.id] = edge
        rule = StoreRule(self._id("K", edge.id), edge.id, store.id)
        self.kept[rule.id] = rule
        return edge

    # Trees

    def _source_rule(self, stream: str, name: str, passes: Expression | None) -> SourceRule:
        identity = self._id("R", stream, name, passes)
        return self.sources.setdefault(identity, SourceRule(identity, stream, name, passes, ()))

    def _send(self, rule: SourceRule, *edges: str) -> SourceRule:
        out = tuple(sorted({*rule.out, *edges}))
        grown = SourceRule(rule.id, rule.stream, rule.input, rule.filter, out, rule.emits)
        self.sources[rule.id] = grown
        return grown

    def _source(self, root: Node) -> None:
        occurrence = root.start
        rule = self._source_rule(occurrence.stream, occurrence.input, occurrence.filter)
        out = [self._probe(child, rule.id) for child in root.children.values()]
        rule = self._send(self.sources[rule.id], *out)
        emits = tuple(self._emit(name, root) for name in sorted(root.queries))
        self.sources[rule.id] = SourceRule(rule.id, rule.stream, rule.input, rule.filter, rule.out, emits)
        self._estimate(rule.id, rate=self.rates[occurrence.id])

    def _probe(self, node: Node, origin: str) -> str:
        """Write the probe of `node` and all behind it; returns the edge into it."""
        if node.store is None or node.parent is None:
            raise ValueError("a source cannot be probed")
        store, level = self.stores[node.store], self._level(node)
        bound, held = frozenset(node.bound), frozenset(name for _, name in node.renames)
        equalities, plain = split_conditions(node.fresh, bound, held)
        checked = sorted({*self.columns.checks(node), *node.residuals}, key=sort_key)
        others = self._cheapest_first([*plain, *checked])
        windows = tuple(WindowBound(name, window) for name, window in node.windows)
        key = self.columns.key(node)
        identity = self._id("P", origin, store.id, node.renames, equalities, others, windows)
        edge = Edge(
            id=self._id("E", "probe", identity),
            origin=origin,
            target=store.id,
            kind="group_by" if key is not None else "all",
            key=key,
            level=level,
            columns=tuple(sorted(self.columns.arriving(node), key=lambda c: (c.input, c.name))),
        )
        self.edges[edge.id] = edge
        out = [self._probe(child, identity) for child in node.children.values()]
        for fed in node.feeds:
            feed = self._store_edge(identity, level, fed)
            self._estimate(feed.id, rate=self.forest.leaving_rate(node))
            out.append(feed.id)
        self.probes[identity] = ProbeRule(
            id=identity,
            edge=edge.id,
            store=store.id,
            start=node.start.input,
            bound=node.bound,
            renames=node.renames,
            equalities=equalities,
            predicates=tuple(others),
            windows=windows,
            out=tuple(sorted(out)),
            emits=tuple(self._emit(name, node) for name in sorted(node.queries)),
        )
        sent = self.forest.arriving_rate(node)
        cost = sent * (store.tasks if edge.kind == "all" else 1) + self.forest.evaluation(node)
        self._estimate(edge.id, rate=sent, cost=cost)
        self._estimate(identity, rate=self.forest.leaving_rate(node), cost=cost)
        return edge.id

    def _cheapest_first(self, predicates: list[Expression]) -> list[Expression]:
        """Built-in predicates as they are, then expensive ones by cost and selectivity."""
        costly = [predicate for predicate in predicates if calls_user_function(predicate)]
        if not costly:
            return predicates
        expressions = self.translation.predicates
        joins = {expressions[p.id]: p for p in self.translation.problem.predicates}

        def place(predicate: Expression) -> float:
            cost = pair_cost(predicate, costs_us(self.translation.functions, predicate))
            known = joins.get(predicate)
            return rank(cost, default_selectivity(predicate).expected if known is None else known.selectivity)

        return [p for p in predicates if p not in costly] + sorted(costly, key=place)

    def _level(self, node: Node) -> int:
        """The stage of a node: behind its sender, and not before its store is complete."""
        if node.parent is None or node.store is None:
            return 0
        if id(node) not in self.levels:
            # A result is fed by orders that probe only smaller ones, so this recursion ends.
            complete = [self._level(feeder) + 1 for feeder in self.feeders.get(node.store, ())]
            self.levels[id(node)] = max(self._level(node.parent) + 1, *complete, 1)
        return self.levels[id(node)]

    def _emit(self, query: str, leaf: Node) -> Emit:
        terms = self.terms[query]
        return Emit(query, *left_over(terms, leaf), terms.outputs)

    # Surroundings

    def _query(self, terms: QueryTerms) -> GraphQuery:
        by_alias = {variant.alias: variant for variant in terms.variants}
        streams = {variant.own.stream for variant in terms.variants}
        return GraphQuery(
            name=terms.query.name,
            sql=self.texts.get(terms.query.name) or query_text(terms.query),
            inputs=tuple(
                QueryInput(alias, v.own.input, v.own.stream, v.own.window)
                for alias, v in sorted(by_alias.items(), key=lambda item: item[0])
            ),
            outputs=tuple((output.name, output.expression.type) for output in terms.query.outputs),
            marks_late=any(s.late == "join" for s in self.translation.streams if s.name in streams),
        )

    def _estimate(
        self, identity: str, rate: float | None = None, tuples: float | None = None, cost: float | None = None
    ) -> None:
        self.estimates[identity] = Estimate(identity, rate, tuples, cost)

    def _id(self, prefix: str, *parts: object) -> str:
        return digest(prefix, self.salt, *parts)


def called_functions(rules: Iterable[Rule], functions: FunctionRegistry) -> tuple[GraphFunction, ...]:
    """The user functions that rules and outputs call."""
    called = {user_name(c.function) for rule in rules for e in expressions_of(rule) for c in user_calls(e)}
    return tuple(
        GraphFunction(f.name, f.arguments, f.returns, cost_us(f)) for f in functions if f.name in called
    )


def graph_stream(stream: Stream) -> GraphStream:
    """A registered stream as the runtime reads it."""
    return GraphStream(
        stream.name,
        stream.event_time,
        stream.columns,
        stream.lateness // _MICROSECOND,
        stream.late,
        stream.source,
        None if stream.max_ahead is None else stream.max_ahead // _MICROSECOND,
    )


def _column_text(column: Column, key: StoreKey) -> str:
    return column.name if key.stream is not None else f"{column.input}.{column.name}"
