"""Which ranges of stored values a predicate admits, for range joins.

A comparison of sums is solved for its one stored term: of `r.x BETWEEN s.x - 1 AND s.x + 1`, with
tuples of r arriving, s.x lies between r.x - 1 and r.x + 1, and `abs(r.x - s.x) < 1` says the same.
Solving is done in doubles and the ranges are widened by more than the rounding can be: they only
select candidates, on which the probe checks the predicate itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import inf
from operator import add

import polars as pl

from jobs.expressions import compile_expression
from jobs.expressions.conversion import convert, decimal_as_double
from jobs.join.range_join import Bound, Comparison, Range
from optimizer.algebra.expression import Call, Expression, inputs_of
from optimizer.algebra.types import ColumnType, common_type

_COMPARISONS: Mapping[str, Comparison] = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_MIRRORED: Mapping[str, Comparison] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_LINEAR = frozenset(
    {ColumnType.INT, ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.TIMESTAMP, ColumnType.INTERVAL}
)
_ROUNDING = 1e-12
"""Relative; doubles round by 1e-16 and sums here have few terms."""

Term = tuple[int, Expression]
"""Sign and summand."""


def ranges_of(predicates: Sequence[Expression], bound: frozenset[str]) -> Iterator[Range]:
    """The ranges that predicates, which must all hold, put on stored expressions.

    `bound` names the inputs of arriving tuples. Predicates of other forms are passed over.
    """
    ranges: dict[Expression, list[Bound]] = {}
    texts: dict[tuple[Expression, ColumnType], list[Bound]] = {}
    for predicate in predicates:
        if not isinstance(predicate, Call) or predicate.function not in _COMPARISONS:
            continue
        first, second = predicate.arguments
        if _is_linear(first.type) and _is_linear(second.type):
            for terms in _differences(predicate):
                _solve(terms, predicate.function, bound, ranges)
        else:
            _compare(predicate, bound, texts)
    for stored, bounds in ranges.items():
        yield Range(_number(stored), tuple(bounds), numbers_only=True)
    for (stored, common), bounds in texts.items():
        yield Range(convert(compile_expression(stored), stored.type, common), tuple(bounds))


def _differences(predicate: Call) -> Iterator[list[Term]]:
    """Sums that compare with zero as the predicate's first side does with its second."""
    first, second = predicate.arguments
    if predicate.function in ("gt", "ge") and _is_abs(second):
        # y > abs(x) is y - x > 0 and y + x > 0.
        for sign in (1, -1):
            yield [*_terms(first, 1), *_terms(second.arguments[0], sign)]  # type: ignore[union-attr]
    elif predicate.function in ("lt", "le") and _is_abs(first):
        for sign in (1, -1):
            yield [*_terms(first.arguments[0], sign), *_terms(second, -1)]  # type: ignore[union-attr]
    else:
        yield [*_terms(first, 1), *_terms(second, -1)]


def _is_linear(kind: ColumnType) -> bool:
    return kind in _LINEAR or kind.is_decimal


def _is_abs(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "abs"


def _terms(expression: Expression, sign: int) -> Iterator[Term]:
    if isinstance(expression, Call) and expression.function in ("add", "subtract"):
        first, second = expression.arguments
        yield from _terms(first, sign)
        yield from _terms(second, sign if expression.function == "add" else -sign)
    elif isinstance(expression, Call) and expression.function == "cast" and _is_linear(expression.type):
        (inner,) = expression.arguments
        if inner.type.is_numeric and expression.type is ColumnType.DOUBLE:
            yield from _terms(inner, sign)
        else:
            yield sign, expression
    else:
        yield sign, expression


def _solve(
    terms: Sequence[Term], function: str, bound: frozenset[str], ranges: dict[Expression, list[Bound]]
) -> None:
    stored = [(sign, term) for sign, term in terms if inputs_of(term) - bound]
    others = [(sign, term) for sign, term in terms if not inputs_of(term) - bound]
    if len(stored) != 1 or inputs_of(stored[0][1]) & bound or not any(inputs_of(t) for _, t in others):
        return
    ((sign, term),) = stored
    # sign * term + others <comparison> 0, so term <comparison or its mirror> -sign * others.
    comparison = _COMPARISONS[function] if sign > 0 else _MIRRORED[function]
    limit = reduce(add, (_number(other) * (-sign * own) for own, other in others))
    size = reduce(add, (_number(other).abs() for _, other in others))
    # Sums with NaN or infinities cannot be solved: such a tuple meets everything. NULL meets nothing.
    upper = comparison in ("lt", "le")
    wider = limit + size * _ROUNDING if upper else limit - size * _ROUNDING
    solved = pl.when(size.is_finite() | size.is_null()).then(wider).otherwise(inf if upper else -inf)
    ranges.setdefault(term, []).append(Bound(solved, "le" if upper else "ge"))


def _number(expression: Expression) -> pl.Expr:
    compiled = compile_expression(expression)
    if expression.type.is_decimal:
        return decimal_as_double(compiled, expression.type)
    if not expression.type.is_numeric:
        compiled = compiled.to_physical()
    return compiled.cast(pl.Float64)


def _compare(
    predicate: Call, bound: frozenset[str], texts: dict[tuple[Expression, ColumnType], list[Bound]]
) -> None:
    """A comparison of values that cannot be added, with the sides on the two sides."""
    first, second = predicate.arguments
    if inputs_of(second) <= bound:
        arriving, stored, comparison = second, first, _COMPARISONS[predicate.function]
    else:
        arriving, stored, comparison = first, second, _MIRRORED[predicate.function]
    if not inputs_of(arriving) <= bound or not inputs_of(stored) or inputs_of(stored) & bound:
        return
    common = common_type(arriving.type, stored.type)
    limit = convert(compile_expression(arriving), arriving.type, common)
    texts.setdefault((stored, common), []).append(Bound(limit, comparison))
