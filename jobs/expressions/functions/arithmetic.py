"""Numbers: integer arithmetic with checked overflow, doubles as IEEE 754 has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import add, mul, sub

import numpy as np
import polars as pl

from jobs.expressions.conversion import convert
from jobs.expressions.decimals import product, total
from jobs.expressions.dtypes import (
    DAY_US,
    DTYPES,
    FIRST_MOMENT,
    FOREVER,
    FOREVER_DAY,
    PAST_FOREVER,
    times,
)
from jobs.expressions.functions.doubles import by_rows, by_vectors
from jobs.expressions.functions.reference import answers, by_duckdb
from jobs.expressions.height import may_be_short
from optimizer.algebra.expression import Call, Column, Expression, Literal, columns_of
from optimizer.algebra.render import over_columns, to_duckdb_sql
from optimizer.algebra.types import ColumnType, as_decimal
from optimizer.algebra.typing import cast, is_null

Operator = Callable[[pl.Expr, pl.Expr], pl.Expr]
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_BIGINT_MIN = -(2**63)
_MOMENTS = frozenset({ColumnType.TIMESTAMP, ColumnType.DATE})
_STRICT = frozenset(
    {"add", "subtract", "multiply", "modulo", "negate", "abs", "floor", "ceil", "cast"}
    | {"round", "round_even", "trunc"}
)
_MODERATE = 2**62
"""Sums below it are neither infinite nor before the first moment."""


def _arithmetic(operator: Operator) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        if call.type in _MOMENTS and call.arguments[0].type not in _MOMENTS:
            # A plan may have first what is added to a moment.
            call, arguments = replace(call, arguments=call.arguments[::-1]), arguments[::-1]
        if call.type is ColumnType.TIME:
            return _of_day(operator, call, arguments)
        if call.type is ColumnType.TIMESTAMP or call.type is ColumnType.INTERVAL:
            return _moments(operator, call, arguments)
        if call.type is ColumnType.DATE:
            return _days(operator, *arguments)
        if call.type.is_decimal:
            return _decimals(operator, call, arguments)
        first, second = (
            convert(argument, source.type, call.type)
            for argument, source in zip(arguments, call.arguments, strict=True)
        )
        if call.type is not ColumnType.DOUBLE:
            return _checked(operator, first, second, call.type)
        if operator is not mul and any(map(_may_be_zero, call.arguments)):
            return by_vectors(np.add if operator is add else np.subtract, first, second)
        return operator(first, second)

    return implement


def _of_day(operator: Operator, call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """A time some interval from another, round midnight."""
    ordered = arguments if call.arguments[0].type is ColumnType.TIME else arguments[::-1]
    kernel = partial(_round_midnight, 1 if operator is add else -1)
    return pl.map_batches(ordered, kernel, return_dtype=DTYPES[ColumnType.TIME], is_elementwise=True)


def _round_midnight(sign: int, columns: Sequence[pl.Series]) -> pl.Series:
    begin, interval = (column.to_physical().cast(pl.Int64) for column in columns)
    reached = begin // 1000 + sign * (interval % DAY_US)
    return times(reached % DAY_US).alias(columns[0].name)


def _decimals(operator: Operator, call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    types = [argument.type for argument in call.arguments]
    if operator is mul:
        exact = partial(answers, f"TRY({over_columns(_of_columns(call))[0]})", call.type)
        first, second = (convert(a, t, as_decimal(t)) for a, t in zip(arguments, types, strict=True))
        return product(first, second, call.type, exact)
    first, second = (convert(a, t, call.type) for a, t in zip(arguments, types, strict=True))
    return total(first, second, call.type, 1 if operator is add else -1)


def _of_columns(call: Call) -> Call:
    """The call of columns alone, integers among them as decimals."""
    columns = (Column("@", f"c{n}", as_decimal(a.type)) for n, a in enumerate(call.arguments))
    return replace(call, arguments=tuple(columns))


def _may_be_zero(operand: Expression) -> bool:
    """True for what may be the constant 0.

    Polars leaves that out of sums, but -0.0 + 0.0 is not -0.0.
    """
    if not isinstance(operand, Literal):
        return may_be_short(operand)
    # Decimals are texts.
    return operand.value is not None and float(operand.value) == 0


def _moments(operator: Operator, call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """Compute timestamps and intervals as bigint microseconds.

    Infinite timestamps stay what they are when intervals are added; no interval lies between two.
    """
    types = [argument.type for argument in call.arguments]
    first, second = (
        convert(argument, kind, ColumnType.TIMESTAMP if kind is ColumnType.DATE else kind)
        .to_physical()
        .cast(pl.Int64)
        for argument, kind in zip(arguments, types, strict=True)
    )
    one, other = pl.col("first"), pl.col("second")
    sound = _checked(operator, one, other, ColumnType.BIGINT)
    if call.type is ColumnType.TIMESTAMP:
        reached = pl.when((sound >= FIRST_MOMENT) & (sound != FOREVER) & _finite(one)).then(sound)
        sound = pl.when(_finite(one) | other.is_null()).then(reached).otherwise(_infinite(one))
    elif any(kind in (ColumnType.TIMESTAMP, ColumnType.DATE) for kind in types):
        sound = pl.when(_finite(one) & _finite(other)).then(sound)
    kernel = partial(_moderate, operator, sound)
    found = pl.map_batches([first, second], kernel, return_dtype=pl.Int64, is_elementwise=True)
    return found.cast(DTYPES[call.type])


def _days(operator: Operator, date: pl.Expr, days: pl.Expr) -> pl.Expr:
    """A date some days from another; NULL beyond the last, infinite ones as they are."""
    day = date.to_physical().cast(pl.Int64)
    reached = operator(day, days.cast(pl.Int64))
    finite = day.abs() != FOREVER_DAY
    # DuckDB has the day -2**31, which comes before the infinite one.
    known = pl.when((reached.abs() != FOREVER_DAY) & reached.is_between(_INT_MIN, _INT_MAX)).then(reached)
    found = pl.when(finite | days.is_null()).then(known).otherwise(day)
    return found.cast(pl.Int32).cast(DTYPES[ColumnType.DATE])


def _moderate(operator: Operator, exact: pl.Expr, columns: Sequence[pl.Series]) -> pl.Series:
    """The plain result where none can come near the ends of time, else `exact`'s."""
    first, second = columns
    largest = [max(abs(int(c.min() or 0)), abs(int(c.max() or 0))) for c in columns]  # type: ignore[arg-type]
    if largest[0] + largest[1] < _MODERATE and (operator is not mul or largest[0] * largest[1] < _MODERATE):
        return operator(first, second)  # type: ignore[arg-type,return-value]
    height = 0 if first.is_empty() or second.is_empty() else max(len(first), len(second))
    whole = [c if len(c) == height else c.new_from_index(0, height) for c in columns]
    frame = pl.DataFrame({"first": whole[0], "second": whole[1]})
    return frame.with_columns(exact.alias("@")).get_column("@")


