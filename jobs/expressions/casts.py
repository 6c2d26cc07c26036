"""Casts with DuckDB's readings; what cannot be read is NULL, as `TRY_CAST` has it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jobs.expressions.dtypes import DTYPES
from optimizer.expression import Call
from optimizer.types import ColumnType

T = ColumnType
_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


def cast(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """`CAST(argument AS call.type)`."""
    source, target, value = call.arguments[0].type, call.type, arguments[0]
    if source is target:
        return value
    if source is T.STRING:
        return _from_text(value, target)
    if target is T.STRING:
        return _to_text(value, source)
    if target is T.BOOLEAN:
        return value != 0
    if source is T.DOUBLE:
        # Ties go to the even neighbour.
        return value.round(0, mode="half_to_even").cast(DTYPES[target], strict=False)
    return value.cast(DTYPES[target], strict=False)


def _from_text(value: pl.Expr, target: ColumnType) -> pl.Expr:
    if target is T.BINARY:
        return value.cast(pl.Binary)
    if target is T.BOOLEAN:
        lower = value.str.to_lowercase()
        return pl.when(lower.is_in(_TRUE)).then(True).when(lower.is_in(_FALSE)).then(False)
    stripped = value.str.strip_chars(" \t\n\r\f\v")
    if target is T.TIMESTAMP:
        return _moment(stripped)
    if target is T.DATE:
        return _moment(stripped).dt.date()
    if target is T.DOUBLE:
        return stripped.cast(pl.Float64, strict=False)
    # Whole numbers are read exactly; decimals and exponents by way of a double, ties away from zero.
    whole = stripped.cast(pl.Int64, strict=False)
    decimal = stripped.str.contains(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    read = stripped.cast(pl.Float64, strict=False).round(0, mode="half_away_from_zero")
    number = pl.when(decimal).then(pl.coalesce(whole, read.cast(pl.Int64, strict=False)))
    return number.cast(DTYPES[target], strict=False)


_PATTERN = (
    r"^(\d{1,6})[-/](\d{1,2})[-/](\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?)?"
    r" ?(Z|[+-]\d{2}(?::?\d{2})?)?$"
)


def _moment(text: pl.Expr) -> pl.Expr:
    """`2013-01-31`, `2013-01-31 14:30`, `2013-01-31T14:30:00.5Z`; an offset is subtracted."""
    parts = text.str.extract_groups(_PATTERN).struct

    def number(group: int) -> pl.Expr:
        return parts.field(str(group)).cast(pl.Int64, strict=False).fill_null(0)

    fraction = (
        parts.field("7").fill_null("0").str.slice(0, 6).str.pad_end(6, "0").cast(pl.Int64, strict=False)
    )
    day = (
        parts.field("1").str.zfill(4)
        + "-"
        + parts.field("2").str.zfill(2)
        + "-"
        + parts.field("3").str.zfill(2)
    ).str.to_date("%Y-%m-%d", strict=False)
    zone = parts.field("8")
    sign = pl.when(zone.str.starts_with("-")).then(-1).otherwise(1)
    minutes = zone.str.slice(1, 2).cast(pl.Int64, strict=False).fill_null(0) * 60 + zone.str.slice(
        3
    ).str.strip_prefix(":").cast(pl.Int64, strict=False).fill_null(0)
    seconds = number(4) * 3600 + number(5) * 60 + number(6) - sign * minutes * 60
    readable = (number(4) < 24) & (number(5) < 60) & (number(6) < 60)
    moment = day.cast(pl.Datetime("us", "UTC")) + (seconds * 1_000_000 + fraction).cast(pl.Duration("us"))
    return pl.when(readable).then(moment)


def _to_text(value: pl.Expr, source: ColumnType) -> pl.Expr:
    match source:
        case T.TIMESTAMP:
            # Fractions end with their last digit that is not zero.
            written = value.dt.to_string("%Y-%m-%d %H:%M:%S%.6f")
            return written.str.replace(r"\.?0+$", "")
        case T.BINARY:
            return value.cast(pl.String, strict=False)
        case T.DOUBLE:
            return _number_text(value)
        case _:
            return value.cast(pl.String)


def _number_text(value: pl.Expr) -> pl.Expr:
    """Shortest digits that read back the same; an exponent below 1e-4 and from 1e16, as numpy writes them."""
    return value.map_batches(_written, return_dtype=pl.String, is_elementwise=True)


def _written(column: pl.Series) -> pl.Series:
    texts = pl.Series(column.fill_null(0.0).to_numpy().astype("U32"), dtype=pl.String)
    return pl.select(pl.when(column.is_not_null()).then(texts)).to_series()
