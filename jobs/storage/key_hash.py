"""Hashes of join keys: equal keys of any numeric type have equal hashes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from jobs.expressions.decimals import key_doubles
from jobs.expressions.dtypes import FOREVER, FOREVER_DAY, PAST_FOREVER

Tasks = npt.NDArray[np.int64]
_DAY_US = 86_400_000_000
_NOTHING = 0x9E3779B97F4A7C15
"""What NULL is hashed to."""
_SPREADING = 0x9DDFEA08EB382D69
"""An odd number, so that the order of keys makes a difference."""


def hash_tasks(keys: pl.Series, tasks: int) -> Tasks:
    """The task of each key, from 0 to `tasks` - 1; NULL goes to task 0.

    >>> hash_tasks(pl.Series([7, 7]), 4).tolist() == hash_tasks(pl.Series([7.0, 7.0]), 4).tolist()
    True
    """
    if tasks == 1:
        return np.zeros(len(keys), dtype=np.int64)
    hashes = _hashes(keys)
    placed: Tasks = (hashes % np.uint64(tasks)).astype(np.int64)
    if keys.null_count():
        placed[keys.is_null().to_numpy()] = 0
    return placed


def row_hashes(keys: Sequence[pl.Series], rows: int) -> pl.Series:
    """A number of 64 bits by all keys of each row, NULL among them.

    >>> a, b, c = row_hashes([pl.Series([1, None, 1]), pl.Series(["a", "b", "a"])], 3).to_list()
    >>> a == c, a == b
    (True, False)

    Args:
        keys: columns of the same length; without any all rows are alike.
        rows: their length.
    """
    mixed = np.zeros(rows, dtype=np.uint64)
    for key in keys:
        hashes = _hashes(key.to_physical() if key.dtype == pl.Duration else key).copy()
        if key.null_count():
            hashes[key.is_null().to_numpy()] = np.uint64(_NOTHING)
        mixed = _mix(mixed * np.uint64(_SPREADING) + hashes)
    return pl.Series(mixed.view(np.int64))


def _hashes(keys: pl.Series) -> npt.NDArray[np.uint64]:
    dtype = keys.dtype
    if dtype.is_decimal():
        return _mix(key_doubles(keys).view(np.uint64))
    if dtype.is_numeric():
        # Adding zero turns -0.0 into 0.0.
        doubles = _filled(keys.cast(pl.Float64)).to_numpy() + 0.0
        if dtype.is_float():
            doubles[np.isnan(doubles)] = np.nan
        return _mix(doubles.view(np.uint64))
    if dtype == pl.Boolean:
        return _mix(_filled(keys.cast(pl.UInt64)).to_numpy())
    if dtype == pl.Date:
        return _mix(_midnights(_filled(keys.to_physical())).view(np.uint64))
    if dtype in (pl.Datetime, pl.Time):
        return _mix(_filled(keys.to_physical()).to_numpy().view(np.uint64))
    if dtype in (pl.String, pl.Binary):
        # Hashing each distinct value once keeps the one slow part proportional to their number.
        distinct = keys.unique()
        # Only here: its import costs every worker 27 MB and a third of a second.
        import pandas as pd

        values = distinct.cast(pl.Binary).fill_null(b"").to_list()
        digests = pd.util.hash_array(np.array(values, dtype=object), categorize=False)
        table = pl.DataFrame({"key": distinct, "hash": digests})
        joined = pl.DataFrame({"key": keys}).join(
            table, on="key", how="left", nulls_equal=True, maintain_order="left"
        )
        hashed: npt.NDArray[np.uint64] = joined["hash"].to_numpy()
        return hashed
    raise TypeError(f"cannot place tuples by a key of type {dtype}")


def _midnights(days: pl.Series) -> Tasks:
    """The moments that days equal; days beyond all timestamps wrap around."""
    numbers = days.to_numpy().astype(np.int64)
    moments: Tasks = numbers * _DAY_US
    moments[numbers == FOREVER_DAY] = FOREVER
    moments[numbers == -FOREVER_DAY] = PAST_FOREVER
    return moments


def _filled(numbers: pl.Series) -> pl.Series:
    """Zero for NULL.

    Asking first is cheaper: each call of a method like `fill_null` plans a query.
    """
    return numbers.fill_null(0) if numbers.null_count() else numbers


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64, which spreads every input bit.

    Steele, Lea, Flood, OOPSLA 2014, section 3.
    """
    mixed = values ^ (values >> np.uint64(30))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    mixed = mixed ^ (mixed >> np.uint64(27))
    mixed = mixed * np.uint64(0x94D049BB133111EB)
    spread: npt.NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return spread
