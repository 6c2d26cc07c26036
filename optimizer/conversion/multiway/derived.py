"""Types of subqueries' columns, as DuckDB binds them over empty tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import duckdb

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.render import duckdb_type, quote
from optimizer.algebra.types import ColumnType
from optimizer.conversion.binary.rendering import query_sql
from optimizer.conversion.binary.tree import Derived, Node
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream

T = ColumnType
EVENT_TIME = "event_time"
_TYPES: Mapping[str, ColumnType] = {
    "TINYINT": T.INT,
    "SMALLINT": T.INT,
    "INTEGER": T.INT,
    "BIGINT": T.BIGINT,
    # A sum of whole numbers; one beyond 64 bits fails when it is computed.
    "HUGEINT": T.BIGINT,
    "FLOAT": T.DOUBLE,
    "DOUBLE": T.DOUBLE,
    "VARCHAR": T.STRING,
    "BOOLEAN": T.BOOLEAN,
    "TIMESTAMP": T.TIMESTAMP,
    "DATE": T.DATE,
    "BLOB": T.BINARY,
    "UUID": T.UUID,
    "TIME": T.TIME,
}


def _type(text: str) -> ColumnType | None:
    if text.startswith("DECIMAL("):
        return ColumnType(text)
    return _TYPES.get(text)


class Binder:
    """A database without rows or access to files, in which queries are only bound."""

    def __init__(self, catalog: Catalog) -> None:
        self._connection = duckdb.connect(config={"threads": 1, "enable_external_access": False})
        for stream in catalog:
            columns = ", ".join(f"{quote(name)} {duckdb_type(kind)}" for name, kind in stream.columns)
            self._connection.execute(f"CREATE TABLE {quote(stream.name)} ({columns})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def check(self, plan: Node, source: str) -> None:
        """Raise `InputError` for a plan whose expressions lack types, such as 'x' + DATE."""
        try:
            self._connection.execute(f"DESCRIBE {query_sql(plan)}")
        except duckdb.Error as error:
            found = str(error).splitlines()[0]
            raise InputError("type-mismatch", Place(source), found, "expressions that DuckDB types") from None

    def stream(self, derived: Derived) -> Stream | None:
        """A derived table as a stream; None if a column has a type that streams lack.

        Event time is a column added to it, always the same, so it never decides anything.
        """
        rows = self._connection.execute(f"DESCRIBE {query_sql(derived.input)}").fetchall()
        columns = [(str(name), _type(str(kind))) for name, kind, *_ in rows]
        known = tuple((name, kind) for name, kind in columns if kind is not None)
        if len(known) < len(columns):
            return None
        time = EVENT_TIME
        while any(name.casefold() == time for name, _ in known):
            time += "_"
        return Stream(derived.alias, (*known, (time, T.TIMESTAMP)), time)


def rows_sql(derived: Derived, stream: Stream) -> str:
    """SQL that gives the tuples of a derived table's stream.

    Args:
        derived: over streams' tables and over the tables of the multi-way joins below it.
        stream: as `Binder.stream` made it.
    """
    columns = [
        f"CAST({quote(name)} AS {duckdb_type(kind)}) AS {quote(name)}"
        for name, kind in stream.columns
        if name != stream.event_time
    ]
    columns.append(f"TIMESTAMP '1970-01-01' AS {quote(stream.event_time)}")
    return f"SELECT {', '.join(columns)} FROM ({query_sql(derived.input)})"
