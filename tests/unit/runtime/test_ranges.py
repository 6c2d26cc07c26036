"""Range joins against nested loops."""

from __future__ import annotations

import math
import operator

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.ranges import Bound, Comparison, Range, best_stretches, pieces

VALUES = st.lists(st.none() | st.sampled_from([-1.0, 0.0, 0.5, 2.0, float("nan"), float("inf")]), max_size=12)
OPERATORS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}


def order(value: float) -> tuple[bool, float]:
    """SQL's order of doubles: NaN is the greatest."""
    return (True, 0.0) if math.isnan(value) else (False, value)


@settings(deadline=None)
@given(
    arriving=VALUES,
    stored=VALUES,
    comparisons=st.lists(st.sampled_from(["lt", "le", "gt", "ge"]), max_size=2),
    size=st.integers(1, 5),
)
def test_pairs_are_those_of_a_nested_loop(
    arriving: list[float | None], stored: list[float | None], comparisons: list[Comparison], size: int
) -> None:
    left = pl.DataFrame({"a": arriving, "i": range(len(arriving))}, schema={"a": pl.Float64, "i": pl.Int64})
    right = pl.DataFrame({"b": stored, "j": range(len(stored))}, schema={"b": pl.Float64, "j": pl.Int64})
    some = Range(pl.col("b"), tuple(Bound(pl.col("a"), comparison) for comparison in comparisons))
    stretches = best_stretches(left, right, [some] if comparisons else [])
    tables = list(pieces(left, stretches, size))
    assert all(0 < table.height <= size for table in tables)
    found = sorted((i, j) for table in tables for i, j in table.select("i", "j").rows())
    expected = sorted(
        (i, j)
        for i, a in enumerate(arriving)
        for j, b in enumerate(stored)
        if not comparisons
        or (a is not None and b is not None and all(OPERATORS[c](order(b), order(a)) for c in comparisons))
    )
    assert found == expected


def test_the_range_with_fewest_pairs_is_taken() -> None:
    left = pl.DataFrame({"a": [5, 6]})
    right = pl.DataFrame({"b": [1, 2, 3, 4, 5, 6], "c": [6, 6, 6, 6, 5, 0]})
    wide = Range(pl.col("b"), (Bound(pl.col("a"), "le"),))
    narrow = Range(pl.col("c"), (Bound(pl.col("a"), "lt"),))
    assert best_stretches(left, right, [wide, narrow]).pairs == 3
