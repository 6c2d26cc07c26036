"""Strings: positions and lengths count Unicode code points, patterns are LIKE's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from jobs.expressions.functions.patterns import matcher
from jobs.expressions.functions.reference import answers, by_duckdb, guarded
from jobs.expressions.repeated import Implementation
from optimizer.algebra.expression import Call, Expression, Literal
from optimizer.algebra.types import ColumnType

# The space separators of Unicode: what TRIM removes; tabs and line ends stay.
_SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_NEW_LETTERS = (
    r"[\x{19B}\x{264}\x{277}\x{27C}\x{1C89}\x{1C8A}\x{A7CB}-\x{A7E2}\x{AB4B}-\x{AB6D}"
    r"\x{10D50}-\x{10D85}\x{16EA0}-\x{16ED3}\x{1DF40}-\x{1DF7F}]"
)
"""Letters that have had a second case for so short a time that Arrow knows only one."""
_REGEX_LIMIT = 500
"""Characters of a pattern that is matched by a regular expression: they take memory, and fail beyond some."""


def _like(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return _matches(arguments[0], call.arguments[1], arguments[1])


def _ilike(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    pattern: Expression = call.arguments[1]
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        (lowered,) = answers("lower(c0)", ColumnType.STRING, [pl.Series([pattern.value])])
        pattern = Literal(lowered, pattern.type)
    return _matches(_lower(call, arguments[:1]), pattern, _lower(call, arguments[1:]))


def _matches(value: pl.Expr, pattern: Expression, computed: pl.Expr) -> pl.Expr:
    """LIKE: `%` is any text, `_` any one character, nothing is an escape."""
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        return _matches_constant(value, pattern.value)
    return _matches_computed(value, computed)


def _matches_computed(value: pl.Expr, computed: pl.Expr) -> pl.Expr:
    return pl.map_batches([value, computed], _matched, return_dtype=pl.Boolean, is_elementwise=True)


def _matched(columns: Sequence[pl.Series]) -> pl.Series:
    texts, patterns = columns
    height = 0 if texts.is_empty() or patterns.is_empty() else max(len(texts), len(patterns))
    made = {pattern: matcher(pattern) for pattern in patterns.unique() if pattern is not None}
    texts, patterns = (c if len(c) == height else c.new_from_index(0, height) for c in columns)
    found = [
        None if text is None or pattern is None else made[pattern](text)
        for text, pattern in zip(texts, patterns, strict=True)
    ]
    return pl.Series(texts.name, found, dtype=pl.Boolean)


def _matches_constant(value: pl.Expr, pattern: str) -> pl.Expr:
    inner = pattern.strip("%")
    if "_" not in inner and "%" not in inner:
        starts, ends = not pattern.startswith("%"), not pattern.endswith("%")
        if not pattern.strip("%") and pattern:
            return value.str.starts_with("")
        if starts and ends:
            return value == inner
        if starts:
            return value.str.starts_with(inner)
        if ends:
            return value.str.ends_with(inner)
        return value.str.contains(inner, literal=True)
    if len(pattern) > _REGEX_LIMIT:
        return _matches_computed(value, pl.lit(pattern))
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return value.str.contains("(?s)^" + "".join(parts) + "$")


def _mapped(name: str, function: Callable[[pa.Array], pa.Array]) -> Implementation:
    # Arrow and DuckDB map cases character by character, but by tables of different age; Polars maps
    # whole strings (so that one letter may become two).
    def compute(column: pl.Series) -> pl.Series:
        mapped = function(column.to_arrow(compat_level=pl.CompatLevel.oldest()))
        return pl.Series(pl.from_arrow(mapped))

    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        return guarded(compute, _of_known_letters, f"{name}(c0)", arguments[0], ColumnType.STRING)

    return implement


def _of_known_letters(texts: pl.Series) -> bool:
    ascii_only = texts.str.len_bytes().sum() == texts.str.len_chars().sum()
    return ascii_only or not texts.str.contains(_NEW_LETTERS).any()


_lower = _mapped("lower", pc.utf8_lower)


def _trim(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return arguments[0].str.strip_chars(_SPACES) if len(arguments) == 1 else by_duckdb(call, arguments)


def _substring(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """SQL's substring from `start`: 1 is the first, negative ones count from the end.

    As in DuckDB, positions and lengths are numbers of 32 bits with a sign before them.
    """
    value, start = arguments[0], arguments[1].cast(pl.Int64)
    size = value.str.len_chars().cast(pl.Int64)
    first = pl.when(start < 0).then(size + start).otherwise(start - 1)
    # Without a length it is the greatest one, which does not reach the end from everywhere.
    end = first + (2**32 - 1 if len(arguments) == 2 else arguments[2].cast(pl.Int64))
    low, high = pl.min_horizontal(first, end), pl.max_horizontal(first, end)
    low, high = (bound.clip(0, None) for bound in (low, high))
    cut = value.str.slice(low, high - low)
    reachable = [bound.cast(pl.Int64).is_between(-(2**32), 2**32 - 1) for bound in arguments[1:]]
    return pl.when(value.is_not_null(), *reachable).then(cut)


IMPLEMENTATIONS = {
    "like": _like,
    "ilike": _ilike,
    "starts_with": lambda call, arguments: arguments[0].str.starts_with(arguments[1]),
    "ends_with": lambda call, arguments: arguments[0].str.ends_with(arguments[1]),
    "contains": lambda call, arguments: arguments[0].str.contains(arguments[1], literal=True),
    "lower": _lower,
    "upper": _mapped("upper", pc.utf8_upper),
    "trim": _trim,
    "substring": _substring,
    "concat": lambda call, arguments: pl.concat_str(arguments, ignore_nulls=False),
    "length": lambda call, arguments: arguments[0].str.len_chars().cast(pl.Int64),
}
