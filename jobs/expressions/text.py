"""Strings: positions and lengths count Unicode code points, patterns are LIKE's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from optimizer.expression import Call, Expression, Literal

# The space separators of Unicode: what TRIM removes; tabs and line ends stay.
_SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_SPECIAL = r"([\\.+*?()|\[\]{}^$#&\-~])"


def _like(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return _matches(arguments[0], call.arguments[1], arguments[1])


def _ilike(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    pattern: Expression = call.arguments[1]
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        (lowered,) = pc.utf8_lower(pa.array([pattern.value])).to_pylist()
        pattern = Literal(lowered, pattern.type)
    return _matches(_lower(call, arguments[:1]), pattern, _lower(call, arguments[1:]))


def _matches(value: pl.Expr, pattern: Expression, computed: pl.Expr) -> pl.Expr:
    """LIKE: `%` is any text, `_` any one character, nothing is an escape."""
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        return _matches_constant(value, pattern.value)
    expression = (
        computed.str.replace_all(_SPECIAL, r"\$1")
        .str.replace_all("%", ".*", literal=True)
        .str.replace_all("_", ".", literal=True)
    )
    return value.str.contains(pl.lit("(?s)^") + expression + pl.lit("$"))


def _matches_constant(value: pl.Expr, pattern: str) -> pl.Expr:
    inner = pattern.strip("%")
    if "_" not in inner and "%" not in inner:
        starts, ends = not pattern.startswith("%"), not pattern.endswith("%")
        if not pattern.strip("%") and pattern:
            return pl.when(value.is_not_null()).then(pl.lit(True))
        if starts and ends:
            return value == inner
        if starts:
            return value.str.starts_with(inner)
        if ends:
            return value.str.ends_with(inner)
        return value.str.contains(inner, literal=True)
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return value.str.contains("(?s)^" + "".join(parts) + "$")


def _arrow(function: Callable[[pa.Array], pa.Array]) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    # Arrow and DuckDB share one table of case mappings, character by character; Polars maps
    # whole strings (so that one letter may become two).
    def compute(column: pl.Series) -> pl.Series:
        mapped = function(column.to_arrow(compat_level=pl.CompatLevel.oldest()))
        return pl.Series(pl.from_arrow(mapped))

    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        return arguments[0].map_batches(compute, return_dtype=pl.String, is_elementwise=True)

    return implement


_lower = _arrow(pc.utf8_lower)


def _substring(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """SQL's substring: from position `start` (1 is the first, negative counts from the end)."""
    value, start = arguments[0], arguments[1].cast(pl.Int64)
    size = value.str.len_chars().cast(pl.Int64)
    first = pl.when(start < 0).then(size + start).otherwise(start - 1)
    end = size if len(arguments) == 2 else first + arguments[2].cast(pl.Int64)
    low, high = pl.min_horizontal(first, end), pl.max_horizontal(first, end)
    low, high = (bound.clip(0, None) for bound in (low, high))
    cut = value.str.slice(low, high - low)
    unknown = start.is_null() | end.is_null() | value.is_null()
    return pl.when(unknown).then(None).otherwise(cut)


IMPLEMENTATIONS = {
    "like": _like,
    "ilike": _ilike,
    "starts_with": lambda call, arguments: arguments[0].str.starts_with(arguments[1]),
    "ends_with": lambda call, arguments: arguments[0].str.ends_with(arguments[1]),
    "contains": lambda call, arguments: arguments[0].str.contains(arguments[1], literal=True),
    "lower": _lower,
    "upper": _arrow(pc.utf8_upper),
    "trim": lambda call, arguments: arguments[0].str.strip_chars(_SPACES),
    "substring": _substring,
    "concat": lambda call, arguments: pl.concat_str(arguments, ignore_nulls=False),
    "length": lambda call, arguments: arguments[0].str.len_chars().cast(pl.Int64),
}
