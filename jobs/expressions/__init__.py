"""Expression trees to Polars: DuckDB's meaning, evaluated in columns.

Columns are looked up as `input.column`. Where DuckDB would raise (integer overflow, division of
integers by zero, a cast of unreadable text) the value is NULL, as if each function stood inside
DuckDB's `TRY(...)`: a running job must outlive a bad tuple, and NULL makes no predicate true.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache

import polars as pl

from jobs.expressions.dtypes import DTYPES
from jobs.expressions.functions import arithmetic, logic, text
from jobs.expressions.functions import timestamps as moments
from jobs.expressions.functions import udf as user
from jobs.expressions.functions.casts import cast
from jobs.expressions.functions.reference import by_duckdb
from jobs.expressions.guarded import GUARD, guarded
from jobs.expressions.height import broadcast
from jobs.expressions.repeated import Implementation, computed_once
from jobs.plan.tuples import column_name
from optimizer.algebra.expression import Call, Column, Expression, Literal, columns_of
from optimizer.algebra.functions import FUNCTIONS
from optimizer.algebra.types import ColumnType
from optimizer.algebra.udf_names import user_name

IMPLEMENTATIONS: Mapping[str, Implementation] = {
    **{name: by_duckdb for name, function in FUNCTIONS.items() if function.rule == "signature"},
    **logic.IMPLEMENTATIONS,
    **arithmetic.IMPLEMENTATIONS,
    **text.IMPLEMENTATIONS,
    **moments.IMPLEMENTATIONS,
    "cast": cast,
}
"""By name in `optimizer.algebra.functions.FUNCTIONS`; a test holds the two sets together.

DuckDB computes what has a signature and nothing faster.
"""


@lru_cache(maxsize=4096)
def compile_expression(expression: Expression) -> pl.Expr:
    """Compile `expression` to Polars over columns named `input.column`.

    >>> from optimizer.algebra.expression import Call, Column
    >>> a, b = (Column("r", name, ColumnType.BIGINT) for name in "ab")
    >>> frame = pl.DataFrame({"r.a": [1, 2], "r.b": [1, None]})
    >>> frame.select(compile_expression(Call("eq", (a, b), ColumnType.BOOLEAN)).alias("x"))["x"].to_list()
    [True, None]

    Arguments: a typed expression; its columns must have the dtypes of
    `jobs.expressions.dtypes.DTYPES`. Returns an expression of the dtype of `expression.type`.
    Raises `KeyError` for a function outside `optimizer.algebra.functions`, `functions.udf.NotAllowed` for a
    user function that this process may not call.
    """
    return broadcast(expression, _compiled(expression))


def _compiled(expression: Expression) -> pl.Expr:
    match expression:
        case Column():
            return pl.col(column_name(expression))
        case Literal():
            return literal(expression)
        case Call():
            if expression.function == GUARD:
                return guarded(expression, compile_expression)
            arguments = [_compiled(argument) for argument in expression.arguments]
            if user_name(expression.function) is not None:
                return user.user_call(expression, arguments)
            compiled = computed_once(expression, arguments, IMPLEMENTATIONS[expression.function])
            return compiled if columns_of(expression) else constant(compiled, expression.type)


def constant(compiled: pl.Expr, kind: ColumnType) -> pl.Expr:
    """The value of an expression without columns.

    Polars cannot choose between one value and a column.
    """
    found = pl.select(compiled).to_series()
    dtype = DTYPES[kind]
    if kind.is_decimal:
        return pl.lit(found.item(), dtype=dtype)
    value = found.to_physical().item()
    return (
        pl.lit(value, dtype=dtype) if not dtype.is_temporal() else pl.lit(value, dtype=pl.Int64).cast(dtype)
    )


def literal(constant: Literal) -> pl.Expr:
    """A constant of its type; NULL has its type too."""
    value, dtype = constant.value, DTYPES[constant.type]
    if value is None:
        return pl.lit(None, dtype=dtype)
    match constant.type:
        case ColumnType.TIMESTAMP:
            return (
                pl.lit(datetime.fromisoformat(str(value)).replace(tzinfo=None))
                .cast(pl.Datetime("us"))
                .dt.replace_time_zone("UTC")
            )
        case ColumnType.DATE:
            return pl.lit(date.fromisoformat(str(value)), dtype=dtype)
        case ColumnType.TIME:
            return pl.lit(time.fromisoformat(str(value)), dtype=dtype)
        case ColumnType.BINARY:
            return pl.lit(bytes.fromhex(str(value)), dtype=dtype)
        case ColumnType.INTERVAL:
            return pl.lit(value, dtype=pl.Int64).cast(dtype)
        case kind if kind.is_decimal:
            return pl.lit(Decimal(str(value)), dtype=dtype)
        case _:
            return pl.lit(value, dtype=dtype)
