"""Fold constant expressions in DuckDB, the engine whose meaning is ours."""

from __future__ import annotations

import math
import os
from datetime import MAXYEAR, MINYEAR, date, time, timedelta
from decimal import Decimal
from functools import cache

import duckdb

from optimizer.algebra.expression import Call, Expression, Literal
from optimizer.algebra.functions import FUNCTIONS
from optimizer.algebra.functions.decimals import decimal_text
from optimizer.algebra.render import duckdb_type, over_columns, to_duckdb_sql
from optimizer.algebra.types import ColumnType

T = ColumnType
_BITS = {T.INT: 31, T.BIGINT: 63}


class ConstantError(ValueError):
    """A constant expression without a value, such as the root of -1."""


def connection() -> duckdb.DuckDBPyConnection:
    """An in-memory database of this process, without access to files.

    Callers take a cursor each.
    """
    return _connection(os.getpid())


@cache
def _connection(process: int) -> duckdb.DuckDBPyConnection:
    """One connection per process id: none survives a fork, as Celery's workers do."""
    made = duckdb.connect(config={"threads": 1, "enable_external_access": False})
    made.execute("SET GLOBAL TimeZone = 'UTC'")
    return made


def fold(expression: Call) -> Expression:
    """The literal that a call of literals equals; the call if no literal can say it.

    >>> fold(Call("add", (Literal(1, T.INT), Literal(2, T.INT)), T.INT)).value
    3

    Raises `ConstantError` where evaluation fails, for example on overflow.
    """
    try:
        row = connection().cursor().execute(f"SELECT {to_duckdb_sql(expression)}").fetchone()
    except duckdb.Error as error:
        raise ConstantError(str(error).splitlines()[0]) from None
    except (OverflowError, ValueError) as error:
        raise ConstantError(str(error)) from None
    value = row[0] if row else None
    match expression.type, value:
        case kind, None:
            return Literal(None, kind)
        case ((T.TIMESTAMP | T.DATE), date()) if value.year in (MINYEAR, MAXYEAR):
            # What lies beyond, as infinities do, is shown as the first or last moment that Python knows.
            return expression
        case ((T.TIMESTAMP | T.DATE | T.TIME), (date() | time())):
            return Literal(value.isoformat(), expression.type)
        case T.INTERVAL, timedelta():
            return Literal(value // timedelta(microseconds=1), T.INTERVAL)
        case T.BINARY, bytes():
            return Literal(value.hex(), T.BINARY)
        case T.DOUBLE, _:
            number = float(value)
            return Literal(number, T.DOUBLE) if math.isfinite(number) else expression
        case T.BOOLEAN, _:
            return Literal(bool(value), T.BOOLEAN)
        case ((T.INT | T.BIGINT), _):
            if not -(2 ** _BITS[expression.type]) <= value < 2 ** _BITS[expression.type]:
                # DuckDB has -(-2147483648) as a constant of the next type.
                raise ConstantError(f"{value} is no {expression.type}")
            return Literal(int(value), expression.type)
        case ((T.STRING | T.UUID), _):
            return Literal(str(value), expression.type)
        case kind, Decimal() if kind.is_decimal:
            return Literal(decimal_text(value, kind.scale), kind)
    return expression


def check_constants(call: Call) -> None:
    """Have DuckDB read the constants of a call of columns, such as a pattern.

    Raises `ConstantError` for one that it cannot read.
    """
    function = FUNCTIONS.get(call.function)
    if function is None or not function.constants(len(call.arguments)):
        return
    sql, read = over_columns(call)
    names = ", ".join(f"c{number}" for number in range(len(read)))
    nulls = ", ".join(f"CAST(NULL AS {duckdb_type(call.arguments[n].type)})" for n in read)
    try:
        # Two rows, because one would be a constant, for which nothing is read.
        connection().cursor().execute(f'SELECT {sql} FROM (VALUES ({nulls}), ({nulls})) AS "@"({names})')
    except duckdb.Error as error:
        raise ConstantError(str(error).splitlines()[0].partition(": ")[2]) from None
