"""Hash joins of few tuples.

Stored tuples stand in order of a hash of their key, for all probes of a level.

A library's hash join is made for many tuples. Planning one takes longer than joining some thousand, and
each builds its table anew, although the probes of many queries look up the same stored tuples. Here the
stored tuples are put into buckets once; an arriving tuple meets the bucket of its key's hash, and the
pairs are compared column by column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

Positions = npt.NDArray[np.int64]

_MOST_BITS = 16
"""NumPy sorts numbers of so many bits by radix, and larger ones in several times as long."""
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
"""Odd, as for any multiplicative hash; keys of more columns are told apart by comparing them."""


class Buckets:
    """Rows by their keys, which are columns of whole numbers, times or booleans.

    >>> held = Buckets([pl.Series([7, 8, None, 7])])
    >>> left, right = held.pairs([pl.Series([8, 7, None])], 10)
    >>> sorted(zip(left.tolist(), right.tolist()))
    [(0, 1), (1, 0), (1, 3)]
    """

    def __init__(self, keys: Sequence[pl.Series]) -> None:
        rows, values = _without_nulls(keys)
        self._bits = min(_MOST_BITS, max(1, (len(rows) - 1).bit_length()))
        buckets = _bucket(values, self._bits)
        order = np.argsort(buckets, kind="stable")
        self._rows = rows[order]
        self._values = tuple(column[order] for column in values)
        self._lengths = np.bincount(buckets, minlength=1 << self._bits)
        self._ends = np.cumsum(self._lengths)

    def pairs(self, keys: Sequence[pl.Series], most: int) -> tuple[Positions, Positions] | None:
        """The pairs of a row of `keys` and one of these tuples with equal keys.

        NULL equals nothing. None if more than `most` pairs would have to be compared.

        The result is None if more than `most` pairs would have to be compared.
        """
        rows, values = _without_nulls(keys)
        buckets = _bucket(values, self._bits)
        lengths = self._lengths[buckets]
        behind = np.cumsum(lengths)
        total = int(behind[-1]) if len(behind) else 0
        if total > most:
            return None
        left = np.repeat(np.arange(len(rows)), lengths)
        right = np.repeat(self._ends[buckets] - behind, lengths) + np.arange(total)
        for column, held in zip(values, self._values, strict=True):
            same = column[left] == held[right]
            left, right = left[same], right[same]
        return rows[left], self._rows[right]


def _without_nulls(keys: Sequence[pl.Series]) -> tuple[Positions, list[npt.NDArray[np.int64]]]:
    """The rows where no key is NULL, and their keys."""
    rows = np.arange(len(keys[0]))
    known = [key.is_not_null().to_numpy() for key in keys if key.null_count()]
    if known:
        rows = np.flatnonzero(np.logical_and.reduce(known))
    return rows, [integers(key[rows] if known else key) for key in keys]


def integers(column: pl.Series) -> npt.NDArray[np.int64]:
    """Times or whole numbers without NULL, as they are."""
    # Not `to_physical`, which plans a query.
    values: npt.NDArray[np.int64] = column.cast(pl.Int64).to_numpy()
    return values


def _bucket(values: Sequence[npt.NDArray[np.int64]], bits: int) -> npt.NDArray[np.uint16]:
    mixed = values[0].view(np.uint64) * np.uint64(_FACTORS[0])
    for column, factor in zip(values[1:], _FACTORS[1:], strict=False):
        mixed ^= column.view(np.uint64) * np.uint64(factor)
    return (mixed >> np.uint64(64 - bits)).astype(np.uint16)
