"""Groups of a graph: where their states wait, and what finishes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from optimizer.algebra.aggregates import states
from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Call, Column, rename_inputs
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import group_wait_us
from optimizer.logical.grouping import GROUP, Aggregate, Grouping
from optimizer.logical.query import Query
from optimizer.logical.window import UNBOUNDED, Sliding
from optimizer.physical.graph import Edge, GraphStore, GraphStream, Hold, StoredInput
from optimizer.physical.groups import GROUP_HASH, LAST_TIME, GroupAggregate, Groups, Rank
from optimizer.physical.rules import (
    AggregateRule,
    DueRule,
    Emit,
    Rule,
    SettleRule,
    SourceRule,
    StoreRule,
)


def answered(query: Query) -> str:
    """The query that leaves with combinations answer, or the hold of its groups."""
    return query.name if query.grouping is None else f"{query.name}~groups"


@dataclass(frozen=True, slots=True)
class GroupWriter:
    """Adds the groups of queries to the elements of a graph."""

    catalog: Catalog
    stores: dict[str, GraphStore]
    edges: dict[str, Edge]
    rules: dict[str, Rule]

    def write(self, query: Query, deadline: str, start: str, tasks: int) -> Hold:
        """Write a query's groups behind all of its leaves, and say how they are held.

        Args:
            query: with groups.
            deadline: the event-time column of what is held.
            start: an input of the query, to tell by it what fails.
            tasks: of the store.
        """
        grouping = query.grouping
        assert grouping is not None
        name, groups = answered(query), _groups(query, grouping, self.catalog)
        if groups.running:
            return self._running(query, grouping, groups, deadline, start, tasks)
        kept = (*groups.taken[: groups.keys], *(state for one in groups.aggregates for state in one.states))
        if groups.gap_us:
            kept = (*kept, (LAST_TIME, ColumnType.TIMESTAMP))
        stream = GraphStream(f"@{name}", deadline, ((deadline, ColumnType.TIMESTAMP), *kept), 0, "drop")
        store = GraphStore(
            id=digest("S", "groups", name, query.branches, groups),
            label=f"{query.name}: groups",
            inputs=(StoredInput(stream.name, stream.name, tuple(column for column, _ in stream.columns)),),
            partitioning=None,
            tasks=tasks,
            retention=(Sliding(0),),
        )
        self.stores[store.id] = store
        leaves = self._leaves(name)
        level = 1 + max([1, *(self._level(rule) for rule in leaves if isinstance(rule, SettleRule))])
        columns = tuple((column, Column(stream.name, column, kind)) for column, kind in kept)
        identity = digest("D", store.id, columns)
        due = self._edge("due", identity, store, level, [column for _, column in columns])
        self.rules[identity] = DueRule(identity, name, start, (), columns, (due.id,))
        direct = tuple(
            (rule.id, self._edge("direct", rule.id, store, level, [column for _, column in columns]).id)
            for rule in leaves
            if isinstance(rule, SettleRule)
        )
        last = digest("A", store.id)
        self.rules[last] = AggregateRule(
            id=last,
            hold=name,
            edge=due.id,
            direct=tuple(edge for _, edge in direct),
            start=start,
            emits=(_answer(query, grouping, stream.name),),
        )
        groups = replace(groups, ranks=_ranks(grouping, stream.name))
        return Hold(
            name=name,
            query=query.name,
            label="groups",
            stream=stream,
            store=store.id,
            edges=tuple((rule.id, self._kept(rule, store, stream)) for rule in leaves),
            times=(groups.bucket,),
            deadlines=(),
            looks=(),
            direct=direct,
            groups=groups,
            tier=query.tier,
        )

    def _running(
        self, query: Query, grouping: Grouping, groups: Groups, deadline: str, start: str, tasks: int
    ) -> Hold:
        """Write groups without an end: a rule behind all leaves, beside their states."""
        name = answered(query)
        kept = (
            (deadline, ColumnType.TIMESTAMP),
            (GROUP_HASH, ColumnType.BIGINT),
            *groups.taken[: groups.keys],
            *(state for one in groups.aggregates for state in one.states),
        )
        # A plan with other tasks finds the states by what the stream is called: by all that they are made of.
        stream = GraphStream(f"@{name}~{digest('G', query.branches, groups)}", deadline, kept, 0, "drop")
        placing = Column(stream.name, GROUP_HASH, ColumnType.BIGINT)
        store = GraphStore(
            id=digest("S", "running", stream.name, tasks),
            label=f"{query.name}: groups",
            inputs=(StoredInput(stream.name, stream.name, tuple(column for column, _ in kept)),),
            partitioning=placing,
            tasks=tasks,
            retention=(UNBOUNDED,),
        )
        self.stores[store.id] = store
        leaves = self._leaves(name)
        level = 1 + max(self._level(rule) for rule in leaves)
        columns = tuple(Column(stream.name, column, kind) for column, kind in kept)
        edges = [
            Edge(
                digest("E", "running", rule.id, store.id),
                rule.id,
                store.id,
                "group_by",
                placing,
                level,
                columns,
            )
            for rule in leaves
        ]
        self.edges.update((edge.id, edge) for edge in edges)
        first, *others = (edge.id for edge in edges)
        last = digest("A", store.id)
        answer = _answer(query, grouping, stream.name)
        self.rules[last] = AggregateRule(last, name, first, tuple(others), start, (answer,))
        return Hold(
            name=name,
            query=query.name,
            label="groups",
            stream=stream,
            store=store.id,
            edges=tuple((rule.id, edge.id) for rule, edge in zip(leaves, edges, strict=True)),
            times=(),
            deadlines=(),
            looks=(),
            groups=groups,
            tier=query.tier,
        )

    def _leaves(self, name: str) -> list[Rule]:
        return [
            rule
            for rule in list(self.rules.values())
            if not isinstance(rule, StoreRule) and any(emit.query == name for emit in rule.emits)
        ]

    def _level(self, rule: Rule) -> int:
        return 0 if isinstance(rule, SourceRule | DueRule) else self.edges[rule.edge].level

    def _edge(self, kind: str, origin: str, store: GraphStore, level: int, columns: list[Column]) -> Edge:
        ordered = tuple(sorted(columns, key=lambda column: column.name))
        edge = Edge(digest("E", kind, origin, store.id), origin, store.id, "group", None, level, ordered)
        self.edges[edge.id] = edge
        return edge

    def _kept(self, rule: Rule, store: GraphStore, stream: GraphStream) -> str:
        """Write the edge along which a rule's leaf sends states to the store."""
        columns = tuple(Column(stream.name, column, kind) for column, kind in stream.columns)
        identity = digest("E", "held", rule.id, store.id)
        level = self._level(rule) + 1
        self.edges[identity] = Edge(identity, rule.id, store.id, "shuffle", None, level, columns)
        kept = digest("K", identity)
        self.rules[kept] = StoreRule(kept, identity, store.id)
        return identity


