"""Placement: equal values meet, wherever and whenever they are hashed."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.partitioning.hashing import split, spread_tasks
from jobs.storage.key_hash import hash_tasks


@given(values=st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)), tasks=st.integers(1, 7))
def test_equal_numbers_of_all_types_meet(values: list[int | None], tasks: int) -> None:
    placed = [
        hash_tasks(pl.Series(values, dtype=dtype), tasks).tolist()
        for dtype in (pl.Int32, pl.Int64, pl.Float64)
    ]
    assert placed[0] == placed[1] == placed[2]
    assert all(0 <= task < tasks for task in placed[0])
    assert all(task == 0 for task, value in zip(placed[0], values, strict=True) if value is None)


def test_values_that_sql_calls_equal_meet() -> None:
    zeros = hash_tasks(pl.Series([0.0, -0.0]), 1009)
    nans = hash_tasks(pl.Series([math.nan, -math.nan]), 1009)
    big = hash_tasks(pl.Series([2**53 + 1, 2**53]), 1009)
    assert zeros[0] == zeros[1]
    assert nans[0] == nans[1]
    # Not equal as bigints, but both equal to one double.
    assert big[0] == big[1]
    day = hash_tasks(pl.Series([date(2013, 1, 1)]), 1009)
    midnight = hash_tasks(pl.Series([datetime(2013, 1, 1, tzinfo=UTC)], dtype=pl.Datetime("us", "UTC")), 1009)
    assert day[0] == midnight[0]


def test_days_beyond_all_timestamps_have_places() -> None:
    """Polars neither converts nor prints them."""
    days = pl.Series([2**31 - 1, -(2**31) + 1, 2**31 - 2, 106_751_992, -106_751_992, None], dtype=pl.Int32)
    placed = hash_tasks(days.cast(pl.Date), 1009).tolist()
    assert hash_tasks(days.cast(pl.Date).reverse(), 1009).tolist() == placed[::-1]
    assert placed[-1] == 0
    infinite = pl.Series([2**63 - 1, -(2**63) + 1], dtype=pl.Int64).cast(pl.Datetime("us", "UTC"))
    assert hash_tasks(infinite, 1009).tolist() == placed[:2]


def test_a_checkpoint_outlives_this_process() -> None:
    # Stored partitions were filled by these very placements: changing them loses results.
    assert hash_tasks(pl.Series([0, 1, 2, 3, -1, 10**12]), 1009).tolist() == [0, 69, 841, 158, 770, 78]
    assert hash_tasks(pl.Series(["", "JFK", "é", None]), 1009).tolist() == [60, 332, 197, 0]
    assert hash_tasks(pl.Series([True, False]), 1009).tolist() == [461, 0]


def test_consecutive_keys_are_spread_evenly() -> None:
    counts = pl.Series(hash_tasks(pl.Series(range(10_000)), 8)).value_counts()["count"]
    assert min(counts) > 1000
    assert max(counts) < 1500
    even = pl.Series(spread_tasks(pl.Series(range(7 << 36, (7 << 36) + 800)), 8)).value_counts()["count"]
    assert set(even) == {100}


def test_splitting_keeps_every_row_in_order() -> None:
    frame = pl.DataFrame({"k": [3, 1, 2, 1, 3, 3], "i": range(6)})
    placed = hash_tasks(frame["k"], 3)
    parts = split(frame, placed, 3)
    assert sorted(i for _, part in parts for i in part["i"]) == list(range(6))
    for task, part in parts:
        assert part["i"].is_sorted()
        assert hash_tasks(part["k"], 3).tolist() == [task] * part.height


def test_a_key_that_cannot_be_placed_is_refused() -> None:
    with pytest.raises(TypeError, match="List"):
        hash_tasks(pl.Series([[1]]), 2)
