"""Compute an argument once where its function reads it more than once.

An expression is a tree to Polars: what stands in it twice is computed twice, and nested calls would
double the work at every level. So where such an argument is itself a call, it is computed first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import polars as pl

from jobs.expressions.dtypes import DTYPES
from optimizer.algebra.expression import Call, Literal
from optimizer.algebra.types import ColumnType

T = ColumnType
Implementation = Callable[[Call, Sequence[pl.Expr]], pl.Expr]

_ALWAYS = frozenset({"integer_divide", "modulo", "nullif", "least", "greatest", "in", "substring", "epoch"})
_WITH_OVERFLOW = frozenset({"add", "subtract", "multiply", "negate", "abs"})


def computed_once(call: Call, arguments: Sequence[pl.Expr], implement: Implementation) -> pl.Expr:
    """The call by `implement`, each argument that is a call computed once."""
    if not _reads_twice(call) or not any(isinstance(argument, Call) for argument in call.arguments):
        return implement(call, arguments)
    names = {
        number: str(number)
        for number, argument in enumerate(call.arguments)
        if not isinstance(argument, Literal)
    }
    inner = implement(
        call, [pl.col(names[n]) if n in names else argument for n, argument in enumerate(arguments)]
    )
    return pl.map_batches(
        [arguments[number] for number in names],
        partial(_computed, tuple(names.values()), inner),
        return_dtype=DTYPES[call.type],
        is_elementwise=True,
    )


def _reads_twice(call: Call) -> bool:
    if call.function in _WITH_OVERFLOW:
        return call.type in (T.BIGINT, T.DATE) or (call.function == "abs" and call.type is T.INT)
    if call.function == "round":
        return len(call.arguments) == 2
    if call.function == "cast":
        return call.type is T.TIMESTAMP and call.arguments[0].type is T.DATE
    return call.function in _ALWAYS


def _computed(names: Sequence[str], inner: pl.Expr, columns: Sequence[pl.Series]) -> pl.Series:
    height = 0 if any(column.is_empty() for column in columns) else max(len(column) for column in columns)
    frame = pl.DataFrame(
        {
            name: column if len(column) == height else column.new_from_index(0, height)
            for name, column in zip(names, columns, strict=True)
        }
    )
    # A column beside it keeps the height where the answer is the same for all rows.
    return frame.with_columns(inner.alias("@")).get_column("@").alias(columns[0].name)
