"""Implicit conversions between numeric types, and of dates to timestamps."""

from __future__ import annotations

import polars as pl

from jobs.expressions.decimals import rescaled, to_double
from jobs.expressions.dtypes import DTYPES, midnight
from jobs.expressions.functions.reference import answers
from optimizer.algebra.types import ColumnType


def convert(expression: pl.Expr, source: ColumnType, target: ColumnType) -> pl.Expr:
    """A numeric conversion, or a date as its midnight in UTC.

    Only decimals may not fit, and be NULL: where a comparison would need more than 38 digits.
    """
    if source is target:
        return expression
    if source is ColumnType.DATE and target is ColumnType.TIMESTAMP:
        return midnight(expression)
    if target.is_decimal:
        return rescaled(expression, source, target)
    if source.is_decimal:
        return decimal_as_double(expression, source)
    return expression.cast(DTYPES[target])


def decimal_as_double(expression: pl.Expr, source: ColumnType) -> pl.Expr:
    """A decimal as the double that DuckDB makes of it."""
    return to_double(expression, source, _by_duckdb)


def _by_duckdb(column: pl.Series) -> pl.Series:
    return answers("CAST(c0 AS DOUBLE)", ColumnType.DOUBLE, [column])
