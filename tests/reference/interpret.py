"""A physical graph executed in memory: what the runtime must compute, without its machinery.

Every rule is one SQL statement of DuckDB over tables of messages and of stored tuples, so
expressions mean exactly what they mean in the test oracle, while everything that makes a plan
right or wrong (order, levels, windows, routing, columns, leaves) is taken from the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from optimizer.algebra.expression import Column, Expression
from optimizer.algebra.render import duckdb_type, quote, to_duckdb_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.canonical_inputs import stream_of
from optimizer.physical.graph import Edge, GraphStore, Grid, Grids, PhysicalGraph, Slices
from optimizer.physical.rules import Emit, ProbeRule, SourceRule, StoreRule, WindowBound
from optimizer.udf.duckdb import register
from optimizer.udf.registry import NO_FUNCTIONS, FunctionRegistry

Row = tuple[Any, ...]


def interpret(
    graph: PhysicalGraph,
    batches: Iterable[Mapping[str, pa.Table]],
    functions: FunctionRegistry = NO_FUNCTIONS,
) -> dict[str, list[Row]]:
    """All results of every query over the given input.


    Args:
        graph: a valid graph (`optimizer.physical.validate`).
        batches: for each batch the new tuples by stream, with the stream's columns. Tuples arrive
            batch by batch, within it by stream name and row. Nothing is late or evicted.
        functions: those that the graph's expressions may call.

    Returns:
        Rows by query, in the order of the query's outputs; their own order means nothing.
    """
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        register(connection, functions)
        interpreter = _Interpreter(graph, connection)
        for batch in batches:
            interpreter.feed(batch)
        return interpreter.results


class _Interpreter:
    """Tables: `stream X` new tuples, an edge's id its messages, a store's id what it holds.

    Messages and stored tuples have one struct column per input, which is why an expression's
    `"input"."column"` reads from them unchanged, and `@a` and `@k`, the start tuple's arrival
    number and ordinal.
    """

    def __init__(self, graph: PhysicalGraph, connection: duckdb.DuckDBPyConnection) -> None:
        self.graph = graph
        self.connection = connection
        self.results: dict[str, list[Row]] = {query.name: [] for query in graph.queries}
        self.edges = {edge.id: edge for edge in graph.edges}
        self.stores = {store.id: store for store in graph.stores}
        self.event_times = {stream.name: stream.event_time for stream in graph.streams}
        self.streams = {stream.name: stream for stream in graph.streams}
        self.arrived = 0
        self.filled: set[str] = set()

    def feed(self, batch: Mapping[str, pa.Table]) -> None:
        """One batch through all levels: within a level every store rule before every probe rule."""
        for name, stream in self.streams.items():
            table = batch.get(name)
            if table is None:
                columns = ", ".join(f"NULL AS {quote(c)}" for c, _ in stream.columns)
                source = f"(SELECT {columns} LIMIT 0)"
            else:
                self.connection.register("arriving", table)
                source = "arriving"
            columns = ", ".join(
                f"{quote(c)}::{duckdb_type(kind)} AS {quote(c)}" for c, kind in stream.columns
            )
            self._table(
                _new(name),
                f'SELECT {columns}, {self.arrived} + row_number() OVER () AS "@a" FROM {source}',
            )
            self.arrived += 0 if table is None else table.num_rows
        for rule in self.graph.rules:
            if isinstance(rule, SourceRule):
                self._source(rule)
        for level in range(1, self.graph.depth + 1):
            here = [r for r in self.graph.rules if not isinstance(r, SourceRule)]
            here = [r for r in here if self.edges[r.edge].level == level]
            for rule in here:
                if isinstance(rule, StoreRule):
                    self._store(rule)
            for rule in here:
                if isinstance(rule, ProbeRule):
                    self._probe(rule)

    def _source(self, rule: SourceRule) -> None:
        condition = "TRUE" if rule.filter is None else to_duckdb_sql(rule.filter)
        name = quote(rule.input)
        fields = ", ".join(f"{quote(c)} := {name}.{quote(c)}" for c, _ in self.streams[rule.stream].columns)
        self._table(
            rule.id,
            f'SELECT struct_pack({fields}) AS {name}, {name}."@a" AS "@a", {_ordinal_of(rule.input)} AS "@k" '
            f"FROM {quote(_new(rule.stream))} AS {name} WHERE {condition}",
        )
        self._send(rule.id, rule.out, rule.emits)

    def _store(self, rule: StoreRule) -> None:
        if rule.store in self.filled:
            self.connection.execute(f"INSERT INTO {quote(rule.store)} BY NAME FROM {quote(rule.edge)}")
        else:
            self._table(rule.store, f"FROM {quote(rule.edge)}")
            self.filled.add(rule.store)

    def _probe(self, rule: ProbeRule) -> None:
        store, edge = self.stores[rule.store], self.edges[rule.edge]
        stored = ", ".join(f"{quote(old)} AS {quote(new)}" for old, new in rule.renames)
        # A base store's tuple stands for the input that it is probed as; a result remembers its start.
        ordinal = str(_ordinal_of(rule.renames[0][1])) if store.is_base else '"@k"'
        conditions = ['(s."@sa", s."@sk") < (m."@a", m."@k")', *self._windows(rule.windows)]
        for equality in rule.equalities:
            conditions.append(f"{to_duckdb_sql(equality.probe)} = {to_duckdb_sql(equality.stored)}")
        conditions += [to_duckdb_sql(predicate) for predicate in rule.predicates]
        conditions += self._same_task(rule, edge)
        tasks = _kept_in(store) if isinstance(store.partitioning, Grid | Grids) else ""
        if edge.kind == "grid":
            conditions.append(_asked(store))
        names = ", ".join(quote(name) for name in sorted({*rule.bound, *(new for _, new in rule.renames)}))
        self._table(
            rule.id,
            f'SELECT {names}, m."@a" AS "@a", m."@k" AS "@k" FROM {quote(rule.edge)} AS m JOIN '
            f'(SELECT {stored}, "@a" AS "@sa", {ordinal} AS "@sk"{tasks} '
            f"FROM {quote(rule.store)}) AS s "
            f"ON {' AND '.join(f'({condition})' for condition in conditions)}",
        )
        self._send(rule.id, rule.out, rule.emits)

    def _same_task(self, rule: ProbeRule, edge: Edge) -> list[str]:
        """Only the task that the message was sent to is searched."""
        store = self.stores[rule.store]
        if edge.kind == "slices":
            return [self._touched(rule, store)]
        column = store.partitioning
        if edge.kind != "group_by" or edge.key is None or not isinstance(column, Column):
            return []
        held = Column(dict(rule.renames)[column.input], column.name, column.type)
        # A key that the column's type cannot hold has no partners: any task may search for them.
        sides = (f"TRY_CAST({to_duckdb_sql(c)} AS {duckdb_type(column.type)})" for c in (edge.key, held))
        return [" = ".join(f"hash({side}) % {store.tasks}" for side in sides)]

    def _touched(self, rule: ProbeRule, store: GraphStore) -> str:
        """The stored tuple's slice is in a task that one of the slices is in that the windows touch."""
        stored = rule.renames[0][1]
        windows = {bound.input: bound.window.reach_us for bound in rule.windows}
        assert isinstance(store.partitioning, Slices)
        width = store.partitioning.width_us(store.retention[0])
        times = {name: f"epoch_us({self._time(name)})::HUGEINT" for name in (*rule.bound, stored)}
        upper = [f"{times[n]} + {windows[n]}" for n in rule.bound if windows[n] is not None]
        if not upper:
            return "true"
        oldest = f"greatest({', '.join(times[name] for name in rule.bound)}) - {windows[stored]}"
        first, last, own = (
            f"floor(({time}) / {width})" for time in (oldest, f"least({', '.join(upper)})", times[stored])
        )
        ahead = f"(({own} - {first}) % {store.tasks} + {store.tasks}) % {store.tasks}"
        return f"{ahead} <= {last} - {first}"

    def _windows(self, bounds: tuple[WindowBound, ...]) -> list[str]:
        return [
            f"epoch_us({self._time(other.input)})::HUGEINT - epoch_us({self._time(bound.input)}) "
            f"<= {bound.window.reach_us}"
            for bound in bounds
            for other in bounds
            if bound.window.is_bounded and other.input != bound.input
        ]

    def _time(self, name: str) -> str:
        return f"{quote(name)}.{quote(self.event_times[stream_of(name)])}"

    def _send(self, origin: str, out: tuple[str, ...], emits: tuple[Emit, ...]) -> None:
        for name in out:
            columns: dict[str, list[str]] = {}
            for column in self.edges[name].columns:
                field = f"{quote(column.name)} := {quote(column.input)}.{quote(column.name)}"
                columns.setdefault(column.input, []).append(field)
            packed = ", ".join(f"struct_pack({', '.join(f)}) AS {quote(n)}" for n, f in columns.items())
            self._table(name, f'SELECT {packed}, "@a", "@k" FROM {quote(origin)}')
        for emit in emits:
            conditions = [to_duckdb_sql(residual) for residual in emit.residuals]
            conditions += self._windows(emit.windows)
            condition = " AND ".join(f"({c})" for c in conditions) or "TRUE"
            outputs = ", ".join(_typed(expression) for _, expression in emit.outputs)
            rows = self.connection.execute(
                f"SELECT {outputs} FROM {quote(origin)} WHERE {condition}"
            ).fetchall()
            self.results[emit.query] += rows

    def _table(self, name: str, select: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(name)} AS {select}")


