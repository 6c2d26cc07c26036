"""Range joins against nested loops."""

from __future__ import annotations

import math
import operator

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.join.range_join import (
    Bound,
    Comparison,
    Range,
    best_range,
    best_stretches,
    number_keys,
    pieces,
    stretches,
)

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
    tables = list(pieces(left, best_stretches(left, right, [some] if comparisons else []), size))
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


KEYS = st.lists(st.tuples(st.none() | st.integers(0, 2), st.sampled_from([None, "", "a"])), max_size=12)


@settings(deadline=None)
@given(
    arriving=VALUES,
    stored=VALUES,
    arriving_keys=KEYS,
    stored_keys=KEYS,
    comparisons=st.lists(st.sampled_from(["lt", "le", "gt", "ge"]), min_size=1, max_size=2),
)
def test_pairs_within_keys_are_those_of_a_nested_loop(
    arriving: list[float | None],
    stored: list[float | None],
    arriving_keys: list[tuple[int | None, str | None]],
    stored_keys: list[tuple[int | None, str | None]],
    comparisons: list[Comparison],
) -> None:
    lefts = list(zip(arriving, arriving_keys, strict=False))
    rights = list(zip(stored, stored_keys, strict=False))
    left = pl.DataFrame(
        [(i, a, *k) for i, (a, k) in enumerate(lefts)],
        schema={"i": pl.Int64, "a": pl.Float64, "k": pl.Int64, "l": pl.String},
        orient="row",
    )
    right = pl.DataFrame(
        [(j, b, *k) for j, (b, k) in enumerate(rights)],
        schema={"j": pl.Int64, "b": pl.Float64, "m": pl.Int64, "n": pl.String},
        orient="row",
    )
    some = Range(pl.col("b"), tuple(Bound(pl.col("a"), comparison) for comparison in comparisons))
    keys = number_keys(left, right, ["k", "l"], ["m", "n"])
    within = stretches(left, right, some, keys)
    found = sorted((i, j) for table in pieces(left, within, 5) for i, j in table.select("i", "j").rows())
    assert found == sorted(
        (i, j)
        for i, (a, k) in enumerate(lefts)
        for j, (b, m) in enumerate(rights)
        if k == m and None not in k and a is not None and b is not None
        if all(OPERATORS[c](order(b), order(a)) for c in comparisons)
    )


def test_a_range_that_knows_nothing_of_nan_is_not_taken_where_there_is_one() -> None:
    left = pl.DataFrame({"a": [0.5]})
    right = pl.DataFrame({"b": [0.0, 1.0, float("nan")], "c": [0.0, 1.0, 2.0]})
    narrow = Range(pl.col("b"), (Bound(pl.col("a"), "ge"), Bound(pl.col("a"), "le")), numbers_only=True)
    wide = Range(pl.col("c"), (Bound(pl.col("a"), "ge"),))
    assert best_range(left, right, [narrow]) == (None, 1.0)
    assert best_range(left, right, [narrow, wide]) == (wide, 2 / 3)


def test_the_range_with_fewest_pairs_is_taken() -> None:
    left = pl.DataFrame({"a": [5, 6]})
    right = pl.DataFrame({"b": [1, 2, 3, 4, 5, 6], "c": [6, 6, 6, 6, 5, 0]})
    wide = Range(pl.col("b"), (Bound(pl.col("a"), "le"),))
    narrow = Range(pl.col("c"), (Bound(pl.col("a"), "lt"),))
    assert best_stretches(left, right, [wide, narrow]).pairs == 3
