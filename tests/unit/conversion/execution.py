"""A converted plan carried out: multi-way joins by the interpreter, the rest by DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from optimizer.catalog import Catalog
from optimizer.conversion import Conversion, ConvertedJoin
from optimizer.expression_sql import duckdb_type, quote
from optimizer.interpret import Row, interpret
from optimizer.plan import plan
from optimizer.sql import to_duckdb


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


def execute(
    conversion: Conversion, catalog: Catalog, tables: Mapping[str, pa.Table], method: str = "greedy"
) -> Answers:
    """Compute the joins in their order, each over its streams in two batches, then the rest."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        joins = tuple(_join(joined, catalog, tables, method, connection) for joined in conversion.joins)
        return Answers(joins, tuple(connection.execute(conversion.rest).fetchall()))


def _join(
    joined: ConvertedJoin,
    catalog: Catalog,
    tables: Mapping[str, pa.Table],
    method: str,
    connection: duckdb.DuckDBPyConnection,
) -> JoinAnswer:
    query = joined.join.query
    inputs = dict(tables)
    for derived in joined.derived:
        rows = connection.sql(derived.rows).to_arrow_table()
        inputs[derived.stream.name] = rows
        connection.register(derived.stream.name, rows)
    known = Catalog.of([*catalog, *(derived.stream for derived in joined.derived)])
    read = {entry.stream: inputs[entry.stream] for entry in query.inputs}
    batches = [
        {name: rows.slice(0, rows.num_rows // 2) for name, rows in read.items()},
        {name: rows.slice(rows.num_rows // 2) for name, rows in read.items()},
    ]
    rows = interpret(plan([query], known, method=method).graph, batches)[query.name]
    expected = Counter(connection.execute(to_duckdb(query, known)).fetchall())
    columns = [f"{quote(o.name)} {duckdb_type(o.expression.type)}" for o in query.outputs]
    connection.execute(f"CREATE TABLE {quote(query.name)} ({', '.join(columns)})")
    if rows:
        result = pa.table({o.name: [row[i] for row in rows] for i, o in enumerate(query.outputs)})
        connection.register("answered", result)
        connection.execute(f"INSERT INTO {quote(query.name)} BY NAME FROM answered")
        connection.unregister("answered")
    return JoinAnswer(query.name, Counter(rows), expected)
