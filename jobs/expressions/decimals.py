"""Exact decimal arithmetic over columns of 128-bit integers, as in DuckDB.

Polars' own arithmetic of decimals rounds halves to the even neighbour and gives all results 38 digits, so
none of it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from optimizer.algebra.types import ColumnType

_WHOLE = pl.Int128()
_EXACT_UNITS, _EXACT_SCALE = 2**53, 22
"""To these a division of doubles is rounded once."""
MODERATE = 10**38
"""Products below it are decimals, and far from where 128 bits end."""


def units(value: pl.Expr) -> pl.Expr:
    """The whole numbers of a column of decimals or integers: 150 of the decimal 1.50."""
    return value.to_physical().cast(_WHOLE)


def rescaled(value: pl.Expr, source: ColumnType, target: ColumnType) -> pl.Expr:
    """A decimal or an integer as another decimal type.

    Halves go away from zero, and what does not fit is NULL.

    >>> frame = pl.DataFrame({"a": pl.Series(["1.25", "-1.25", "99.96"]).cast(pl.Decimal(4, 2))})
    >>> one = rescaled(pl.col("a"), ColumnType.decimal(4, 2), ColumnType.decimal(3, 1))
    >>> [str(found) for found in frame.select(one)["a"]]
    ['1.3', '-1.3', 'None']
    """
    if source is target:
        return value
    return _computed(
        _of_units(_shifted(_FIRST, target.scale - source.scale, target.precision), target), [value]
    )


def rounded(value: pl.Expr, source: ColumnType, dtype: pl.DataType) -> pl.Expr:
    """A decimal as the nearest integer.

    Halves go away from zero, and what does not fit is NULL.
    """
    return _computed(_shifted(_FIRST, -source.scale, source.precision).cast(dtype, strict=False), [value])


def total(first: pl.Expr, second: pl.Expr, kind: ColumnType, sign: int) -> pl.Expr:
    """The sum or difference of two decimals of the result's type.

    NULL where it has too many digits.
    """
    # Two numbers of 38 digits add up to less than what wraps around into 38 digits again.
    return _computed(_of_units(_FIRST + _SECOND if sign > 0 else _FIRST - _SECOND, kind), [first, second])


_FIRST, _SECOND = pl.col("0"), pl.col("1")


def _computed(found: pl.Expr, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """An expression over the units of arguments, computed once each."""
    (field,) = pl.DataFrame(schema={"0": _WHOLE, "1": _WHOLE}).select(found).dtypes
    return pl.map_batches(
        list(arguments), partial(_evaluated, found), return_dtype=field, is_elementwise=True
    )


def _evaluated(found: pl.Expr, columns: Sequence[pl.Series]) -> pl.Series:
    height = 0 if any(column.is_empty() for column in columns) else max(map(len, columns))
    whole = {
        str(n): (c if len(c) == height else c.new_from_index(0, height)).to_physical().cast(_WHOLE)
        for n, c in enumerate(columns)
    }
    # A column beside it keeps the height where the answer is the same for all rows.
    return pl.DataFrame(whole).with_columns(found.alias("@")).get_column("@").alias(columns[0].name)


def _of_units(units: pl.Expr, kind: ColumnType) -> pl.Expr:
    """Whole numbers as decimals of a type; NULL where they have more digits."""
    least = 10**kind.precision
    inside = (units < _whole(least)) & (units > _whole(-least))
    return pl.when(inside).then(units).reinterpret(dtype=pl.Decimal(kind.precision, kind.scale))


def _shifted(units: pl.Expr, digits: int, precision: int) -> pl.Expr:
    """Times a power of ten; NULL where that needs more digits than `precision`."""
    if digits == 0:
        return units
    power = 10 ** abs(digits)
    if digits < 0:
        half = pl.when(units < 0).then(_whole(-(power // 2))).otherwise(_whole(power // 2))
        # Polars rounds down.
        return (
            (units + half).abs() // _whole(power) * pl.when(units < 0).then(_whole(-1)).otherwise(_whole(1))
        )
    most = (10**precision - 1) // power
    return pl.when(units.is_between(_whole(-most), _whole(most))).then(units) * _whole(power)


def to_double(value: pl.Expr, source: ColumnType, exact: Callable[[pl.Series], pl.Series]) -> pl.Expr:
    """A decimal as a double.

    `exact` is asked of columns in which a division would be rounded twice.
    """
    kernel = partial(_doubles, source.scale, exact)
    return value.map_batches(kernel, return_dtype=pl.Float64, is_elementwise=True)


def _doubles(scale: int, exact: Callable[[pl.Series], pl.Series], column: pl.Series) -> pl.Series:
    whole = column.to_physical()
    if scale > _EXACT_SCALE or _largest(whole) > _EXACT_UNITS:
        return exact(column)
    numbers = whole.cast(pl.Float64)
    # Polars would multiply by the reciprocal. NULL is NaN for a moment, which no decimal is.
    return pl.Series(column.name, numbers.to_numpy() / 10.0**scale, nan_to_null=True) if scale else numbers


def _largest(whole: pl.Series) -> int:
    return max(abs(int(whole.min() or 0)), abs(int(whole.max() or 0)))  # type: ignore[arg-type]


def product(
    first: pl.Expr, second: pl.Expr, kind: ColumnType, exact: Callable[[Sequence[pl.Series]], pl.Series]
) -> pl.Expr:
    """The product of two decimals of any types.

    `exact` is asked where 128 bits may be too few.
    """
    kernel = partial(_products, kind, exact)
    dtype = pl.Decimal(kind.precision, kind.scale)
    return pl.map_batches([first, second], kernel, return_dtype=dtype, is_elementwise=True)


def _products(
    kind: ColumnType, exact: Callable[[Sequence[pl.Series]], pl.Series], columns: Sequence[pl.Series]
) -> pl.Series:
    whole = [column.to_physical().cast(_WHOLE) for column in columns]
    if _largest(whole[0]) * _largest(whole[1]) >= MODERATE:
        return exact(columns)
    return _evaluated(_of_units(_FIRST * _SECOND, kind), whole)


def _whole(number: int) -> pl.Expr:
    return pl.lit(number, dtype=_WHOLE)


def key_doubles(keys: pl.Series) -> npt.NDArray[np.float64]:
    """A double per decimal, the same for equal decimals of any scale and integers.

    It is the sum of what stands before the point and of the first 15 digits behind it, each as a double: they
    do not depend on how many digits a type has there. NULL is 0.
    """
    scale = keys.dtype.scale  # type: ignore[attr-defined]
    whole, size, before = pl.col("whole"), pl.col("whole").abs(), pl.col("before")
    behind = size - before * _whole(10**scale)
    first = behind * _whole(10 ** (15 - scale)) if scale <= 15 else behind // _whole(10 ** (scale - 15))
    halves = (
        pl.DataFrame({"whole": keys.to_physical().fill_null(0)})
        .with_columns((size // _whole(10**scale)).alias("before"))
        .select(before.cast(pl.Float64), first.cast(pl.Float64).alias("first"), negative=whole < 0)
    )
    sizes = halves["before"].to_numpy() + halves["first"].to_numpy() / 1e15
    doubles: npt.NDArray[np.float64] = np.where(halves["negative"].to_numpy(), -sizes, sizes)
    return doubles
