"""Functions of doubles with the same bits for one row, many rows and constants.

Polars computes otherwise where an operand is the same in all rows of a batch (a literal, one row, or a
CASE of which one branch was taken): it divides by multiplying with the reciprocal, raises to small
powers by multiplying, and leaves out adding 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import polars as pl


def by_vectors(function: np.ufunc, first: pl.Expr, second: pl.Expr) -> pl.Expr:
    """A function of NumPy's that rounds as IEEE 754 asks; NULL where an argument is."""
    return pl.map_batches(
        [first, second], partial(_vectors, function), return_dtype=pl.Float64, is_elementwise=True
    )


def _vectors(function: np.ufunc, columns: Sequence[pl.Series]) -> pl.Series:
    first, second = columns
    with np.errstate(all="ignore"):
        # NULLs are NaN here.
        found = pl.Series(first.name, function(first.to_numpy(), second.to_numpy()), dtype=pl.Float64)
    if not first.null_count() and not second.null_count():
        return found
    return pl.select(pl.when(first.is_not_null() & second.is_not_null()).then(found)).to_series()


def by_rows(function: Callable[[pl.Expr, pl.Expr], pl.Expr], first: pl.Expr, second: pl.Expr) -> pl.Expr:
    """A function of Polars' as it is where both arguments differ from row to row."""
    return pl.map_batches(
        [first, second], partial(_rows, function), return_dtype=pl.Float64, is_elementwise=True
    )


def _rows(function: Callable[[pl.Expr, pl.Expr], pl.Expr], columns: Sequence[pl.Series]) -> pl.Series:
    height = 0 if any(column.is_empty() for column in columns) else max(len(column) for column in columns)
    # Two rows at least: one would be a constant.
    whole = [column if len(column) > 1 else _repeated(column, max(height, 2)) for column in columns]
    frame = pl.DataFrame({"first": whole[0], "second": whole[1]})
    return frame.select(function(pl.col("first"), pl.col("second"))).to_series().head(height)


def _repeated(column: pl.Series, height: int) -> pl.Series:
    return column.new_from_index(0, height) if len(column) else column.extend_constant(None, height)
