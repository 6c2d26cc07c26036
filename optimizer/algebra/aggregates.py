"""The aggregates of GROUP BY: their types, and the states that groups keep.

What is kept are columns of *states*. One tuple gives a state, states of a group merge into one in any order,
and a result comes of it in the end: lift, combine and lower (Tangwongsan et al., PVLDB 8(7), 2015, section
3.2). Sums of doubles, and whatever looks at distinct values, need the values themselves: their states are
kept one per tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as Kind
from typing import TypeAlias

from optimizer.algebra.types import NUMBERS, ColumnType

T = ColumnType
Scheme: TypeAlias = Kind[
    "count",  # how many
    "exact_sum",  # the halves of a sum of integers, so that nothing overflows, and how many
    "least",  # the least value
    "greatest",  # the greatest value
    "least_by",  # the value beside the least other one
    "greatest_by",  # the value beside the greatest other one
    "values",  # every value
]


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate as SQL knows it."""

    name: str
    takes: tuple[tuple[ColumnType, ...], ...]
    """Per argument the types that it may have; empty for any."""
    returns: ColumnType | None
    """None for the type of the first argument."""
    signature: str
    help: str
    aliases: tuple[str, ...] = ()

    def result(self, types: Sequence[ColumnType]) -> ColumnType:
        """The type of the result for arguments of the given types.

        >>> [AGGREGATES[name].result([ColumnType.INT]).value for name in ("sum", "max")]
        ['bigint', 'int']
        """
        if self.name == "sum" and types[0] is not T.DOUBLE:
            return T.BIGINT
        return types[0] if self.returns is None else self.returns


_INTEGERS = (T.INT, T.BIGINT)
_DEVIATIONS = (
    ("var_samp", "The sample variance; NULL for fewer than two numbers.", ("variance",)),
    ("var_pop", "The population's variance.", ()),
    ("stddev_samp", "The sample's standard deviation; NULL for fewer than two numbers.", ("stddev",)),
    ("stddev_pop", "The population's standard deviation.", ()),
)
AGGREGATES = {
    function.name: function
    for function in (
        AggregateFunction("count", ((),), T.BIGINT, "COUNT(value)", "How many are not NULL, or all."),
        AggregateFunction(
            "sum", (NUMBERS,), None, "SUM(number)", "The sum; NULL if it is no bigint, or of nothing."
        ),
        AggregateFunction("avg", (NUMBERS,), T.DOUBLE, "AVG(number)", "The mean.", ("mean",)),
        AggregateFunction("min", ((),), None, "MIN(value)", "The least value."),
        AggregateFunction("max", ((),), None, "MAX(value)", "The greatest value."),
        AggregateFunction("bool_and", ((T.BOOLEAN,),), None, "BOOL_AND(condition)", "True if all are."),
        AggregateFunction("bool_or", ((T.BOOLEAN,),), None, "BOOL_OR(condition)", "True if any is."),
        AggregateFunction(
            "arg_min",
            ((), ()),
            None,
            "ARG_MIN(value, by)",
            "The value where another one is least, such as the first by time; of several the least.",
            ("argmin", "min_by"),
        ),
        AggregateFunction(
            "arg_max",
            ((), ()),
            None,
            "ARG_MAX(value, by)",
            "The value where another one is greatest, such as the last by time; of several the greatest.",
            ("argmax", "max_by"),
        ),
        *(
            AggregateFunction(name, (NUMBERS,), T.DOUBLE, f"{name.upper()}(number)", help, aliases)
            for name, help, aliases in _DEVIATIONS
        ),
    )
}
AGGREGATE_NAMES = {
    name: function.name for function in AGGREGATES.values() for name in (function.name, *function.aliases)
}
"""DuckDB's name to ours."""
_SCHEMES: dict[str, Scheme] = {
    "count": "count",
    "min": "least",
    "max": "greatest",
    "bool_and": "least",
    "bool_or": "greatest",
    "arg_min": "least_by",
    "arg_max": "greatest_by",
}


def scheme(function: str, types: Sequence[ColumnType], distinct: bool) -> Scheme:
    """What is kept for an aggregate of arguments of the given types.

    >>> scheme("avg", [ColumnType.INT], False), scheme("avg", [ColumnType.DOUBLE], False)
    ('exact_sum', 'values')
    >>> scheme("count", [ColumnType.INT], True), scheme("max", [ColumnType.INT], True)
    ('values', 'greatest')
    """
    found = _SCHEMES.get(function)
    if distinct and found not in ("least", "greatest"):
        return "values"
    if found is None:
        return "exact_sum" if function in ("sum", "avg") and types[0] in _INTEGERS else "values"
    return found


def states(kept: Scheme, types: Sequence[ColumnType]) -> tuple[tuple[str, ColumnType], ...]:
    """The columns of a state, and their types.

    >>> [name for name, _ in states("exact_sum", [ColumnType.INT])]
    ['high', 'low', 'count']
    """
    match kept:
        case "count":
            return (("count", T.BIGINT),)
        case "exact_sum":
            return (("high", T.BIGINT), ("low", T.BIGINT), ("count", T.BIGINT))
        case "least_by" | "greatest_by":
            return (("value", types[0]), ("by", types[1]))
    return (("value", types[0]),)
