"""Numbers: integer arithmetic with checked overflow, doubles as IEEE 754 has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, mul, sub

import numpy as np
import polars as pl

from jobs.expressions.dtypes import DTYPES, convert
from optimizer.expression import Call
from optimizer.types import ColumnType

Operator = Callable[[pl.Expr, pl.Expr], pl.Expr]
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_BIGINT_MIN = -(2**63)


def _arithmetic(operator: Operator) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        if call.type is ColumnType.TIMESTAMP or call.type is ColumnType.INTERVAL:
            return _moments(operator, call, arguments)
        first, second = (
            convert(argument, source.type, call.type)
            for argument, source in zip(arguments, call.arguments, strict=True)
        )
        if call.type is ColumnType.DOUBLE:
            return operator(first, second)
        return _checked(operator, first, second, call.type)

    return implement


def _moments(operator: Operator, call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """Timestamps and intervals are microseconds in 64 bits, so their arithmetic is that of bigint."""
    first, second = (
        argument.cast(pl.Datetime("us", "UTC")).to_physical()
        if source.type is ColumnType.DATE
        else argument.to_physical().cast(pl.Int64)
        for argument, source in zip(arguments, call.arguments, strict=True)
    )
    return _checked(operator, first, second, ColumnType.BIGINT).cast(DTYPES[call.type])


def _checked(operator: Operator, first: pl.Expr, second: pl.Expr, result: ColumnType) -> pl.Expr:
    """The integer result, NULL where it does not fit."""
    wide = operator(first.cast(pl.Int64), second.cast(pl.Int64))
    if result is ColumnType.INT:
        return wide.cast(pl.Int32, strict=False)
    # 64-bit operations wrap around, by a multiple of 2**64 that doubles see in spite of rounding.
    exact = operator(first.cast(pl.Float64), second.cast(pl.Float64))
    overflow = (exact - wide.cast(pl.Float64)).abs() > 2.0**63
    return pl.when(overflow).then(None).otherwise(wide)


def _divide(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return arguments[0].cast(pl.Float64) / arguments[1].cast(pl.Float64)


def _integer_divide(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """Truncates towards zero, where Polars rounds down."""
    first, second = (argument.cast(pl.Int64) for argument in arguments)
    down = first // second
    quotient = down + ((down * second != first) & ((first < 0) != (second < 0))).cast(pl.Int64)
    impossible = (second == 0) | ((first == _BIGINT_MIN) & (second == -1))
    return pl.when(impossible).then(None).otherwise(quotient).cast(DTYPES[call.type], strict=False)


def _modulo(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """Has the sign of the dividend, where Polars gives that of the divisor."""
    first, second = (
        convert(argument, source.type, call.type)
        for argument, source in zip(arguments, call.arguments, strict=True)
    )
    if call.type is ColumnType.DOUBLE:
        return pl.map_batches([first, second], _fmod, return_dtype=pl.Float64)
    rest = first % second
    signed = pl.when((rest != 0) & ((rest < 0) != (first < 0))).then(rest - second).otherwise(rest)
    return pl.when(second == 0).then(None).otherwise(signed)


def _fmod(columns: Sequence[pl.Series]) -> pl.Series:
    first, second = columns
    length = max(len(first), len(second))
    first, second = (s.new_from_index(0, length) if len(s) != length else s for s in (first, second))
    with np.errstate(invalid="ignore"):
        rest = np.fmod(first.fill_null(0.0).to_numpy(), second.fill_null(1.0).to_numpy())
    known = first.is_not_null() & second.is_not_null()
    return pl.select(pl.when(known).then(pl.Series(rest))).to_series()


def _negate(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return (
        _arithmetic(sub)(
            Call("subtract", (call.arguments[0], call.arguments[0]), call.type),
            (pl.lit(0).cast(DTYPES[call.type]), arguments[0]),
        )
        if call.type is not ColumnType.DOUBLE
        else -arguments[0]
    )


def _abs(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    if call.type is ColumnType.DOUBLE:
        return arguments[0].abs()
    least = _INT_MIN if call.type is ColumnType.INT else _BIGINT_MIN
    return pl.when(arguments[0] == least).then(None).otherwise(arguments[0].abs())


def _step(method: Callable[[pl.Expr], pl.Expr]) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        value = convert(arguments[0], call.arguments[0].type, call.type)
        return method(value) if call.type is ColumnType.DOUBLE else value

    return implement


def _round(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """Half away from zero; to a power of ten when a second argument says which."""
    value = arguments[0]
    if len(arguments) == 1:
        return _half_away(value) if call.type is ColumnType.DOUBLE else value
    digits = arguments[1].cast(pl.Int64)
    scale = pl.lit(10.0).pow(digits.abs().cast(pl.Float64))
    if call.type is ColumnType.DOUBLE:
        fine, coarse = _half_away(value * scale) / scale, _half_away(value / scale) * scale
        rounded = (
            pl.when(digits >= 0)
            .then(pl.when(fine.is_finite()).then(fine).otherwise(value))
            .otherwise(pl.when(coarse.is_finite() | ~value.is_finite()).then(coarse).otherwise(0.0))
        )
        return pl.when(digits.is_null() | value.is_null()).then(None).otherwise(rounded)
    wide = value.cast(pl.Int128)
    power = pl.lit(10, dtype=pl.Int128).pow(digits.abs().clip(0, 20).cast(pl.UInt32))
    half = pl.when(value < 0).then(0 - power // 2).otherwise(power // 2)
    shifted = wide + half
    down = shifted // power
    truncated = down + ((down * power != shifted) & (shifted < 0)).cast(pl.Int128)
    rounded = (truncated * power).cast(DTYPES[call.type], strict=False)
    return pl.when(digits.is_null()).then(None).when(digits >= 0).then(value).otherwise(rounded)


def _half_away(value: pl.Expr) -> pl.Expr:
    return value.round(0, mode="half_away_from_zero")


def _power(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return arguments[0].cast(pl.Float64).pow(arguments[1].cast(pl.Float64))


def _double(method: Callable[[pl.Expr], pl.Expr]) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        return method(arguments[0].cast(pl.Float64))

    return implement


IMPLEMENTATIONS = {
    "add": _arithmetic(add),
    "subtract": _arithmetic(sub),
    "multiply": _arithmetic(mul),
    "divide": _divide,
    "integer_divide": _integer_divide,
    "modulo": _modulo,
    "negate": _negate,
    "abs": _abs,
    "floor": _step(pl.Expr.floor),
    "ceil": _step(pl.Expr.ceil),
    "round": _round,
    "sqrt": _double(pl.Expr.sqrt),
    "power": _power,
    "exp": _double(pl.Expr.exp),
    "ln": _double(pl.Expr.log),
    "sin": _double(pl.Expr.sin),
    "cos": _double(pl.Expr.cos),
}
