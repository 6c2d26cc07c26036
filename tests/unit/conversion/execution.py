"""A converted plan carried out: its multi-way joins by the interpreter or otherwise, the rest by DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from optimizer.algebra.render import duckdb_type, quote
from optimizer.conversion import Conversion, ConvertedJoin
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.planner.plan import plan
from optimizer.sql import to_duckdb
from tests.reference.interpret import Row, interpret

Answering = Callable[[Query, Catalog, Mapping[str, pa.Table]], Sequence[Row]]
"""Gives the rows of a join, whose streams are the catalog's and have these tuples."""


@dataclass(frozen=True, slots=True)
class JoinAnswer:
    """What a multi-way join gave, and what DuckDB gives for its query."""

    name: str
    found: Counter[Row]
    expected: Counter[Row]


@dataclass(frozen=True, slots=True)
class Answers:
    joins: tuple[JoinAnswer, ...]
    whole: tuple[Row, ...]
    """The converted plan's rows, in its order."""


def interpreted(method: str) -> Answering:
    """Joins answered by the interpreter, from a plan of that method, over their streams in two batches."""

    def answer(query: Query, known: Catalog, inputs: Mapping[str, pa.Table]) -> Sequence[Row]:
        batches = [
            {name: rows.slice(0, rows.num_rows // 2) for name, rows in inputs.items()},
            {name: rows.slice(rows.num_rows // 2) for name, rows in inputs.items()},
        ]
        return interpret(plan([query], known, method=method).graph, batches)[query.name]

    return answer


def execute(
    conversion: Conversion, catalog: Catalog, tables: Mapping[str, pa.Table], answering: Answering
) -> Answers:
    """Compute the joins in their order, then the rest."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        joins = tuple(_join(joined, catalog, tables, answering, connection) for joined in conversion.joins)
        return Answers(joins, tuple(connection.execute(conversion.rest).fetchall()))


def complete_subqueries(
    joined: ConvertedJoin, connection: duckdb.DuckDBPyConnection
) -> tuple[Catalog, dict[str, pa.Table]]:
    """The streams that a join's subqueries become, and their tuples, over the tables that are complete."""
    rows = {derived.stream.name: connection.sql(derived.rows).to_arrow_table() for derived in joined.derived}
    return Catalog.of(derived.stream for derived in joined.derived), rows


def _join(
    joined: ConvertedJoin,
    catalog: Catalog,
    tables: Mapping[str, pa.Table],
    answering: Answering,
    connection: duckdb.DuckDBPyConnection,
) -> JoinAnswer:
    query = joined.join.query
    subqueries, complete = complete_subqueries(joined, connection)
    for name, tuples in complete.items():
        connection.register(name, tuples)
    known = Catalog.of([*catalog, *subqueries])
    inputs = {**tables, **complete}
    rows = answering(query, known, {entry.stream: inputs[entry.stream] for entry in query.inputs})
    expected = Counter(connection.execute(to_duckdb(query, known)).fetchall())
    columns = [f"{quote(o.name)} {duckdb_type(o.expression.type)}" for o in query.outputs]
    connection.execute(f"CREATE TABLE {quote(query.name)} ({', '.join(columns)})")
    if rows:
        result = pa.table({o.name: [row[i] for row in rows] for i, o in enumerate(query.outputs)})
        connection.register("answered", result)
        connection.execute(f"INSERT INTO {quote(query.name)} BY NAME FROM answered")
        connection.unregister("answered")
    return JoinAnswer(query.name, Counter(rows), expected)
