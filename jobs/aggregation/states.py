"""Aggregates of Polars columns: lifted to states, merged, and lowered to results.

See `optimizer.algebra.aggregates`. Results do not depend on the order of what is aggregated, so not on plans,
batches and tasks either: integers are summed in 128 bits, and a sum of doubles is the exact one, rounded once
(Shewchuk, Discrete Comput. Geom. 18, 1997).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypedDict

import numpy as np
import polars as pl

from jobs.aggregation.means import means
from jobs.aggregation.quantiles import between, place
from jobs.expressions.decimals import units
from jobs.expressions.dtypes import DTYPES
from optimizer.algebra.functions.decimals import units as units_of
from optimizer.algebra.types import MOST_DIGITS, ColumnType
from optimizer.physical.groups import GroupAggregate

_HALF = 1 << 32
"""What the high half of an integer counts."""
_DECIMAL_HALF = 10**19
"""What the high half of a decimal's units counts."""


def lifted(one: GroupAggregate) -> list[pl.Expr]:
    """The state that one combination is, from the columns that were taken of it."""
    arguments = [pl.col(name) for name in one.arguments]
    if one.where is not None:
        arguments = [pl.when(pl.col(one.where)).then(argument) for argument in arguments]
    names = [name for name, _ in one.states]
    match one.scheme:
        case "count" if not arguments:
            counted = pl.lit(True) if one.where is None else pl.col(one.where).fill_null(False)
            return [counted.cast(pl.Int64).alias(names[0])]
        case "count":
            return [arguments[0].is_not_null().cast(pl.Int64).alias(names[0])]
        case "exact_sum" if one.states[0][1].is_decimal:
            number, half = units(arguments[0]), pl.lit(_DECIMAL_HALF, dtype=pl.Int128)
            high = number // half
            halves = DTYPES[one.states[0][1]]
            return [
                high.fill_null(0).reinterpret(dtype=halves).alias(names[0]),
                (number - high * half).fill_null(0).reinterpret(dtype=halves).alias(names[1]),
                number.is_not_null().cast(pl.Int64).alias(names[2]),
            ]
        case "exact_sum":
            number = arguments[0].cast(pl.Int64)
            return [
                (number // _HALF).fill_null(0).alias(names[0]),
                (number & (_HALF - 1)).fill_null(0).alias(names[1]),
                number.is_not_null().cast(pl.Int64).alias(names[2]),
            ]
        case "ordered":
            return [
                one_zero(argument, kind).alias(name)
                for argument, (name, kind) in zip(arguments, one.states, strict=True)
            ]
        case "first_of" | "last_of":
            counts = pl.lit(True) if one.where is None else pl.col(one.where).fill_null(False)
            return [
                counts.alias(names[0]),
                *(
                    one_zero(argument, kind).alias(name)
                    for argument, (name, kind) in zip(arguments, one.states[1:], strict=True)
                ),
            ]
        case "least_by" | "greatest_by" | "pairs":
            whole = pl.all_horizontal(argument.is_not_null() for argument in arguments)
            return [
                pl.when(whole).then(one_zero(argument, kind)).alias(name)
                for argument, (name, kind) in zip(arguments, one.states, strict=True)
            ]
    return [one_zero(arguments[0], one.states[0][1]).alias(names[0])]


def merged(one: GroupAggregate) -> list[pl.Expr]:
    """Within a group, one state of several; of any scheme whose states merge."""
    columns = [pl.col(name) for name, _ in one.states]
    match one.scheme:
        case "count" | "exact_sum":
            # Halves of 2**31 numbers have a sum of 64 bits.
            return [column.sum() for column in columns]
        case "least":
            return [columns[0].min()]
        case "greatest":
            return [_greatest(columns[0], one.states[0][1])]
        case "least_by" | "greatest_by":
            value, by = (column.filter(columns[1].is_not_null()) for column in columns)
            order = {"descending": one.scheme == "greatest_by"}
            return [value.sort_by(by, value, **order).first(), by.sort(**order).first()]
        case "first_of" | "last_of":
            first, *others = (column.filter(columns[0]) for column in columns[1:])
            ordered = [column.sort_by(*others, first, **_directions(one)) for column in (first, *others)]
            ends = [column.first() if one.scheme == "first_of" else column.last() for column in ordered]
            return [columns[0].any(), *ends]
        case "bits":
            return [_BITS[one.function](columns[0])]
    raise AssertionError(f"states of {one.name} are values")


def lowered(one: GroupAggregate) -> pl.Expr:
    """Within a group, the result, or what `result` makes it of.

    That is a list of schemes `values` and `pairs`, of means and of sums of decimals the halves of the total
    and the count, and of quantiles what they are between.
    """
    if one.scheme == "ordered":
        return _joined(one)
    if one.scheme == "pairs":
        pair = pl.struct(x=pl.col(one.states[0][0]), y=pl.col(one.states[1][0]))
        pair = pair.filter(pl.col(one.states[0][0]).is_not_null())
        return (pair.unique() if one.distinct else pair).alias(one.name)
    if one.scheme in ("first_of", "last_of"):
        return merged(one)[1].alias(one.name)
    if one.scheme == "values":
        values = pl.col(one.states[0][0]).drop_nulls()
        if one.distinct:
            values = values.unique()
        if one.function.startswith("quantile"):
            return place(one, values.sort()).alias(one.name)
        if one.function == "mode":
            return values.mode().min().alias(one.name)
        if one.function == "bit_xor":
            return values.bitwise_xor().alias(one.name)
        return (values.len() if one.function == "count" else values).alias(one.name)
    first, *others = merged(one)
    if one.scheme == "exact_sum":
        high, low, count = first, *others
        if one.function == "avg" or one.states[0][1].is_decimal:
            found = pl.struct(high.alias("high"), low.alias("low"), count.alias("count"))
        else:
            found = high.cast(pl.Int128) * _HALF + low.cast(pl.Int128)
            found = found.cast(pl.Int64, strict=False)
        return pl.when(count > 0).then(found).alias(one.name)
    return first.alias(one.name)


def result(one: GroupAggregate, kinds: Sequence[ColumnType], column: pl.Series) -> pl.Series:
    """The results of a finished column of `lowered`, of arguments of the given types."""
    if one.scheme == "exact_sum" and kinds[0].is_decimal:
        return _of_decimals(one, kinds[0], column)
    if one.scheme == "exact_sum" and one.function == "avg":
        high, low, counts = (half.fill_null(0).to_numpy() for half in column.struct.unnest())
        return means(column.name, high.astype(np.longdouble) * _HALF + low, counts, kinds[0])
    if one.scheme == "pairs":
        together = _OF_PAIRS[one.function]
        pairs = [
            together([(it["x"], it["y"]) for it in found]) if found else None for found in column.to_list()
        ]
        return pl.Series(column.name, pairs, DTYPES[one.type])
    if one.function == "quantile_cont":
        return between(one, column)
    if one.scheme != "values" or one.function not in _OF_NUMBERS:
        return column.cast(DTYPES[one.type])
    if kinds[0].is_decimal:
        return _of_distinct_decimals(one, kinds[0], column)
    if one.function == "avg" and kinds[0] is not ColumnType.DOUBLE:
        return _means(column.name, [(sum(numbers), len(numbers)) for numbers in column.to_list()], kinds[0])
    answer = _OF_NUMBERS[one.function]
    found = [answer(numbers) if numbers else None for numbers in column.to_list()]
    if one.type is ColumnType.BIGINT:
        found = [None if n is None or (abs(n) >= 2**63 and n != -(2**63)) else n for n in found]
    return pl.Series(column.name, found, DTYPES[one.type])


def _joined(one: GroupAggregate) -> pl.Expr:
    """Texts one after the other, in their order and then in their own."""
    value, *by = (pl.col(name).filter(pl.col(one.states[0][0]).is_not_null()) for name, _ in one.states)
    if one.distinct:
        # What they are ordered by is themselves.
        ordered = value.unique().sort(descending=one.descending[:1] == (True,))
    else:
        ordered = value.sort_by(*by, value, **_directions(one))
    return pl.when(value.len() > 0).then(ordered.str.join(str(one.constant))).alias(one.name)


class _Directions(TypedDict):
    descending: list[bool]
    nulls_last: list[bool]


def _directions(one: GroupAggregate) -> _Directions:
    """Which way values are ordered: as is written, and then by themselves."""
    return {
        "descending": [*one.descending, False],
        "nulls_last": [*(not first for first in one.nulls_first), True],
    }


def _of_decimals(one: GroupAggregate, kind: ColumnType, column: pl.Series) -> pl.Series:
    """Sums and means from the halves of their units, and from how many there were."""
    groups = [
        (units_of(row["high"], kind.scale) * _DECIMAL_HALF + units_of(row["low"], kind.scale), row["count"])
        if row
        else (0, 0)
        for row in column.to_list()
    ]
    return _decimal_results(one, kind, column.name, groups)


def _of_distinct_decimals(one: GroupAggregate, kind: ColumnType, column: pl.Series) -> pl.Series:
    """The same from all values."""
    groups = [
        (sum(units_of(value, kind.scale) for value in values), len(values)) for values in column.to_list()
    ]
    return _decimal_results(one, kind, column.name, groups)


def _decimal_results(
    one: GroupAggregate, kind: ColumnType, name: str, groups: Sequence[tuple[int, int]]
) -> pl.Series:
    """Sums of units, NULL beyond 38 digits, or means by how many there were."""
    if one.function == "avg":
        return _means(name, groups, kind)
    totals = [total if count and abs(total) < 10**MOST_DIGITS else None for total, count in groups]
    return pl.Series(name, totals, pl.Int128).reinterpret(dtype=DTYPES[one.type])


def _means(name: str, groups: Sequence[tuple[int, int]], kind: ColumnType) -> pl.Series:
    totals = np.array([total for total, _ in groups], dtype=np.longdouble)
    return means(name, totals, np.array([count for _, count in groups], dtype=np.int64), kind)


def one_zero(value: pl.Expr, kind: ColumnType) -> pl.Expr:
    """The values with one zero instead of two, which compare equal.

    Not by adding 0.0, which Polars leaves out.
    """
    return pl.when(value == 0).then(0.0).otherwise(value) if kind is ColumnType.DOUBLE else value


def _greatest(values: pl.Expr, kind: ColumnType) -> pl.Expr:
    """The greatest value; NaN is greater than numbers, as in DuckDB."""
    return values.nan_max() if kind is ColumnType.DOUBLE else values.max()


def exact_sum(numbers: Sequence[float]) -> float:
    """The sum, rounded once.

    >>> exact_sum([1e308, 1e308, -1e308]), exact_sum([1e308, 1e308]), exact_sum([0.1] * 10)
    (1e+308, inf, 1.0)
    """
    try:
        return math.fsum(numbers)
    except ValueError:
        return math.nan  # of both infinities
    except OverflowError:
        total = sum(map(Fraction, numbers))
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf


def _total(numbers: Sequence[float]) -> float:
    return sum(numbers) if isinstance(numbers[0], int) else exact_sum(numbers)


def _mean(numbers: Sequence[float]) -> float:
    return exact_sum(numbers) / len(numbers)


def _spread(
    moment: Callable[[Sequence[float]], float], least: int
) -> Callable[[Sequence[float]], float | None]:
    """A moment of exact numbers, rounded once; NULL of fewer than `least`."""

    def found(numbers: Sequence[float]) -> float | None:
        if len(numbers) < least:
            return None
        if not all(map(math.isfinite, numbers)):
            return math.nan
        try:
            return float(moment(numbers))
        except OverflowError:
            return math.inf

    return found


def _product(numbers: Sequence[float]) -> float:
    """The exact product, rounded once; nothing stays of a zero beside an infinity."""
    if not all(map(math.isfinite, numbers)):
        return math.prod(numbers)
    ratios = [number.as_integer_ratio() for number in numbers]
    whole = math.prod(over for over, _ in ratios)
    try:
        return whole / math.prod(under for _, under in ratios)
    except OverflowError:
        return math.inf if whole > 0 else -math.inf


def _together(pairs: Sequence[tuple[float, float]]) -> tuple[Fraction, Fraction, Fraction] | None:
    """The squares of the first, the second and both numbers, summed exactly.

    They are distances from the means. None if a number is not finite.
    """
    if not all(math.isfinite(number) for pair in pairs for number in pair):
        return None
    count = len(pairs)
    firsts, seconds = ([Fraction(pair[n]) for pair in pairs] for n in (0, 1))

    def apart(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
        none = Fraction()
        return sum(map(Fraction.__mul__, one, other), none) - sum(one, none) * sum(other, none) / count

    return apart(firsts, firsts), apart(seconds, seconds), apart(firsts, seconds)


def _covariance(less: int) -> Callable[[Sequence[tuple[float, float]]], float | None]:
    """What both numbers of pairs have together, of all but so many; NULL of too few."""

    def found(pairs: Sequence[tuple[float, float]]) -> float | None:
        if len(pairs) <= less:
            return None
        known = _together(pairs)
        if known is None:
            return math.nan
        try:
            return float(known[2] / (len(pairs) - less))
        except OverflowError:
            return math.inf if known[2] > 0 else -math.inf

    return found


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    known = _together(pairs)
    if known is None or not known[0] or not known[1]:
        return math.nan
    square = known[2] ** 2 / (known[0] * known[1])
    return math.sqrt(square) if known[2] > 0 else -math.sqrt(square)


_BITS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "bit_and": pl.Expr.bitwise_and,
    "bit_or": pl.Expr.bitwise_or,
    "bit_xor": pl.Expr.bitwise_xor,
}
_OF_PAIRS: dict[str, Callable[[Sequence[tuple[float, float]]], float | None]] = {
    "covar_samp": _covariance(1),
    "covar_pop": _covariance(0),
    "corr": _correlation,
}
_OF_NUMBERS: dict[str, Callable[[Sequence[float]], float | None]] = {
    "sum": _total,
    "avg": _mean,
    "product": _product,
    "var_samp": _spread(statistics.variance, 2),
    "var_pop": _spread(statistics.pvariance, 1),
    "stddev_samp": _spread(statistics.stdev, 2),
    "stddev_pop": _spread(statistics.pstdev, 1),
}
