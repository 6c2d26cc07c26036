"""Versions of a table: which of them may still be in force."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def in_force_from(versions: pl.DataFrame, key: Sequence[str], time: str, oldest_us: int) -> pl.DataFrame:
    """Take the versions that are in force at any time from `oldest_us` on.

    These are, of every key, the newest of those that are older, and all others. Several of one time all stay.

    >>> table = pl.DataFrame({"k": [1, 1, 1, 2], "at": [3, 5, 8, 4]})
    >>> in_force_from(table, ["k"], "at", 6).rows()
    [(1, 5), (1, 8), (2, 4)]

    Args:
        versions: in any order.
        key: the columns that say of what they are versions; NULL is a value like others.
        time: the column with the event time.
        oldest_us: microseconds since 1970.
    """
    at = pl.col(time).to_physical()
    last = pl.when(at < oldest_us).then(at).max().over(key)
    return versions.filter((at >= oldest_us) | (at == last))