def _kept_in(store: GraphStore) -> str:
    """Column `@t`: every task of a grid's column that keeps a tuple with arrival number `@a`."""
    place = f'"@a" % {store.tasks}'
    columns = " ".join(
        f"WHEN {place} < {grid.after} "
        f"THEN range({grid.first} + ({place} - {grid.first}) % {grid.columns}, {grid.after}, {grid.columns})"
        for grid in store.grids
    )
    return f', unnest(CASE {columns} END) AS "@t"'


def _asked(store: GraphStore) -> str:
    """True for a stored tuple's task in the row of its grid that a message goes to."""
    rows = " ".join(
        f'WHEN s."@t" < {grid.after} THEN (s."@t" - {grid.first}) // {grid.columns} = m."@a" % {grid.rows}'
        for grid in store.grids
    )
    return f"CASE {rows} END"


def _new(stream: str) -> str:
    return f"stream {stream}"


def _typed(expression: Expression) -> str:
    text = to_duckdb_sql(expression)
    return text if expression.type is ColumnType.INTERVAL else f"({text})::{duckdb_type(expression.type)}"


def _ordinal_of(canonical_input: str) -> int:
    """The 1-based ordinal of a canonical input among its stream's occurrences."""
    _, _, ordinal = canonical_input.partition("#")
    return int(ordinal) if ordinal else 1
