"""The closed set of functions that expressions may call.

Meaning follows DuckDB, the test oracle, with SQL's three-valued logic: a NULL argument
gives NULL except where said. `jobs.expressions` implements exactly this table; a test
holds the two together. Every function is deterministic. What a rule asks of arguments and
gives as a type is in `optimizer.algebra.typing`, which makes well-typed calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optimizer.algebra.types import ColumnType

T = ColumnType
Rule = Literal[
    "boolean",  # all arguments boolean -> boolean
    "comparison",  # comparable arguments -> boolean
    # Numeric -> the wider numeric type. Besides: timestamp - timestamp -> interval, timestamp +- interval
    # -> timestamp, interval +- interval and interval * integer and - interval -> interval. Dates among
    # them are cast to timestamps; date - date and date +- integer become calls of the above.
    "arithmetic",
    "double",  # numeric -> double
    "same_numeric",  # numeric -> its own type
    "integer",  # integers -> the wider integer type
    "text",  # strings (and integers where a position or length is meant) -> string
    "text_boolean",  # strings -> boolean
    "text_length",  # string -> bigint
    "any_boolean",  # anything -> boolean, never NULL
    "first",  # arguments of one comparable type -> that type
    "case",  # boolean, value, boolean, value, ..., otherwise value -> the values' common type
    "cast",  # anything -> the call's own type
    "part",  # timestamp -> bigint
    "epoch",  # timestamp or interval -> double
    "truncate",  # timestamp -> timestamp
]


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    sql: str
    """How it is written, for error messages and explanations."""
    least: int
    most: int | None
    rule: Rule
    aliases: tuple[str, ...] = ()
    """Other names under which DuckDB knows it."""


_TABLE: Sequence[Function] = (
    Function("and", "AND", 2, None, "boolean"),
    Function("or", "OR", 2, None, "boolean"),
    Function("not", "NOT", 1, 1, "boolean"),
    Function("eq", "=", 2, 2, "comparison"),
    Function("ne", "<>", 2, 2, "comparison"),
    Function("lt", "<", 2, 2, "comparison"),
    Function("le", "<=", 2, 2, "comparison"),
    Function("gt", ">", 2, 2, "comparison"),
    Function("ge", ">=", 2, 2, "comparison"),
    Function("is_null", "IS NULL", 1, 1, "any_boolean"),
    Function("in", "IN", 2, None, "comparison"),
    Function("add", "+", 2, 2, "arithmetic"),
    Function("subtract", "-", 2, 2, "arithmetic"),
    Function("multiply", "*", 2, 2, "arithmetic"),
    Function("divide", "/", 2, 2, "double"),
    Function("integer_divide", "//", 2, 2, "integer"),
    Function("modulo", "%", 2, 2, "arithmetic", ("mod",)),
    Function("negate", "-", 1, 1, "arithmetic"),
    Function("abs", "ABS", 1, 1, "same_numeric"),
    Function("floor", "FLOOR", 1, 1, "double"),
    Function("ceil", "CEIL", 1, 1, "double", ("ceiling",)),
    Function("round", "ROUND", 1, 2, "same_numeric"),
    Function("sqrt", "SQRT", 1, 1, "double"),
    Function("power", "POWER", 2, 2, "double", ("pow",)),
    Function("exp", "EXP", 1, 1, "double"),
    Function("ln", "LN", 1, 1, "double"),
    Function("sin", "SIN", 1, 1, "double"),
    Function("cos", "COS", 1, 1, "double"),
    Function("like", "LIKE", 2, 2, "text_boolean"),
    Function("ilike", "ILIKE", 2, 2, "text_boolean"),
    Function("starts_with", "STARTS_WITH", 2, 2, "text_boolean", ("prefix",)),
    Function("ends_with", "ENDS_WITH", 2, 2, "text_boolean", ("suffix",)),
    Function("contains", "CONTAINS", 2, 2, "text_boolean"),
    Function("lower", "LOWER", 1, 1, "text", ("lcase",)),
    Function("upper", "UPPER", 1, 1, "text", ("ucase",)),
    Function("trim", "TRIM", 1, 1, "text"),
    Function("substring", "SUBSTRING", 2, 3, "text", ("substr",)),
    Function("concat", "||", 2, None, "text"),
    Function("length", "LENGTH", 1, 1, "text_length", ("len", "char_length", "character_length")),
    Function("coalesce", "COALESCE", 1, None, "first", ("ifnull",)),
    Function("nullif", "NULLIF", 2, 2, "first"),
    Function("least", "LEAST", 2, None, "first"),
    Function("greatest", "GREATEST", 2, None, "first"),
    Function("case", "CASE", 2, None, "case"),
    Function("cast", "CAST", 1, 1, "cast"),
    Function("year", "YEAR", 1, 1, "part"),
    Function("month", "MONTH", 1, 1, "part"),
    Function("day", "DAY", 1, 1, "part", ("dayofmonth",)),
    Function("hour", "HOUR", 1, 1, "part"),
    Function("minute", "MINUTE", 1, 1, "part"),
    Function("second", "SECOND", 1, 1, "part"),
    Function("day_of_week", "DAYOFWEEK", 1, 1, "part", ("weekday",)),
    Function("epoch", "EPOCH", 1, 1, "epoch"),
    Function("date_trunc", "DATE_TRUNC", 2, 2, "truncate", ("datetrunc",)),
)

FUNCTIONS = {function.name: function for function in _TABLE}
