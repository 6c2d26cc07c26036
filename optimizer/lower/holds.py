"""Holds of a graph: what waits for a deadline, and who looks for its partners.

The branches of queries were planned as queries of their own. What those with absences find is kept until its
deadline, in a store of its own; from there it goes as new tuples through the stores of the other side, in an
order that needs no plan: next is what equalities lead to. Stores that the plan has serve, if they hold what
is needed; they then keep it as much longer as combinations wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Column, columns_of, rename_inputs
from optimizer.algebra.types import ColumnType
from optimizer.formulate.branches import Planned, held_column
from optimizer.formulate.model import Retain
from optimizer.logical.canonical_inputs import canonical_input
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import longest_wait_us, needed_windows, waits
from optimizer.logical.grouping import GROUP
from optimizer.logical.query import Branch, Query
from optimizer.logical.stream import Stream
from optimizer.logical.window import Sliding
from optimizer.lower.groups import GroupWriter, answered
from optimizer.lower.partner_stores import PartnerStores, in_order
from optimizer.lower.partner_trees import Chain, PartnerTrees
from optimizer.lower.text import query_text
from optimizer.lower.to_graph import called_functions
from optimizer.physical.graph import (
    Derivation,
    Edge,
    GraphQuery,
    GraphStore,
    GraphStream,
    Hold,
    Look,
    PhysicalGraph,
    QueryInput,
    StoredInput,
)
from optimizer.physical.rules import (
    AggregateRule,
    DueRule,
    Emit,
    Found,
    ProbeRule,
    Rule,
    SettleRule,
    SourceRule,
    StoreRule,
    WindowBound,
    received_on,
)

DEADLINE = "@deadline"
"""The event time of what is held."""


def with_holds(
    graph: PhysicalGraph,
    planned: Sequence[Planned],
    catalog: Catalog,
    *,
    retain: Retain,
    tasks: int,
    texts: Mapping[str, str],
) -> PhysicalGraph:
    """The graph for queries of branches, from one for the branches as queries.

    Args:
        graph: of the branches' conjunctive queries, and any others.
        planned: the branches; none of them leaves the graph as it is.
        catalog: knows every stream.
        retain, tasks: as for the plan.
        texts: SQL by query name, as a person wrote it.
    """
    if not planned:
        return graph
    return _Writer(graph, planned, catalog, retain, tasks, texts).graph_with_holds()


@dataclass(slots=True)
class _Writer:
    graph: PhysicalGraph
    planned: Sequence[Planned]
    catalog: Catalog
    retain: Retain
    tasks: int
    texts: Mapping[str, str]
    stores: dict[str, GraphStore] = field(init=False)
    edges: dict[str, Edge] = field(init=False)
    rules: dict[str, Rule] = field(init=False)
    streams: dict[str, GraphStream] = field(init=False)
    partners: PartnerStores = field(init=False)
    trees: PartnerTrees = field(init=False)
    holds: list[Hold] = field(init=False, default_factory=list)
    names: dict[str, Mapping[str, str]] = field(init=False, default_factory=dict)
    """By conjunctive query, alias -> canonical input."""

    def __post_init__(self) -> None:
        self.stores = {store.id: store for store in self.graph.stores}
        self.edges = {edge.id: edge for edge in self.graph.edges}
        self.rules = {rule.id: rule for rule in self.graph.rules}
        self.streams = {stream.name: stream for stream in self.graph.streams}
        self.partners = PartnerStores(
            self.stores, self.edges, self.rules, self.streams, self.catalog, self.retain, self.tasks
        )
        self.trees = PartnerTrees(self.planned, self.catalog, self.edges, self.rules, self.partners)
        for query in self.graph.queries:
            self.names[query.name] = {item.alias: item.input for item in query.inputs}

    def graph_with_holds(self) -> PhysicalGraph:
        answers = {one.conjunctive.name: answered(one.query) for one in self.planned if not one.holds}
        for rule in list(self.rules.values()):
            if not isinstance(rule, StoreRule) and any(emit.query in answers for emit in rule.emits):
                emits = tuple(replace(e, query=answers.get(e.query, e.query)) for e in rule.emits)
                self.rules[rule.id] = replace(rule, emits=emits)
        for one in self.planned:
            if one.holds:
                self._hold(one)
        for query in {one.query.name: one.query for one in self.planned}.values():
            if query.grouping is not None:
                self._group(query)
        for derived in self.catalog.derived:
            if derived.name in self.streams:
                self._derive(derived)
        gone = {one.conjunctive.name for one in self.planned}
        queries = [query for query in self.graph.queries if query.name not in gone]
        queries += [
            self._query(query) for query in {one.query.name: one.query for one in self.planned}.values()
        ]
        kinds = [SourceRule, StoreRule, ProbeRule, DueRule, SettleRule, AggregateRule]
        return replace(
            self.graph,
            streams=tuple(self.streams[name] for name in sorted(self.streams)),
            stores=tuple(sorted(self.stores.values(), key=lambda s: (len(s.inputs), s.label, s.id))),
            edges=tuple(sorted(self.edges.values(), key=lambda e: (e.level, e.id))),
            # In order of kind, and within a kind as they were: new ones behind.
            rules=tuple(sorted(self.rules.values(), key=lambda rule: kinds.index(type(rule)))),
            queries=tuple(sorted(queries, key=lambda query: query.name)),
            functions=called_functions(self.rules.values(), self.catalog.functions),
            holds=tuple(self.holds),
        )

    # Holds

    def _hold(self, one: Planned) -> None:
        name, branch = one.conjunctive.name, one.branch
        waited = [waits(branch, absence, self.catalog) for absence in branch.absences]
        wait_us = longest_wait_us(wait for found in waited for wait in found)
        columns = tuple((output.name, output.expression.type) for output in one.conjunctive.outputs)
        stream = GraphStream(f"@{name}", DEADLINE, ((DEADLINE, ColumnType.TIMESTAMP), *columns), 0, "drop")
        store = GraphStore(
            id=digest("S", "held", name, branch, columns),
            label=f"{one.query.name}: {branch.text}",
            inputs=(StoredInput(stream.name, stream.name, tuple(column for column, _ in stream.columns)),),
            partitioning=None,
            tasks=max(
                self.partners.tasks_of(item.stream)
                for a in branch.absences
                for item in (*branch.inputs, *a.inputs)
            ),
            retention=(Sliding(0),),
        )
        self.stores[store.id] = store
        into = tuple(
            (rule.id, self._held_edge(rule, store, stream))
            for rule in list(self.rules.values())
            if not isinstance(rule, StoreRule) and any(emit.query == name for emit in rule.emits)
        )
        looks: list[Look] = []
        settled = self._settled_names(one)
        chains = [
            self.trees.chain(one, absence, found, wait_us, store, looks, settled)
            for absence, found in zip(branch.absences, waited, strict=True)
        ]
        times = tuple(
            held_column(Column(item.alias, self.catalog[item.stream].event_time, ColumnType.TIMESTAMP))
            for item in branch.inputs
        )
        by_alias = dict(zip((item.alias for item in branch.inputs), times, strict=True))
        self.holds.append(
            Hold(
                name=name,
                query=one.query.name,
                label=branch.text,
                stream=stream,
                store=store.id,
                edges=into,
                times=times,
                deadlines=tuple(
                    tuple(WindowBound(by_alias[alias], Sliding(most)) for alias, most in wait.until)
                    for found in waited
                    for wait in found
                ),
                looks=tuple(looks),
                tier=one.query.tier,
            )
        )
        self._settle(one, store, chains)

    def _group(self, query: Query) -> None:
        parts = [one for one in self.planned if one.query is query]
        first = parts[0].branch.inputs[0].alias
        self.holds.append(
            GroupWriter(self.catalog, self.stores, self.edges, self.rules).write(
                query,
                DEADLINE,
                start=self.names[parts[0].conjunctive.name][first],
                tasks=max(self.partners.tasks_of(item.stream) for one in parts for item in one.branch.inputs),
            )
        )

    def _derive(self, stream: Stream) -> None:
        """Have the results of a query kept until they are tuples of the next batch."""
        query = next(one.query for one in self.planned if one.query.name == stream.name)
        declared = self.streams[stream.name]
        label = stream.results.label if stream.results is not None else stream.name
        store = GraphStore(
            id=digest("S", "results", stream.name),
            label=f"{label}: results",
            inputs=(StoredInput(stream.name, stream.name, tuple(column for column, _ in stream.columns)),),
            partitioning=None,
            tasks=max(self.partners.tasks_of(item.stream) for item in query.inputs),
            # The next batch reads them from the commit of this one.
            retention=(Sliding(0),),
        )
        self.stores[store.id] = store
        edges = tuple(
            (rule.id, self._held_edge(rule, store, declared))
            for rule in list(self.rules.values())
            if not isinstance(rule, StoreRule) and any(emit.query == stream.name for emit in rule.emits)
        )
        derivation = Derivation(label, store.id, edges, stream.lag_us, query.tier)
        self.streams[stream.name] = replace(declared, derived=derivation)

    def _held_edge(self, rule: Rule, store: GraphStore, stream: GraphStream) -> str:
        level = max((self.edges[edge].level for edge in received_on(rule)), default=0)
        columns = tuple(Column(stream.name, column, kind) for column, kind in stream.columns)
        edge = Edge(
            digest("E", "held", rule.id, store.id), rule.id, store.id, "shuffle", None, level + 1, columns
        )
        self.edges[edge.id] = edge
        kept = StoreRule(digest("K", edge.id), edge.id, store.id)
        self.rules[kept.id] = kept
        return edge.id

    def _settle(self, one: Planned, store: GraphStore, chains: list[Chain]) -> None:
        name, names = one.conjunctive.name, self._settled_names(one)
        level = max(chain.level for chain in chains) + 1
        identity = digest("T", store.id, [chain.rule for chain in chains])
        start = names[one.branch.inputs[0].alias]
        read = {column for column in _read_of_results(one.branch) if column.input in self.names[name]}
        read |= {
            Column(item.alias, self.catalog[item.stream].event_time, ColumnType.TIMESTAMP)
            for item in one.branch.inputs
        }
        edge = self.trees.due(name, store, names, start, read, level, "home", None, store.id, identity)
        found = []
        for chain, absence in zip(chains, one.branch.absences, strict=True):
            answer = Edge(
                id=digest("E", "found", chain.rule, identity),
                origin=chain.rule,
                target=store.id,
                kind="home",
                key=None,
                level=level,
                columns=in_order(chain.newest),
            )
            self.trees.lead_on(chain.rule, answer)
            found.append(Found(answer.id, absence.present, chain.newest))
        outputs = tuple((o.name, rename_inputs(o.expression, names)) for o in one.branch.outputs)
        self.rules[identity] = SettleRule(
            id=identity,
            hold=name,
            edge=edge.id,
            start=start,
            inputs=tuple(sorted(names.values())),
            found=tuple(found),
            emits=(
                Emit(
                    answered(one.query),
                    tuple(rename_inputs(condition, names) for condition in one.branch.residuals),
                    (),
                    outputs,
                ),
            ),
        )

    def _settled_names(self, one: Planned) -> dict[str, str]:
        """By alias, the canonical inputs of a branch and of what its as-of joins find."""
        names = dict(self.names[one.conjunctive.name])
        for absence in one.branch.newest:
            (item,) = absence.inputs
            free = (canonical_input(item.stream, number) for number in count(1))
            names[item.alias] = next(name for name in free if name not in names.values())
        return names

    # Surroundings

    def _query(self, query: Query) -> GraphQuery:
        names: dict[str, str] = {}
        for one in (one for one in self.planned if one.query is query):
            for alias, name in self._settled_names(one).items():
                names.setdefault(alias, name)
        for item in query.inputs:
            number = 1
            while item.alias not in names:
                name = canonical_input(item.stream, number)
                if name not in names.values():
                    names[item.alias] = name
                number += 1
        return GraphQuery(
            name=query.name,
            sql=self.texts.get(query.name) or query_text(query),
            inputs=tuple(
                QueryInput(item.alias, names[item.alias], item.stream, item.window)
                for item in needed_windows(query, self.catalog)
            ),
            outputs=tuple((output.name, output.expression.type) for output in query.outputs),
            # Of what waits no stream joins late tuples: `optimizer.sql.binding.outer.deadlines`. Of a running
            # group it is not asked whether one of its tuples was late.
            marks_late=query.grouping is None
            and any(self.catalog[item.stream].late == "join" for item in query.inputs),
            key=_key(query),
        )


def _key(query: Query) -> tuple[str, ...] | None:
    """The outputs that are the keys of running groups; None if results stay."""
    if query.grouping is None or not query.grouping.changes:
        return None
    keys = [Column(GROUP, name, key.type) for name, key in query.grouping.keys]
    return tuple(next(o.name for o in query.outputs if o.expression == key) for key in keys)


def _read_of_results(branch: Branch) -> set[Column]:
    """The columns that results, and conditions on results alone, read."""
    outputs = (output.expression for output in branch.outputs)
    return {column for expression in (*outputs, *branch.residuals) for column in columns_of(expression)}
