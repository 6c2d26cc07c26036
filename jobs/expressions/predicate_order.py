"""Order a conjunction so that expensive conditions see what cheaper ones let pass.

A filter with several conditions evaluates all of them for all rows. That is the fastest for comparisons,
and ruinous for a user function that takes microseconds per row. Such conditions stand in a filter as
one expression, which drops rows from one condition to the next by itself; it stays an expression over
columns, so that the engine may still check pairs as it forms them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import polars as pl

from jobs.expressions import compile_expression
from jobs.expressions.guarded import guard, raised_by_a_row
from jobs.plan.tuples import column_name
from optimizer.algebra.expression import Column, Expression, columns_of
from optimizer.algebra.normalize import conjuncts
from optimizer.algebra.udf_names import calls_user_function


def staged(conditions: Sequence[Expression], cheap: Sequence[pl.Expr] = ()) -> tuple[pl.Expr, ...]:
    """What to filter by so that all conditions hold.

    Args:
        conditions: in the order in which those that call user functions are to be evaluated
            (`optimizer.udf.pair_cost.rank`); a conjunction counts as its parts.
        cheap: further conditions, which come first.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.algebra.expression import Call, Column
    >>> a, b = (Column("r", name, ColumnType.BIGINT) for name in "ab")
    >>> len(staged([Call("eq", (a, b), ColumnType.BOOLEAN), Call("lt", (a, b), ColumnType.BOOLEAN)]))
    2
    """
    parts = [part for condition in conditions for part in conjuncts(condition)]
    first = [*cheap, *(compile_expression(part) for part in parts if not calls_user_function(part))]
    costly = tuple(part for part in parts if calls_user_function(part))
    if not costly:
        return tuple(first)
    names = sorted({column_name(column) for part in costly for column in columns_of(part)})
    screen = partial(_screen, tuple(compile_expression(part) for part in costly))
    passed = pl.all_horizontal(first) if first else pl.lit(True)
    return (
        pl.map_batches(
            [passed, *(pl.col(name) for name in names)],
            screen,
            return_dtype=pl.Boolean(),
            is_elementwise=True,
        ),
    )


def passing(
    condition: Expression, rows: pl.DataFrame, beside: Callable[[], Sequence[Column]] = tuple
) -> pl.DataFrame:
    """The rows for which a condition holds; where it raises it does not.

    `beside` gives what is then told of such a row, see `guarded.guard`.
    """
    try:
        return rows.filter(*staged([condition]))
    except BaseException as error:
        if not raised_by_a_row(error):
            raise
        return rows.filter(*staged([guard(condition, beside())]))


def _screen(costly: Sequence[pl.Expr], columns: Sequence[pl.Series]) -> pl.Series:
    passed, *read = columns
    frame = pl.DataFrame(read)
    rows = np.arange(frame.height)
    if len(passed) != frame.height:
        passed = passed.new_from_index(0, frame.height)
    kept = passed.fill_null(False)
    for condition in costly:
        rows, frame = rows[kept.to_numpy()], frame.filter(kept)
        if frame.is_empty():
            break
        try:
            kept = frame.select(condition).to_series().fill_null(False)
        except pl.exceptions.PanicException as error:
            # Polars may wait for ever where a panic leaves a function that it has called.
            raise RuntimeError(str(error)) from error
    else:
        rows = rows[kept.to_numpy()]
    answer = np.zeros(len(passed), dtype=np.bool_)
    answer[rows] = True
    return pl.Series(passed.name, answer)
