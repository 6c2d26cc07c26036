"""Three-valued logic, comparisons and choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_

import polars as pl

from jobs.expressions.conversion import convert
from jobs.expressions.dtypes import DTYPES
from optimizer.algebra.expression import Call, columns_of
from optimizer.algebra.types import ColumnType, as_decimal, common_type

Comparison = Callable[[pl.Expr, pl.Expr], pl.Expr]


def _conjunction(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return reduce(and_, arguments)


def _disjunction(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return reduce(or_, arguments)


def _comparison(operator: Comparison) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    # Polars and DuckDB agree on NaN: equal to itself and greater than every other number.
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        first, second = (argument.type for argument in call.arguments)
        common = common_type(first, second)
        return operator(convert(arguments[0], first, common), convert(arguments[1], second, common))

    return implement


_equal = _comparison(eq)


def _in(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    # A disjunction of equalities has SQL's meaning where a list holds NULL; `is_in` has not. All of them
    # compare in one type: with a double in the list, bigints are doubles.
    types = [argument.type for argument in call.arguments]
    common = reduce(common_type, types)
    alike = [convert(a, kind, common) for a, kind in zip(arguments, types, strict=True)]
    subject, *members = alike
    found = reduce(or_, (subject == member for member in members))
    if not _may_not_fit(common, types):
        return found
    fitting = _where_all_fit(found, arguments, alike)
    known = [not columns_of(argument) for argument in call.arguments]
    if not known[0] or all(known):
        return fitting
    # DuckDB knows beforehand that a constant is in the list, and asks no column whether it fits.
    same = [subject == member for member, constant in zip(members, known[1:], strict=True) if constant]
    if not same:
        return fitting
    return pl.when(reduce(or_, same).fill_null(False)).then(True).otherwise(fitting)


def _coalesce(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    alike = _alike(call, arguments)
    if not _may_not_fit(call.type, (argument.type for argument in call.arguments)):
        return pl.coalesce(alike)
    found = alike[-1]
    for argument, value in zip(reversed(arguments[:-1]), reversed(alike[:-1]), strict=True):
        found = pl.when(argument.is_not_null()).then(value).otherwise(found)
    return found


def _may_not_fit(common: ColumnType, types: Iterable[ColumnType]) -> bool:
    """True if a number may be too large for the decimal type of all."""
    digits = common.precision - common.scale
    return common.is_decimal and any(
        (one := as_decimal(kind)).precision - one.scale > digits for kind in types
    )


def _where_all_fit(found: pl.Expr, arguments: Sequence[pl.Expr], alike: Sequence[pl.Expr]) -> pl.Expr:
    """NULL where one of the arguments is too large for the type of all."""
    missing = (a.is_not_null() & b.is_null() for a, b in zip(arguments, alike, strict=True))
    return pl.when(~pl.any_horizontal(missing)).then(found)


def _nullif(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    equal = _equal(call, arguments)
    return pl.when(equal.fill_null(False)).then(None).otherwise(arguments[0])


def _extreme(better: Comparison) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    # NULL arguments are passed over; Polars' own horizontal minimum would pass over NaN too.
    def pick(first: pl.Expr, second: pl.Expr) -> pl.Expr:
        return (
            pl.when(first.is_null()).then(second)
            .when(second.is_null() | better(first, second)).then(first)
            .otherwise(second)
        )  # fmt: skip

    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        alike = _alike(call, arguments)
        found = reduce(pick, alike)
        types = (argument.type for argument in call.arguments)
        return _where_all_fit(found, arguments, alike) if _may_not_fit(call.type, types) else found

    return implement


def _case(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    pairs = len(arguments) // 2
    chosen = pl.lit(None, dtype=DTYPES[call.type])
    if len(arguments) % 2:
        chosen = convert(arguments[-1], call.arguments[-1].type, call.type)
    for i in reversed(range(pairs)):
        condition, source = arguments[2 * i], call.arguments[2 * i + 1].type
        value = convert(arguments[2 * i + 1], source, call.type)
        if columns_of(call.arguments[2 * i]):
            chosen = pl.when(condition.fill_null(False)).then(value).otherwise(chosen)
        elif pl.select(condition).item():
            chosen = value
    return chosen


def _alike(call: Call, arguments: Sequence[pl.Expr]) -> list[pl.Expr]:
    return [
        convert(argument, source.type, call.type)
        for argument, source in zip(arguments, call.arguments, strict=True)
    ]


IMPLEMENTATIONS = {
    "and": _conjunction,
    "or": _disjunction,
    "not": lambda call, arguments: ~arguments[0],
    "eq": _equal,
    "ne": _comparison(ne),
    "lt": _comparison(lt),
    "le": _comparison(le),
    "gt": _comparison(gt),
    "ge": _comparison(ge),
    "is_null": lambda call, arguments: arguments[0].is_null(),
    "in": _in,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "least": _extreme(le),
    "greatest": _extreme(ge),
    "case": _case,
}
