"""Joins without equalities: sort one side, and every arriving tuple meets one stretch of it.

A window is such a condition (stored event times between two bounds), and so is an inequality
between an expression over the arriving tuples and one over the stored tuples. Of all conditions
that a probe offers, the one with the fewest pairs is taken; its pairs are formed in pieces of
bounded size, and the caller checks everything else on them. The idea of a sorted stretch per
tuple is that of sort-based band joins (DeWitt, Naughton, Schneider, VLDB 1991, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

Comparison = Literal["lt", "le", "gt", "ge"]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bound:
    """`stored <comparison> limit`, with `limit` computed from the arriving tuple."""

    limit: pl.Expr
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of one expression over the stored tuples."""

    stored: pl.Expr
    bounds: tuple[Bound, ...]
    numbers_only: bool = False
    """True if the bounds say nothing about stored NaN: the range is of no use where there is one."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """Per arriving tuple the stretch of `stored`, sorted, that it may meet."""

    stored: pl.DataFrame
    begins: Positions
    lengths: Positions

    @property
    def pairs(self) -> int:
        return int(self.lengths.sum())


def best_stretches(arriving: pl.DataFrame, stored: pl.DataFrame, ranges: Sequence[Range]) -> Stretches:
    """The stretches of the range that leaves the fewest pairs; without a range all pairs."""
    every = Stretches(
        stored,
        np.zeros(arriving.height, dtype=np.int64),
        np.full(arriving.height, stored.height, dtype=np.int64),
    )
    candidates = [found for some in ranges if (found := _stretches(arriving, stored, some)) is not None]
    return min([*candidates, every], key=lambda stretches: stretches.pairs)


def pieces(arriving: pl.DataFrame, stretches: Stretches, pairs: int) -> Iterator[pl.DataFrame]:
    """The pairs as tables, side by side, of about `pairs` rows each.

    A tuple whose stretch alone is longer is cut too, so no table is larger than `pairs`.
    """
    begins, lengths = stretches.begins, stretches.lengths
    ends = np.cumsum(lengths)
    done = 0
    total = int(ends[-1]) if len(ends) else 0
    while done < total:
        upto = min(done + pairs, total)
        # Pairs done..upto-1 belong to the arriving tuples first..last.
        first = int(np.searchsorted(ends, done, side="right"))
        last = int(np.searchsorted(ends, upto, side="left"))
        rows = np.arange(first, last + 1)
        skipped = np.zeros(len(rows), dtype=np.int64)
        skipped[0] = done - (int(ends[first]) - int(lengths[first]))
        counts = lengths[rows] - skipped
        counts[-1] -= int(ends[last]) - upto
        left = np.repeat(rows, counts)
        offsets = np.arange(upto - done) - np.repeat(np.cumsum(counts) - counts, counts)
        right = np.repeat(begins[rows] + skipped, counts) + offsets
        yield pl.concat([arriving[left], stretches.stored[right]], how="horizontal")
        done = upto


def _stretches(arriving: pl.DataFrame, stored: pl.DataFrame, some: Range) -> Stretches | None:
    key = "@range"
    ordered = stored.with_columns(some.stored.alias(key)).filter(pl.col(key).is_not_null()).sort(key)
    keys = ordered[key]
    if some.numbers_only and keys.len() and math.isnan(keys[-1]):
        return None
    begins = np.zeros(arriving.height, dtype=np.int64)
    ends = np.full(arriving.height, ordered.height, dtype=np.int64)
    for bound in some.bounds:
        limits = arriving.select(bound.limit.alias(key))[key]
        side: Literal["left", "right"] = "left" if bound.comparison in ("lt", "ge") else "right"
        positions = keys.search_sorted(limits, side=side).cast(pl.Int64).to_numpy()
        if bound.comparison in ("lt", "le"):
            ends = np.minimum(ends, positions)
        else:
            begins = np.maximum(begins, positions)
        if limits.null_count():
            ends = np.where(limits.is_null().to_numpy(), 0, ends)
    return Stretches(ordered.drop(key), begins, np.maximum(ends - begins, 0))
