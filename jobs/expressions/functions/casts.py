"""Casts with DuckDB's readings; what cannot be read is NULL, as `TRY_CAST` has it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl
import pyarrow as pa

from jobs.expressions.conversion import convert
from jobs.expressions.decimals import rounded, units
from jobs.expressions.dtypes import DAY_US, DTYPES, FIRST_MOMENT, FOREVER, midnight, times
from jobs.expressions.functions.reference import guarded, referred
from jobs.expressions.functions.timestamps import in_ordinary_days, in_ordinary_years
from optimizer.algebra.expression import Call
from optimizer.algebra.functions.declaration import END_OF_DAY
from optimizer.algebra.render import duckdb_type
from optimizer.algebra.types import ColumnType
from optimizer.udf.arrow import uuid_texts

T = ColumnType


def cast(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """`CAST(argument AS call.type)`."""
    source, target, value = call.arguments[0].type, call.type, arguments[0]
    if source is target:
        return value
    if source is T.STRING:
        return from_text(value, target)
    if target is T.STRING:
        return _to_text(value, source)
    if target is T.INTERVAL:
        return (value.to_physical() // 1000).cast(DTYPES[target])
    if target is T.TIME:
        return value.map_batches(_time_of_day, return_dtype=DTYPES[target], is_elementwise=True)
    if target is T.TIMESTAMP:
        return midnight(value)
    if target is T.DATE:
        return guarded(lambda column: column.dt.date(), in_ordinary_years, "CAST(c0 AS DATE)", value, T.DATE)
    if target is T.BOOLEAN:
        return (units(value) if source.is_decimal else value) != 0
    if target.is_decimal and source is T.DOUBLE:
        return referred(f"TRY_CAST(c0 AS {duckdb_type(target)})", [value], target)
    if target.is_decimal or (source.is_decimal and target is T.DOUBLE):
        return convert(value, source, target)
    if source.is_decimal:
        return rounded(value, source, DTYPES[target])
    if source is T.DOUBLE:
        # Ties go to the even neighbour.
        return value.round(0, mode="half_to_even").cast(DTYPES[target], strict=False)
    return value.cast(DTYPES[target], strict=False)


_WHOLE = r"^[+-]?[0-9]{1,18}$"
_DECIMAL = r"^[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?$"
_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?$"


def from_text(value: pl.Expr, target: ColumnType) -> pl.Expr:
    """What texts say of another type, NULL where that is nothing."""
    # Other than DuckDB's timestamps, ours are moments: an offset in the text counts.
    sql = f"TRY_CAST(c0 AS {'TIMESTAMPTZ' if target is T.TIMESTAMP else duckdb_type(target)})"
    match target:
        case T.INT | T.BIGINT:
            return guarded(partial(_read, DTYPES[target]), partial(_alike, _WHOLE), sql, value, target)
        case T.DOUBLE:
            return guarded(partial(_read, DTYPES[target]), partial(_alike, _DECIMAL), sql, value, target)
        case T.TIMESTAMP:
            return guarded(_read_moment, partial(_alike, _MOMENT), sql, value, target)
        case T.TIME:
            sql = f"nullif({sql}, {END_OF_DAY})"
            return guarded(_read_time, partial(_alike, _TIME), sql, value, target)
        case T.UUID:
            return value.map_batches(_uuids, return_dtype=DTYPES[T.UUID], is_elementwise=True)
        case kind if kind.is_decimal:
            point = rf"(\.[0-9]{{1,{kind.scale}}})?" if kind.scale else ""
            plain = partial(_alike, f"^[+-]?[0-9]{{1,18}}{point}$")
            return guarded(partial(_read, DTYPES[kind]), plain, sql, value, kind)
        case _:
            return referred(sql, [value], target)


def _alike(pattern: str, texts: pl.Series) -> bool:
    return texts.str.contains(pattern).all()


def _read(dtype: pl.DataType, texts: pl.Series) -> pl.Series:
    return texts.cast(dtype, strict=False)


def _read_time(texts: pl.Series) -> pl.Series:
    return texts.str.to_time("%H:%M:%S%.f", strict=False)


def _time_of_day(moments: pl.Series) -> pl.Series:
    ticks = moments.to_physical()
    known = pl.select(pl.when((ticks >= FIRST_MOMENT) & (ticks != FOREVER)).then(ticks)).to_series()
    return times(known % DAY_US).alias(moments.name)


def _uuids(texts: pl.Series) -> pl.Series:
    found = uuid_texts(pa.chunked_array([texts.to_arrow(compat_level=pl.CompatLevel.oldest())]))
    return pl.Series(texts.name, pl.from_arrow(found))


def _read_moment(texts: pl.Series) -> pl.Series:
    return texts.str.replace(" ", "T", literal=True).str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.f", time_unit="us", time_zone="UTC", strict=False
    )


def _to_text(value: pl.Expr, source: ColumnType) -> pl.Expr:
    match source:
        case T.TIMESTAMP:
            return guarded(_moment_text, in_ordinary_years, "CAST(c0 AS VARCHAR)", value, T.STRING)
        case T.DATE:
            return guarded(_date_text, in_ordinary_days, "CAST(c0 AS VARCHAR)", value, T.STRING)
        case T.TIME:
            return value.map_batches(_time_text, return_dtype=pl.String, is_elementwise=True)
        case T.BINARY:
            return referred("CAST(c0 AS VARCHAR)", [value], T.STRING)
        case T.DOUBLE:
            return _number_text(value)
        case kind if kind.is_decimal and kind.scale == kind.precision:
            # DuckDB writes no zero where a type has no digit before the point.
            return value.cast(pl.String).str.replace("0.", ".", literal=True)
        case _:
            return value.cast(pl.String)


def _moment_text(moments: pl.Series) -> pl.Series:
    # Fractions end with their last digit that is not zero.
    return moments.dt.to_string("%Y-%m-%d %H:%M:%S%.6f").str.replace(r"\.?0+$", "")


def _time_text(found: pl.Series) -> pl.Series:
    return found.dt.to_string("%H:%M:%S%.6f").str.replace(r"\.?0+$", "")


def _date_text(dates: pl.Series) -> pl.Series:
    return dates.dt.to_string("%Y-%m-%d")


def _number_text(value: pl.Expr) -> pl.Expr:
    """The shortest digits that read back the same.

    There is an exponent below 1e-4 and from 1e16, as numpy writes them.
    """
    return value.map_batches(_written, return_dtype=pl.String, is_elementwise=True)


def _written(column: pl.Series) -> pl.Series:
    texts = pl.Series(column.fill_null(0.0).to_numpy().astype("U32"), dtype=pl.String)
    return pl.select(pl.when(column.is_not_null()).then(texts)).to_series()
