"""Buckets find the pairs with equal keys, all of them and no others."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.join.hash_join import Buckets

VALUES: dict[str, tuple[Any, pl.DataType]] = {
    "bigint": (st.sampled_from([None, 0, 1, -1, 2**63 - 1, -(2**63), 2**32, 1 << 48]), pl.Int64()),
    "int": (st.none() | st.integers(-3, 3), pl.Int32()),
    "date": (st.none() | st.dates(date(1969, 12, 30), date(1970, 1, 2)), pl.Date()),
    "timestamp": (st.none() | st.integers(-2, 2), pl.Datetime("us", "UTC")),
    "boolean": (st.none() | st.booleans(), pl.Boolean()),
}
KINDS = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=6)


def series(kind: str, values: list[Any]) -> pl.Series:
    dtype = VALUES[kind][1]
    if kind == "timestamp":
        return pl.Series(values, dtype=pl.Int64).cast(dtype)
    return pl.Series(values, dtype=dtype)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(data=st.data())
def test_pairs_are_those_of_a_loop_over_all(data: st.DataObject) -> None:
    kinds = data.draw(KINDS)
    sides = []
    for _ in range(2):
        count = data.draw(st.integers(0, 30))
        sides.append([data.draw(st.lists(VALUES[k][0], min_size=count, max_size=count)) for k in kinds])
    arriving, stored = ([series(k, v) for k, v in zip(kinds, side, strict=True)] for side in sides)
    found = Buckets(stored).pairs(arriving, 10_000)
    assert found is not None
    expected = {
        (i, j)
        for i, mine in enumerate(zip(*sides[0], strict=True))
        for j, theirs in enumerate(zip(*sides[1], strict=True))
        if mine == theirs and None not in mine
    }
    pairs = list(zip(found[0].tolist(), found[1].tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected


def test_more_pairs_than_allowed_are_not_formed() -> None:
    same = pl.Series([7] * 100)
    held = Buckets([same])
    assert held.pairs([same], 9_999) is None
    found = held.pairs([same], 10_000)
    assert found is not None
    assert len(found[0]) == 10_000


@pytest.mark.parametrize("step", [1, 2, 1 << 20, 1 << 40, 1_000_003])
def test_even_keys_fall_into_different_buckets(step: int) -> None:
    """As many comparisons as tuples, about: keys are often numbers at even distances."""
    keys = pl.Series([(n * step) % 2**62 for n in range(4096)])
    assert Buckets([keys]).pairs([keys], 4 * 4096) is not None
