"""Quantiles of a group's values.

They equal DuckDB's to the last digit: it has the processor multiply and add with one rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl

from optimizer.algebra.functions.decimals import units
from optimizer.physical.groups import GroupAggregate


def place(one: GroupAggregate, values: pl.Expr) -> pl.Expr:
    """The value at a fraction of all values in their order, or what makes it.

    `between` makes it of structs of the two next to that place, and of how far it is between them.
    """
    assert isinstance(one.constant, float)
    count = values.len().cast(pl.Int64)
    if one.function == "quantile_disc":
        above = (count - count * one.constant).floor().cast(pl.Int64)
        return values.get(pl.max_horizontal(count - above, 1) - 1, null_on_oob=True)
    at = (count - 1) * pl.lit(one.constant)
    low, high = (values.get(bound.cast(pl.Int64), null_on_oob=True) for bound in (at.floor(), at.ceil()))
    if not one.states[0][1].is_decimal:
        low, high = low.cast(pl.Float64), high.cast(pl.Float64)
    return pl.struct(low.alias("low"), high.alias("high"), (at - at.floor()).alias("part"))


def between(one: GroupAggregate, column: pl.Series) -> pl.Series:
    """The numbers a part of the way between two others.

    The column has structs of `low`, `high` and `part`, as `place` makes them.

    >>> from optimizer.algebra.types import ColumnType
    >>> kind = ColumnType.DOUBLE
    >>> one = GroupAggregate("m", "quantile_cont", ("v",), None, False, kind, "values", (("v", kind),), 0.5)
    >>> rows = [{"low": 1.0, "high": 2.0, "part": 0.5}, {"low": None, "high": None, "part": 0.5}]
    >>> between(one, pl.Series("m", rows)).to_list()
    [1.5, None]
    """
    rows = [None if row["low"] is None else row for row in column.to_list()]
    if one.type.is_decimal:
        precision, scale = one.type.precision, one.type.scale
        # Rounded as doubles the greatest come to one more digit, which DuckDB then has.
        most = 10**precision - 1
        whole = [
            row
            and max(
                -most,
                min(_of_decimals(units(row["low"], scale), units(row["high"], scale), row["part"]), most),
            )
            for row in rows
        ]
        return pl.Series(column.name, whole, pl.Int128).reinterpret(dtype=pl.Decimal(precision, scale))
    found = [row and _of_doubles(row["low"], row["high"], row["part"]) for row in rows]
    return pl.Series(column.name, found, pl.Float64)


def _of_decimals(low: int, high: int, part: float) -> int:
    """From units as doubles, rounded once, and cut."""
    if part == 0:
        return low
    way = Fraction(float(high) - float(low)) * Fraction(part)
    return int(float(Fraction(float(low)) + way))


def _of_doubles(low: float, high: float, part: float) -> float:
    if part == 0:
        # Zero times infinity is no number.
        return low
    rest, term = 1 - part, high * part
    plain = low * rest + term
    if not math.isfinite(plain):
        return plain
    exact = Fraction(low) * Fraction(rest) + Fraction(term)
    if not exact:
        # A zero has the sign of its parts.
        return plain
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, plain)
