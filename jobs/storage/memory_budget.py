"""The memory budget of a topology's state: how runs are written and read.

The limit of a topology is shared out evenly among its partitions, so it holds however many of them are
worked on at the same time. It bounds stored tuples: what a task has mapped or copied of them at one
moment. The batch in hand, its results, Python and Spark are not part of it.

On one host runs are merged beside the batches (`jobs.driver.background_compaction`), which gets a share of
its own.

A share is used in fifths, because a piece that is joined, and runs that are merged, may be there three
times: as mapped, in the order that the work needs, and as Arrow or Polars wants them. One fifth is for
indexes of runs, which stay opened, and half of one for the step that finds the piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from jobs.storage.run_index import describe
from optimizer.algebra.errors import InputError, Place

SMALLEST_SHARE_BYTES = 256 * 1024
"""Of a limit, for each partition. With less, more time would go into opening runs than into reading them."""
COPIES = 3
"""How often a part of the state is in memory while it is worked on, at most. A piece also has
beside it the step that found it, half as large, indexes that stay open, as large, and the index of a run, a
third."""
_PARTS = COPIES + 2


@dataclass(frozen=True, slots=True)
class Limit:
    """What one partition may hold."""

    share_bytes: int
    searched: Mapping[str, Sequence[str]]
    """By store: the columns by which probes look tuples up, the most important first."""

    @property
    def part_bytes(self) -> int:
        """How much of the state is worked on at once."""
        return self.share_bytes // _PARTS

    def arranged(self, store: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[bytes, bytes]]:
        """The tuples in the order that a run should have, and the run's index.

        Of an index that would be too large to be read beside a piece only the order is kept.
        """
        columns = self.searched.get(store, ())
        if not columns:
            return frame, {}
        ordered = frame.sort(columns[0], maintain_order=True)
        index = describe(ordered, columns)
        small = sum(map(len, index.values())) <= self.part_bytes // COPIES
        return ordered, index if small else describe(ordered.clear(), columns)


def share(limit_bytes: int | None, partitions: int, merging: bool = False) -> int | None:
    """What each of the partitions may hold, in bytes; None for any amount.

    With `merging` somebody merges runs beside them and may hold as much.

    >>> share(4 << 20, 4), share(5 << 20, 4, merging=True)
    (1048576, 1048576)

    Raises `InputError` if that would be too little to work with.
    """
    if limit_bytes is None:
        return None
    if limit_bytes < partitions * SMALLEST_SHARE_BYTES:
        raise InputError(
            "bad-option",
            Place("command line", path="--memory-limit"),
            f"{limit_bytes} bytes for {partitions} partitions",
            f"at least {partitions * SMALLEST_SHARE_BYTES}, which is {SMALLEST_SHARE_BYTES} for each",
        )
    return limit_bytes // (partitions + merging)
