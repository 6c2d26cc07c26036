"""The aggregates of GROUP BY: their types, and the states that groups keep.

What is kept are columns of *states*. One tuple gives a state, states of a group merge into one in any order,
and a result comes of it in the end: lift, combine and lower (Tangwongsan et al., PVLDB 8(7), 2015, section
3.2). Sums of doubles, and whatever looks at distinct values or at their order, need the values themselves:
their states are kept one per tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as Kind
from typing import TypeAlias

from optimizer.algebra.types import COLUMN_TYPES, MOST_DIGITS, NUMBERS, ColumnType

T = ColumnType
Scheme: TypeAlias = Kind[
    "count",  # how many
    "exact_sum",  # the halves of a sum of integers or units, so that nothing overflows, and how many
    "least",  # the least value
    "greatest",  # the greatest value
    "least_by",  # the value beside the least other one
    "greatest_by",  # the value beside the greatest other one
    "first_of",  # the first value, NULL or not, beside what it is ordered by
    "last_of",  # the last one
    "bits",  # the bits of all so far
    "values",  # every value
    "pairs",  # every pair of values
    "ordered",  # every value, beside what it is ordered by
]
UNMERGED: tuple[Scheme, ...] = ("values", "pairs", "ordered")
"""Schemes whose states stay one per tuple."""


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
    constant: ColumnType | None = None
    """The type of the constant behind the arguments."""
    default: str | None = None
    """The constant that may be left out."""
    order: Kind["never", "may", "must"] = "never"
    """Whether ORDER BY stands inside its brackets."""
    distinct: bool = True
    """False if DISTINCT would mean nothing, or nothing definite."""
    decimals: int = 0
    """Digits of the longest decimals that stay decimals; 0 to take them as doubles, where it takes these."""

    def taken(self, place: int, kind: ColumnType) -> ColumnType | None:
        """The type in which an argument of some type is taken; None if it is not.

        >>> AGGREGATES["stddev_pop"].taken(0, ColumnType.decimal(12, 2)).value
        'double'
        """
        types = self.takes[place]
        if not types:
            return None if kind is T.INTERVAL else kind
        if not kind.is_decimal:
            return kind if kind in types else None
        if not self.decimals:
            return T.DOUBLE if T.DOUBLE in types else None
        return kind if kind.precision <= self.decimals else None

    def expected(self, place: int) -> str:
        """The types that an argument may have, in words."""
        words = list(map(str, self.takes[place])) or ["a column's type"]
        if self.decimals:
            words.append("decimal" if self.decimals == MOST_DIGITS else f"decimal({self.decimals})")
        return " or ".join(words)

    def result(self, types: Sequence[ColumnType]) -> ColumnType:
        """The type of the result for arguments of the given types.

        >>> [AGGREGATES[name].result([ColumnType.INT]).value for name in ("sum", "max")]
        ['bigint', 'int']
        """
        if self.name == "sum" and types[0].is_decimal:
            return T.decimal(MOST_DIGITS, types[0].scale)
        if self.name == "sum" and types[0] is not T.DOUBLE:
            return T.BIGINT
        between = self.name in ("median", "quantile_cont")
        return types[0] if self.returns is None or (between and types[0].is_decimal) else self.returns


_INTEGERS = (T.INT, T.BIGINT)
_DEVIATIONS = (
    ("var_samp", "The sample variance; NULL for fewer than two numbers.", ("variance",)),
    ("var_pop", "The population's variance.", ()),
    ("stddev_samp", "The sample's standard deviation; NULL for fewer than two numbers.", ("stddev",)),
    ("stddev_pop", "The population's standard deviation.", ()),
)
_PAIRED = (
    ("covar_samp", "The sample's covariance; NULL for fewer than two pairs."),
    ("covar_pop", "The population's covariance."),
    ("corr", "The correlation; NaN where one number is always the same."),
)
_BITS = (
    ("and", "The bits that all have."),
    ("or", "The bits that any has."),
    ("xor", "The bits that an odd number of them has."),
)
_COMPARED = tuple(kind for kind in COLUMN_TYPES if kind is not T.BINARY)
_BETWEEN_DIGITS = 18
"""Digits of decimals between which others are found; of longer ones DuckDB finds them as doubles."""
AGGREGATES = {
    function.name: function
    for function in (
        AggregateFunction("count", ((),), T.BIGINT, "COUNT(value)", "How many are not NULL, or all."),
        AggregateFunction(
            "count_if",
            ((T.BOOLEAN,),),
            T.BIGINT,
            "COUNT_IF(condition)",
            "How many are true; NULL if all are NULL.",
            ("countif",),
            distinct=False,
        ),
        AggregateFunction(
            "sum",
            (NUMBERS,),
            None,
            "SUM(number)",
            "The sum; NULL if it is no bigint, has more than 38 digits, or is of nothing.",
            decimals=MOST_DIGITS,
        ),
        AggregateFunction(
            "avg", (NUMBERS,), T.DOUBLE, "AVG(number)", "The mean.", ("mean",), decimals=MOST_DIGITS
        ),
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
        *(
            AggregateFunction(name, (NUMBERS, NUMBERS), T.DOUBLE, f"{name.upper()}(number, number)", help)
            for name, help in _PAIRED
        ),
        AggregateFunction("product", (NUMBERS,), T.DOUBLE, "PRODUCT(number)", "The product, a double."),
        *(
            AggregateFunction(f"bit_{name}", (_INTEGERS,), None, f"BIT_{name.upper()}(integer)", help)
            for name, help in _BITS
        ),
        AggregateFunction(
            "mode",
            (_COMPARED,),
            None,
            "MODE(value)",
            "The most frequent value; of several the least.",
            decimals=MOST_DIGITS,
        ),
        AggregateFunction(
            "any_value",
            ((),),
            None,
            "ANY_VALUE(value ORDER BY value)",
            "The first value that is not NULL by ORDER BY, and without it the least.",
            order="may",
            distinct=False,
        ),
        *(
            AggregateFunction(
                name,
                ((),),
                None,
                f"{name.upper()}(value ORDER BY time)",
                f"The {name} value, NULL or not, by ORDER BY and then by the values themselves.",
                order="must",
                distinct=False,
            )
            for name in ("first", "last")
        ),
        AggregateFunction(
            "median",
            (NUMBERS,),
            T.DOUBLE,
            "MEDIAN(number)",
            "The number in the middle.",
            decimals=_BETWEEN_DIGITS,
        ),
        AggregateFunction(
            "quantile_cont",
            (NUMBERS,),
            T.DOUBLE,
            "QUANTILE_CONT(number, fraction)",
            "The number that a fraction of all, such as 0.95, is below; between two what lies between them.",
            ("percentile_cont",),
            constant=T.DOUBLE,
            decimals=_BETWEEN_DIGITS,
        ),
        AggregateFunction(
            "quantile_disc",
            ((*NUMBERS, T.TIMESTAMP, T.DATE, T.STRING, T.UUID, T.TIME),),
            None,
            "QUANTILE_DISC(value, fraction)",
            "The least value that at least a fraction of all, such as 0.95, is not above.",
            ("percentile_disc", "quantile"),
            constant=T.DOUBLE,
            decimals=MOST_DIGITS,
        ),
        AggregateFunction(
            "string_agg",
            ((T.STRING,),),
            None,
            "STRING_AGG(text, separator ORDER BY value)",
            "The texts one after the other, by values and then by themselves; the separator is a comma.",
            ("group_concat", "listagg"),
            constant=T.STRING,
            default=",",
            order="may",
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
    "first": "first_of",
    "last": "last_of",
    "bit_and": "bits",
    "bit_or": "bits",
    "bit_xor": "bits",
    "covar_samp": "pairs",
    "covar_pop": "pairs",
    "corr": "pairs",
    "string_agg": "ordered",
}


def scheme(function: str, types: Sequence[ColumnType], distinct: bool) -> Scheme:
    """What is kept for an aggregate of arguments of the given types.

    >>> scheme("avg", [ColumnType.INT], False), scheme("avg", [ColumnType.DOUBLE], False)
    ('exact_sum', 'values')
    >>> scheme("count", [ColumnType.INT], True), scheme("max", [ColumnType.INT], True)
    ('values', 'greatest')
    """
    found = _SCHEMES.get(function)
    if distinct and (found not in ("least", "greatest", "bits", "pairs", "ordered") or function == "bit_xor"):
        return "values"
    if found is None:
        exact = types[0] in _INTEGERS or types[0].is_decimal
        return "exact_sum" if function in ("sum", "avg") and exact else "values"
    return found


def states(kept: Scheme, types: Sequence[ColumnType]) -> tuple[tuple[str, ColumnType], ...]:
    """The columns of a state, and their types.

    >>> [name for name, _ in states("exact_sum", [ColumnType.INT])]
    ['high', 'low', 'count']
    """
    match kept:
        case "count":
            return (("count", T.BIGINT),)
        case "exact_sum" if types[0].is_decimal:
            halves = T.decimal(MOST_DIGITS, types[0].scale)
            return (("high", halves), ("low", halves), ("count", T.BIGINT))
        case "exact_sum":
            return (("high", T.BIGINT), ("low", T.BIGINT), ("count", T.BIGINT))
        case "least_by" | "greatest_by" | "pairs":
            return (("value", types[0]), ("by", types[1]))
        case "first_of" | "last_of":
            return (("any", T.BOOLEAN), *states("ordered", types))
        case "ordered":
            return (("value", types[0]), *((f"by{n}", kind) for n, kind in enumerate(types[1:], 1)))
    return (("value", types[0]),)
