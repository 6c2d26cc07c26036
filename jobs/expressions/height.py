"""Expressions with a value per row, even where Polars finds one for all.

What Polars makes of `when`, or of constants, may have length 1. A comparison of two of those has it too,
and is no column for a filter or a table.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jobs.expressions.dtypes import DTYPES
from jobs.plan.tuples import column_name
from optimizer.algebra.expression import Call, Column, Expression, columns_of
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import is_null

T = ColumnType
_BY_CHOICE = frozenset({"case", "coalesce", "nullif", "least", "greatest", "integer_divide", "modulo"}) | {
    *("round", "substring", "epoch", "abs"),
}
_CHECKED = frozenset({"add", "subtract", "multiply", "negate"})
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "in"})


def broadcast(expression: Expression, compiled: pl.Expr) -> pl.Expr:
    """The compiled expression with the height of the columns that it reads."""
    column = min(map(column_name, columns_of(expression)), default=None)
    if column is None or not may_be_short(expression):
        return compiled
    if expression.type is T.BOOLEAN:
        known = pl.col(column).is_null()
        return compiled | (known & ~known)
    return pl.map_batches(
        [compiled, pl.col(column)], _repeated, return_dtype=DTYPES[expression.type], is_elementwise=True
    )


def may_be_short(expression: Expression) -> bool:
    """True if Polars may find one value for all rows.

    >>> from optimizer.algebra.expression import Literal
    >>> may_be_short(Literal(1, ColumnType.INT)), may_be_short(Column("r", "a", ColumnType.INT))
    (True, False)
    """
    if isinstance(expression, Column):
        return False
    if not isinstance(expression, Call):
        return True
    if expression.function in _BY_CHOICE and (expression.function, expression.type) != ("abs", T.DOUBLE):
        return True
    if expression.function in _COMPARISONS and any(map(_may_be_null_for_all, expression.arguments)):
        # Polars repeats NULL for such a one, and what is made of that may be short.
        return True
    if expression.function in _CHECKED and expression.type in (T.BIGINT, T.DATE):
        return True
    if expression.function == "cast" and expression.arguments[0].type is T.DATE:
        return True
    return all(may_be_short(argument) for argument in expression.arguments)


def _may_be_null_for_all(argument: Expression) -> bool:
    """True if Polars may find NULL for all rows."""
    return is_null(argument) or (isinstance(argument, Call) and may_be_short(argument))


def _repeated(columns: Sequence[pl.Series]) -> pl.Series:
    found, beside = columns
    return found if len(found) == len(beside) else found.new_from_index(0, len(beside))
