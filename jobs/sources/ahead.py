"""Tuples whose event time lies ahead of their arrival.

One of them would make all that follow late.

A tuple arrives when its source says so (a Redis entry by its id, a record by its timestamp), and at the
latest when its batch was planned, which is written down with the batch: a repeated batch turns the same
tuples away. Files do not say when their tuples arrived; it counts when the replay first began, and only for
streams that declare a bound, since the results of a replay depend on its files alone otherwise.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from optimizer.logical.stream import MAX_AHEAD
from optimizer.physical.graph import GraphStream

LatestTimes: TypeAlias = npt.NDArray[np.int64] | int | None
"""The newest event time that is accepted, in microseconds since 1970: per row, or of all; None is any."""

_MOST_US = 2**63 - 1
_MOST_MS = 2**52
"""Some 140,000 years from 1970, so that sums with a bound stay below 2**63."""


def latest_time(stream: GraphStream, by_ms: int | None) -> int | None:
    """The latest event time, inclusive, that is accepted, None for any.

    The bound of tuples that had all arrived by a moment in milliseconds since 1970. There is none where the
    stream declares none or the moment is unknown.
    """
    if stream.max_ahead_us is None or by_ms is None:
        return None
    return min(by_ms * 1000 + stream.max_ahead_us, _MOST_US)


def latest_times(
    stream: GraphStream, arrived_ms: npt.NDArray[np.int64] | None, by_ms: int | None
) -> LatestTimes:
    """Up to which event time tuples are accepted, inclusive.

    Args:
        arrived_ms: per tuple, when the source says that it arrived, milliseconds since 1970; zero or less
            where it does not know. None if it knows of none.
        by_ms: when all of them had arrived; None if nobody knows.

    >>> hour = GraphStream("r", "at", (), 0, "drop", max_ahead_us=3_600_000_000)
    >>> latest_times(hour, np.array([0, 1000, 9000]), 5000).tolist()
    [3605000000, 3601000000, 3605000000]
    """
    if arrived_ms is None:
        return latest_time(stream, by_ms)
    declared = stream.max_ahead_us
    ahead_us = MAX_AHEAD // timedelta(microseconds=1) if declared is None else declared
    most = _MOST_MS if by_ms is None else by_ms
    known = np.where(arrived_ms > 0, np.minimum(arrived_ms, most), most)
    return np.minimum(known, (_MOST_US - ahead_us) // 1000) * 1000 + ahead_us


def beyond(times: pl.Series, latest_us: LatestTimes) -> pl.Series | None:
    """Which of the event times lie above what is accepted; None if none does.

    >>> beyond(pl.Series([5, None, 9]), np.array([5, 5, 8])).to_list()
    [False, False, True]
    """
    newest = times.max()
    if newest is None or latest_us is None or not len(times):
        return None
    if int(newest) <= int(np.min(latest_us)):  # type: ignore[arg-type]
        return None
    bound = latest_us if isinstance(latest_us, int) else pl.Series(latest_us)
    ahead = (times > bound).fill_null(False)
    return ahead if ahead.any() else None
