"""Functions that DuckDB computes, as Polars reads, writes or counts otherwise.

A call costs a third of a millisecond however few rows it has, so the ordinary values of a function go
through Polars; what is left is rare: infinite times, years beyond 9999, unusual text.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from threading import get_ident
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from jobs.expressions.dtypes import DTYPES, FIRST_MOMENT, PAST_FOREVER
from optimizer.algebra.expression import Call
from optimizer.algebra.render import over_columns
from optimizer.algebra.types import ColumnType

if TYPE_CHECKING:
    import duckdb

Kernel = Callable[[pl.Series], pl.Series]


def referred(sql: str, arguments: Sequence[pl.Expr], result: ColumnType) -> pl.Expr:
    """DuckDB's answer for `sql` over c0, c1, ..., which must not raise (`TRY_CAST`)."""
    return pl.map_batches(
        list(arguments), partial(answers, sql, result), return_dtype=DTYPES[result], is_elementwise=True
    )


def by_duckdb(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """The call as DuckDB computes it.

    Constants stand in its SQL where the function asks for them, so that it reads a pattern once.
    """
    sql, read = over_columns(call)
    return referred(f"TRY({sql})", [arguments[n] for n in read] or [pl.lit(0)], call.type)


def guarded(
    fast: Kernel, ordinary: Callable[[pl.Series], bool], sql: str, argument: pl.Expr, result: ColumnType
) -> pl.Expr:
    """`fast` for ordinary values, and DuckDB's answer to `sql` over c0 for others."""

    def compute(column: pl.Series) -> pl.Series:
        if ordinary(column):
            return fast(column)
        return answers(sql, result, [column])

    return argument.map_batches(compute, return_dtype=DTYPES[result], is_elementwise=True)


def answers(sql: str, result: ColumnType, columns: Sequence[pl.Series]) -> pl.Series:
    """DuckDB's answers for whole columns; those of length 1 stand for constants.

    >>> answers("TRY_CAST(c0 AS BIGINT)", ColumnType.BIGINT, [pl.Series(["0x10", "x"])]).to_list()
    [16, None]
    """
    height = 0 if any(column.is_empty() for column in columns) else max(len(column) for column in columns)
    # Few topologies ever ask, and each of their processes would be slower to start.
    import duckdb

    table = pa.table(
        {
            f"c{number}": _readable(column if len(column) == height else column.new_from_index(0, height))
            for number, column in enumerate(columns)
        }
    )
    try:
        reading, ask = _prepared(os.getpid(), get_ident(), sql, tuple(column.dtype for column in columns))
        reading.table = table
        found = ask()
        reading.table = None
    except duckdb.Error:
        # A fatal one leaves the whole database unusable: the next call has another.
        _prepared.cache_clear()
        _database.cache_clear()
        raise
    answer = pl.Series(columns[0].name, pl.from_arrow(found.column(0)))
    if result is ColumnType.TIMESTAMP:
        answer = answer.dt.replace_time_zone("UTC")
    return answer if answer.dtype == DTYPES[result] else answer.cast(DTYPES[result])


def _readable(column: pl.Series) -> pa.Array:
    if column.dtype == pl.Time:
        return column.to_arrow().cast(pa.time64("us"))
    if isinstance(column.dtype, pl.Datetime):
        ticks = column.to_physical()
        first = ticks.min()
        if first is not None and first < FIRST_MOMENT:  # type: ignore[operator]
            # Times before the first that DuckDB knows are errors to some of its functions, fatal to others.
            known = pl.when((ticks >= FIRST_MOMENT) | (ticks == PAST_FOREVER)).then(ticks)
            column = pl.select(known).to_series().cast(pl.Datetime("us"))
        else:
            column = column.dt.replace_time_zone(None)
    return column.to_arrow(compat_level=pl.CompatLevel.oldest())


class _Reading:
    """The source of a relation, which reads another table each time that it is asked."""

    def __init__(self, table: pa.Table) -> None:
        self.table: pa.Table | None = table
        self._schema = table.schema

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        assert self.table is not None
        return self.table.__arrow_c_stream__(requested_schema)


@lru_cache(maxsize=1024)
def _prepared(
    process: int, thread: int, sql: str, dtypes: Sequence[pl.DataType]
) -> tuple[_Reading, Callable[[], pa.Table]]:
    """What is asked is bound once: that takes longer than the answers for some rows.

    One per thread, which DuckDB asks for, and per process, because none survives a fork.
    """
    empty = {f"c{number}": _readable(pl.Series([], dtype=dtype)) for number, dtype in enumerate(dtypes)}
    reading, cursor = _Reading(pa.table(empty)), _database(process).cursor()
    return reading, cursor.from_arrow(reading).set_alias("@").project(f"{sql} AS y").to_arrow_table


# DuckDB complains of what is left at the end.
atexit.register(_prepared.cache_clear)


@cache
def _database(process: int) -> duckdb.DuckDBPyConnection:
    import duckdb

    database = duckdb.connect(config={"threads": 1, "enable_external_access": False})
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    return database
