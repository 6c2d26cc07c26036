"""Default statistics, the bottom layer of every provider, when nothing is known.

| what | expected | interval | why |
|---|---|---|---|
| rate | 100 tuples/s | 1 .. 10,000 | all streams alike: only the queries' shape decides |
| `=` between inputs | 0.01 | 0.0001 .. 0.1 | a key of a hundred values |
| `=` with a constant | 0.1 | 0.001 .. 0.5 | constants are chosen because they occur |
| `<>` | 0.9 | 0.5 .. 1 | the complement of the former |
| `<` and the like | 1/3 | 0.05 .. 0.95 | System R's figure |
| band (`<` and `>` on a difference, `abs(a - b) < c`) | 0.1 | 0.001 .. 0.5 | narrower than one inequality |
| LIKE, prefix, suffix, containment | 0.1 | 0.001 .. 0.5 | as for a constant |
| IS NULL | 0.05 | 0 .. 0.5 | most columns are mostly filled |
| IN (n values) | n * 0.1, at most 0.5 | | n equalities |
| anything over three or more inputs, other functions | 0.1 | 0.001 .. 0.9 | |
| a user function, compared in any direction | 0.1 | 0.001 .. 0.9 | it looks for the few that are alike |

AND multiplies, OR adds and subtracts the product, NOT complements: all as if independent.
Tightened by the number of distinct values where somebody knows it (`SampleStatistics`).
"""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.algebra.expression import Call, Column, Expression, Literal, inputs_of, walk
from optimizer.algebra.udf_names import calls_user_function
from optimizer.statistics.interval import Interval

RATE = Interval(1.0, 100.0, 10_000.0)
EQUALITY = Interval(0.0001, 0.01, 0.1)
EQUALS_CONSTANT = Interval(0.001, 0.1, 0.5)
INEQUALITY = Interval(0.05, 1 / 3, 0.95)
BAND = Interval(0.001, 0.1, 0.5)
LIKE = Interval(0.001, 0.1, 0.5)
IS_NULL = Interval(0.0, 0.05, 0.5)
OTHER = Interval(0.001, 0.1, 0.9)
_TEXT_MATCHES = frozenset({"like", "ilike", "starts_with", "ends_with", "contains"})
_ORDERS = frozenset({"lt", "le", "gt", "ge"})


@dataclass(frozen=True, slots=True)
class DefaultStatistics:
    """Documented guesses for everything; never answers unknown."""

    def rate(self, stream: str) -> Interval:
        return RATE

    def selectivity(self, predicate: Expression) -> Interval:
        return default_selectivity(predicate)


def default_selectivity(predicate: Expression) -> Interval:
    """The table above, applied to one predicate.

    >>> from optimizer.algebra.types import ColumnType
    >>> sides = (Column("r", "a", ColumnType.INT), Column("s", "a", ColumnType.INT))
    >>> default_selectivity(Call("eq", sides, ColumnType.BOOLEAN)).expected
    0.01
    """
    if isinstance(predicate, Literal):
        return Interval.exactly(1.0 if predicate.value is True else 0.0)
    if isinstance(predicate, Column):
        return Interval(0.05, 0.5, 0.95)
    match predicate.function:
        case "and":
            result = Interval.exactly(1.0)
            for argument in predicate.arguments:
                result = result.times(default_selectivity(argument))
            return result
        case "or":
            missed = Interval.exactly(1.0)
            for argument in predicate.arguments:
                missed = missed.times(_complement(default_selectivity(argument)))
            return _complement(missed)
        case "not":
            return _complement(default_selectivity(predicate.arguments[0]))
        case "in":
            expected = min(0.5, EQUALS_CONSTANT.expected * (len(predicate.arguments) - 1))
            return Interval(EQUALS_CONSTANT.low, expected, 0.9)
        case "is_null":
            return IS_NULL
    if len(inputs_of(predicate)) > 2 or calls_user_function(predicate):
        return OTHER
    return _of_comparison(predicate)


def is_assumed(predicate: Expression, known: Interval | None) -> bool:
    """True if nothing better than the table is known of a predicate."""
    return known is None or known == default_selectivity(predicate)


def _of_comparison(predicate: Call) -> Interval:
    with_constant = any(isinstance(argument, Literal) for argument in predicate.arguments)
    if predicate.function == "eq":
        return EQUALS_CONSTANT if with_constant else EQUALITY
    if predicate.function == "ne":
        return _complement(EQUALS_CONSTANT if with_constant else EQUALITY)
    if predicate.function in _ORDERS:
        # abs(a - b) < c bounds a difference from both sides: a band although it is one inequality.
        bounded = any(isinstance(node, Call) and node.function == "abs" for node in walk(predicate))
        return BAND if bounded and len(inputs_of(predicate)) > 1 else INEQUALITY
    if predicate.function in _TEXT_MATCHES:
        return LIKE
    return OTHER


def _complement(share: Interval) -> Interval:
    return Interval(1 - share.high, 1 - share.expected, 1 - share.low)