def _answer(query: Query, grouping: Grouping, stream: str) -> Emit:
    """The leaf of finished groups, over the columns of a hold's stream."""
    finished = {GROUP: stream}
    conditions = tuple(rename_inputs(condition, finished) for condition in grouping.conditions)
    outputs = tuple((o.name, rename_inputs(o.expression, finished)) for o in query.outputs)
    return Emit(query.name, conditions, (), outputs)


def _ranks(grouping: Grouping, stream: str) -> tuple[Rank, ...]:
    return tuple(
        Rank(rename_inputs(order.expression, {GROUP: stream}), order.descending, order.nulls_first)
        for order in grouping.order
    )


def _groups(query: Query, grouping: Grouping, catalog: Catalog) -> Groups:
    names, bucket, wait_us = grouping.taken, grouping.bucket, 0
    if bucket is not None:
        found_us, alias = group_wait_us(query, catalog)
        assert found_us is not None, f"{query.name} waits for {alias} for ever"
        wait_us = found_us

    def one(aggregate: Aggregate) -> GroupAggregate:
        types = [argument.type for argument in aggregate.arguments]
        return GroupAggregate(
            name=aggregate.name,
            function=aggregate.function,
            arguments=tuple(names[argument] for argument in aggregate.arguments),
            where=None if aggregate.where is None else names[aggregate.where],
            distinct=aggregate.distinct,
            type=aggregate.type,
            scheme=aggregate.scheme,
            states=tuple((f"{aggregate.name}.{s}", kind) for s, kind in states(aggregate.scheme, types)),
            constant=aggregate.constant,
            descending=tuple(one.descending for one in aggregate.directions),
            nulls_first=tuple(one.nulls_first for one in aggregate.directions),
        )

    return Groups(
        taken=tuple((name, expression.type) for expression, name in names.items()),
        keys=len(grouping.keys),
        bucket="" if bucket is None else bucket.key,
        size_us=0 if bucket is None else bucket.size_us,
        slide_us=0 if bucket is None else bucket.slide_us,
        overlapping=1 if bucket is None else bucket.overlapping,
        wait_us=wait_us,
        aggregates=tuple(map(one, grouping.aggregates)),
        limit=grouping.limit,
        beside=grouping.beside,
        gap_us=0 if bucket is None else bucket.gap_us,
        running=bucket is None,
        counted_by="" if grouping.counted_by is None else names[grouping.counted_by],
        by_oldest=isinstance(grouping.counted_by, Call) and grouping.counted_by.function == "least",
    )