def _finite(ticks: pl.Expr) -> pl.Expr:
    return (ticks >= FIRST_MOMENT) & (ticks != FOREVER)


def _infinite(ticks: pl.Expr) -> pl.Expr:
    return pl.when((ticks == FOREVER) | (ticks == PAST_FOREVER)).then(ticks)


def _checked(operator: Operator, first: pl.Expr, second: pl.Expr, result: ColumnType) -> pl.Expr:
    """The integer result, NULL where it does not fit."""
    wide = operator(first.cast(pl.Int64), second.cast(pl.Int64))
    if result is ColumnType.INT:
        return wide.cast(pl.Int32, strict=False)
    # 64-bit operations wrap around, by a multiple of 2**64 that doubles see in spite of rounding.
    exact = operator(first.cast(pl.Float64), second.cast(pl.Float64))
    overflow = (exact - wide.cast(pl.Float64)).abs() > 2.0**63
    return pl.when(overflow).then(None).otherwise(wide)


def _doubles(call: Call, arguments: Sequence[pl.Expr]) -> list[pl.Expr]:
    types = (argument.type for argument in call.arguments)
    return [convert(a, kind, ColumnType.DOUBLE) for a, kind in zip(arguments, types, strict=True)]


def _divide(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    # Polars would multiply by the reciprocal of a divisor that is the same in all rows.
    return by_vectors(np.divide, *_doubles(call, arguments))


def _integer_divide(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """Truncates towards zero, where Polars rounds down."""
    first, second = (argument.cast(pl.Int64) for argument in arguments)
    down = first // second
    quotient = down + ((down * second != first) & ((first < 0) != (second < 0))).cast(pl.Int64)
    impossible = (second == 0) | ((first == _BIGINT_MIN) & (second == -1))
    return pl.when(impossible).then(None).otherwise(quotient).cast(DTYPES[call.type], strict=False)


def _modulo(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """Has the sign of the dividend, where Polars gives that of the divisor."""
    if call.type is ColumnType.DOUBLE and not any(a.type is call.type for a in call.arguments):
        # Decimals whose rest has no decimal type.
        return by_duckdb(call, arguments)
    first, second = (
        convert(argument, source.type, call.type)
        for argument, source in zip(arguments, call.arguments, strict=True)
    )
    if call.type is ColumnType.DOUBLE:
        return by_vectors(np.fmod, first, second)
    if call.type.is_decimal:
        return by_duckdb(call, arguments)
    rest = first % second
    signed = pl.when((rest != 0) & ((rest < 0) != (first < 0))).then(rest - second).otherwise(rest)
    impossible = (second == 0) | ((first == _least(call.type)) & (second == -1))
    return pl.when(impossible).then(None).otherwise(signed)


def _least(kind: ColumnType) -> int:
    return _INT_MIN if kind is ColumnType.INT else _BIGINT_MIN


def _negate(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    if call.type.is_decimal:
        return -arguments[0]
    return (
        _arithmetic(sub)(
            Call("subtract", (call.arguments[0], call.arguments[0]), call.type),
            (pl.lit(0).cast(DTYPES[call.type]), arguments[0]),
        )
        if call.type is not ColumnType.DOUBLE
        else -arguments[0]
    )


def _abs(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    if call.type is ColumnType.DOUBLE or call.type.is_decimal:
        return arguments[0].abs()
    return pl.when(arguments[0] == _least(call.type)).then(None).otherwise(arguments[0].abs())


def _step(method: Callable[[pl.Expr], pl.Expr]) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        if call.type.is_decimal:
            return by_duckdb(call, arguments)
        value = convert(arguments[0], call.arguments[0].type, call.type)
        return method(value) if call.type is ColumnType.DOUBLE else value

    return implement


def _round(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """Half away from zero; to a power of ten when a second argument says which."""
    value = arguments[0]
    if call.type.is_decimal:
        return _round_in_duckdb(call, arguments)
    if len(arguments) == 1:
        return _half_away(value) if call.type is ColumnType.DOUBLE else value
    # DuckDB takes digits of 32 bits only.
    digits = arguments[1].cast(pl.Int32, strict=False).cast(pl.Int64)
    if call.type is ColumnType.DOUBLE:
        scale = by_rows(pl.Expr.pow, pl.lit(10.0), digits.abs().cast(pl.Float64))
        fine = by_vectors(np.divide, _half_away(value * scale), scale)
        coarse = _half_away(by_vectors(np.divide, value, scale)) * scale
        rounded = (
            pl.when(~value.is_finite() | ((digits >= 0) & ~fine.is_finite()))
            .then(value)
            .when(digits >= 0)
            .then(fine)
            .otherwise(pl.when(coarse.is_infinite()).then(value).otherwise(coarse.fill_nan(0.0)))
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


def _round_in_duckdb(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    # Beyond all digits DuckDB makes 0 of a NULL, but not of one that it knows beforehand.
    if call.type.is_decimal and _is_known_null(call.arguments[0]):
        return pl.lit(None, dtype=DTYPES[call.type])
    return by_duckdb(call, arguments)


def _is_known_null(expression: Expression) -> bool:
    """True for NULL, and where arithmetic with it makes NULL of all rows."""
    if isinstance(expression, Literal):
        return is_null(expression)
    if not columns_of(expression):
        return _is_true(f"{_tried(expression)} IS NULL")
    if not isinstance(expression, Call):
        return False
    if expression.function == "case":
        chosen = _known_choice(expression)
        return chosen is not None and _is_known_null(cast(chosen, expression.type))
    return expression.function in _STRICT and any(map(_is_known_null, expression.arguments))


def _known_choice(case: Call) -> Expression | None:
    """What constant conditions choose in all rows; None if columns decide."""
    whens = case.arguments[: len(case.arguments) // 2 * 2]
    for condition, value in zip(whens[::2], whens[1::2], strict=True):
        if columns_of(condition):
            return None
        if _is_true(_tried(condition)):
            return value
    return case.arguments[-1] if len(case.arguments) % 2 else Literal(None, case.type)


def _tried(expression: Expression) -> str:
    """A constant as DuckDB reads it, NULL where it has no value."""
    return to_duckdb_sql(expression, lambda _, text: f"TRY({text})")


def _is_true(sql: str) -> bool:
    return bool(answers(sql, ColumnType.BOOLEAN, [pl.Series([0])])[0])


def _half_away(value: pl.Expr) -> pl.Expr:
    return value.round(0, mode="half_away_from_zero")


def _power(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    # Polars would multiply for some exponents if they are the same in all rows.
    return by_rows(pl.Expr.pow, *_doubles(call, arguments))


def _double(method: Callable[[pl.Expr], pl.Expr]) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        return method(*_doubles(call, arguments))

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
    "round_even": _round_in_duckdb,
    "trunc": _round_in_duckdb,
    "sqrt": _double(pl.Expr.sqrt),
    "power": _power,
    "exp": _double(pl.Expr.exp),
    "ln": _double(pl.Expr.log),
    "sin": _double(pl.Expr.sin),
    "cos": _double(pl.Expr.cos),
}
