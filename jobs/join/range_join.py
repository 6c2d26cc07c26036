"""Range joins: one side is sorted, and a tuple meets one stretch of it.

A window is such a range (stored event times between two bounds), and so is an inequality between an
expression over the arriving tuples and one over the stored tuples. Of all ranges that a probe offers,
the one with the fewest pairs is taken; its pairs are formed in pieces of bounded size, and the caller
checks everything else on them. The idea of a sorted stretch per tuple is that of sort-based band
joins (DeWitt, Naughton, Schneider, VLDB 1991, section 3). With equalities beside the range, the
stored tuples are sorted by key first, so that a stretch has the tuples of one key only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

Comparison = Literal["lt", "le", "gt", "ge"]
Positions = npt.NDArray[np.int64]

_SAMPLED_ARRIVING = 256
_SAMPLED_STORED = 2_048
"""Tuples of each side on which ranges are compared before one is chosen."""


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
class Keys:
    """Equalities beside a range, as numbers: -1 where a key equals nothing."""

    arriving: Positions
    stored: Positions


@dataclass(frozen=True, slots=True)
class Stretches:
    """Per arriving tuple, the stretch of `order` with stored tuples that it may meet."""

    stored: pl.DataFrame
    order: Positions
    """Rows of `stored`: all that any tuple can meet."""
    begins: Positions
    lengths: Positions

    @property
    def pairs(self) -> int:
        return int(self.lengths.sum())


def best_stretches(arriving: pl.DataFrame, stored: pl.DataFrame, ranges: Sequence[Range]) -> Stretches:
    """The stretches of the range that leaves fewest pairs; all pairs without a range."""
    usable = [some for some in ranges if not _misled(stored, some)]
    if len(usable) == 1:
        return stretches(arriving, stored, usable[0])  # Nothing to compare.
    if usable:
        some, _ = _best_of(arriving, stored, usable)
        return stretches(arriving, stored, some)
    every = np.full(arriving.height, stored.height, dtype=np.int64)
    return Stretches(stored, np.arange(stored.height), np.zeros_like(every), every)


def best_range(
    arriving: pl.DataFrame, stored: pl.DataFrame, ranges: Sequence[Range]
) -> tuple[Range | None, float]:
    """The range that leaves the fewest pairs of samples, and the part that it leaves.

    A range that cannot be used on these tuples is never taken; None if there is no other.
    """
    usable = [some for some in ranges if not _misled(stored, some)]
    return _best_of(arriving, stored, usable) if usable else (None, 1.0)


def _best_of(arriving: pl.DataFrame, stored: pl.DataFrame, ranges: Sequence[Range]) -> tuple[Range, float]:
    """The range that leaves the fewest pairs of samples, and the part that it leaves."""
    some_arriving = _sample(arriving, _SAMPLED_ARRIVING)
    some_stored = _sample(stored, _SAMPLED_STORED)
    most = max(1, some_arriving.height * some_stored.height)
    left = [stretches(some_arriving, some_stored, some).pairs / most for some in ranges]
    return ranges[left.index(min(left))], min(left)


def number_keys(
    arriving: pl.DataFrame,
    stored: pl.DataFrame,
    arriving_keys: Sequence[str],
    stored_keys: Sequence[str],
) -> Keys:
    """Number the keys of arriving tuples from 0; no other stored tuples can be met.

    The two sides' keys have the same types. A key with NULL in it equals nothing.
    """
    names = [f"@{i}" for i in range(len(arriving_keys))]
    left, right = (
        side.select(pl.col(key).alias(name) for key, name in zip(keys, names, strict=True))
        for side, keys in ((arriving, arriving_keys), (stored, stored_keys))
    )
    numbers = left.drop_nulls().unique(maintain_order=True).with_row_index("@number")
    of_left, of_right = (
        side.join(numbers, on=names, how="left", maintain_order="left")["@number"] for side in (left, right)
    )
    return Keys(*(side.cast(pl.Int64).fill_null(-1).to_numpy() for side in (of_left, of_right)))


def stretches(
    arriving: pl.DataFrame, stored: pl.DataFrame, some: Range, keys: Keys | None = None
) -> Stretches:
    """Per arriving tuple, stored tuples within the range that have its keys, if any."""
    values = stored.select(some.stored).to_series()
    usable = values.is_not_null().to_numpy()
    if keys is not None:
        usable = usable & (keys.stored >= 0)
    order = np.flatnonzero(usable)
    if len(order) < len(values):
        values = values.gather(order)
    by_value = _argsort(values)
    order, values = order[by_value], values.gather(by_value)
    begins = np.zeros(arriving.height, dtype=np.int64)
    ends = np.full(arriving.height, len(order), dtype=np.int64)
    for bound in some.bounds:
        limits = arriving.select(bound.limit.alias("@limit")).to_series()
        side: Literal["left", "right"] = "left" if bound.comparison in ("lt", "ge") else "right"
        positions = _search(values, limits, side)
        if bound.comparison in ("lt", "le"):
            ends = np.minimum(ends, positions)
        else:
            begins = np.maximum(begins, positions)
        if limits.null_count():
            ends = np.where(limits.is_null().to_numpy(), 0, ends)
    if keys is not None:
        order, begins, ends = _within_keys(order, begins, ends, values, keys)
    # Single rows are taken from it, which is slow across the borders of runs.
    return Stretches(stored.rechunk(), order, begins, np.maximum(ends - begins, 0))


def pieces(arriving: pl.DataFrame, found: Stretches, pairs: int) -> Iterator[pl.DataFrame]:
    """The pairs as tables, side by side, of about `pairs` rows each.

    A tuple whose stretch alone is longer is cut too, so no table is larger than `pairs`.
    """
    begins, lengths = found.begins, found.lengths
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
        right = found.order[np.repeat(begins[rows] + skipped, counts) + offsets]
        yield pl.concat([arriving[left], found.stored[right]], how="horizontal")
        done = upto


def _sample(frame: pl.DataFrame, rows: int) -> pl.DataFrame:
    return frame[:: max(1, frame.height // rows)]


def _misled(stored: pl.DataFrame, some: Range) -> bool:
    """True for a range that says nothing about NaN, where there is one."""
    if not some.numbers_only:
        return False
    values = stored.select(some.stored).to_series()
    return values.dtype.is_float() and bool(values.is_nan().any())


def _within_keys(
    order: Positions, begins: Positions, ends: Positions, values: pl.Series, keys: Keys
) -> tuple[Positions, Positions, Positions]:
    """From an order by value, and positions in it, to an order by key and then value.

    A stored tuple's place among all values is the first position that has its value. A tuple lies
    between two positions by value iff its place does, and (key, place) fits into one number.
    """
    count = len(order)
    numbers = keys.stored[order]
    first_of_value = (values != values.shift(1)).fill_null(True).to_numpy()
    places = np.maximum.accumulate(np.where(first_of_value, np.arange(count), 0))
    small = len(numbers) and int(numbers.max()) < 2**16
    # Radix sort: numpy's for small integers is linear.
    by_key = np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")
    sorted_keys = numbers[by_key] * (count + 1) + places[by_key]
    base = keys.arriving * (count + 1)
    # Of a key that equals nothing the base is negative, and so is all that is searched for.
    first, last = (_search_sorted(sorted_keys, base + limit, "left") for limit in (begins, ends))
    return order[by_key], first, last


def _argsort(values: pl.Series) -> Positions:
    """Rows in ascending order; there is no NULL. NaN is the greatest, as in SQL."""
    if _is_number(values):
        return np.argsort(_numpy(values)).astype(np.int64)
    return values.arg_sort().cast(pl.Int64).to_numpy()


def _search(values: pl.Series, limits: pl.Series, side: Literal["left", "right"]) -> Positions:
    """Where limits belong among sorted values; that of NULL means nothing."""
    if _is_number(values) and _is_number(limits):
        return _search_sorted(_numpy(values), _numpy(limits), side)
    return values.search_sorted(limits, side=side).cast(pl.Int64).to_numpy()


def _search_sorted(
    values: npt.NDArray[np.generic], limits: npt.NDArray[np.generic], side: Literal["left", "right"]
) -> Positions:
    # In ascending order, neighbouring searches read the same memory: several times as fast.
    ascending = np.argsort(limits)
    positions = np.empty(len(limits), dtype=np.int64)
    positions[ascending] = np.searchsorted(values, limits[ascending], side=side)
    return positions


def _is_number(values: pl.Series) -> bool:
    return values.dtype.is_numeric() or values.dtype.is_temporal()


def _numpy(values: pl.Series) -> npt.NDArray[np.generic]:
    # Casts are calls on one column; `to_physical` plans a query and executes that.
    if values.dtype.is_temporal():
        physical = values.cast(pl.Int32 if values.dtype == pl.Date else pl.Int64)
    else:
        physical = values.to_physical() if values.dtype.is_decimal() else values
    return (physical.fill_null(0) if physical.null_count() else physical).to_numpy()
