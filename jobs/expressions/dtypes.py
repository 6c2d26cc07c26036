"""How column types look in Polars."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from optimizer.types import ColumnType

DTYPES: Mapping[ColumnType, pl.DataType] = {
    ColumnType.BIGINT: pl.Int64(),
    ColumnType.INT: pl.Int32(),
    ColumnType.DOUBLE: pl.Float64(),
    ColumnType.STRING: pl.String(),
    ColumnType.BOOLEAN: pl.Boolean(),
    ColumnType.TIMESTAMP: pl.Datetime("us", "UTC"),
    ColumnType.DATE: pl.Date(),
    ColumnType.BINARY: pl.Binary(),
    ColumnType.INTERVAL: pl.Duration("us"),
}

_WIDTH = (ColumnType.INT, ColumnType.BIGINT, ColumnType.DOUBLE)


def common_type(first: ColumnType, second: ColumnType) -> ColumnType:
    """The type in which values of two comparable types are compared.

    >>> common_type(ColumnType.INT, ColumnType.DOUBLE).value
    'double'
    """
    if first is second:
        return first
    if first.is_numeric and second.is_numeric:
        return max(first, second, key=_WIDTH.index)
    return ColumnType.TIMESTAMP


def convert(expression: pl.Expr, source: ColumnType, target: ColumnType) -> pl.Expr:
    """A lossless or numeric conversion of an expression; a date becomes its midnight in UTC, or NULL if
    timestamps do not reach so far."""
    return expression if source is target else expression.cast(DTYPES[target], strict=False)
