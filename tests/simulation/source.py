"""What comes, and the log in which the source keeps how far each batch goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl

from jobs.recovery.checkpoint import Checkpoint
from jobs.recovery.manifest import Manifest
from jobs.sources.files.stream_files import FileRange
from jobs.sources.planner import PlannedBatch
from tests.simulation.judging import SCHEMA
from tests.simulation.queries import STREAMS, TABLE
from tests.simulation.schedule import Step, Tuple

Row = tuple[str, int, dict[str, object]]
"""File, row in it, tuple."""


class Source:
    """Tuples of all streams, in order; of each, batches read those that they have not read.

    Arguments: a folder for files, how many tuples of a stream a batch has at most.
    """

    def __init__(self, folder: Path, most_rows: int) -> None:
        self._folder = folder
        self._most_rows = most_rows
        self._number = 0
        self._tuples: dict[str, list[Row]] = {name: [] for name in (*STREAMS, TABLE)}
        self._log: dict[int, tuple[dict[str, int], int]] = {}
        """By batch, where each stream ends and the plan change."""
        self._ends: dict[int, dict[str, int]] = {-1: {}}
        """The same of batches that were committed."""
        self.poison: set[tuple[str, int]] = set()
        """By file and row, the tuples that batches fail with."""
        self.ended = False
        """True once nothing more comes."""

    def arrive(self, number: int, step: Step, now: datetime) -> None:
        """Take what a step brings."""
        for stream, rows in sorted(step.tuples.items()):
            if rows:
                file = self._folder / f"{stream}-{number}.parquet"
                made = [self._tuple(row, now) for row in rows]
                pl.DataFrame(made, schema=SCHEMA).write_parquet(file)
                self._tuples[stream] += [(str(file), n, one) for n, one in enumerate(made)]
        for stream, row in step.poison:
            if row < len(step.tuples.get(stream, ())):
                self.poison.add((str(self._folder / f"{stream}-{number}.parquet"), row))

    def _tuple(self, given: Tuple, now: datetime) -> dict[str, object]:
        seconds, k, j = given
        self._number += 1
        price = None if j is None else Decimal(2 * j + self._number % 2) / 2
        return {"at": now + timedelta(seconds=seconds), "k": k, "j": j, "n": self._number, "d": price}

    def planned(self, batch: int, checkpoint: Checkpoint, last: Manifest | None) -> PlannedBatch:
        """A batch as the log has it, or as far as there are tuples now."""
        before = self._ends[batch - 1]
        newest = checkpoint.newest_change()
        assert newest is not None
        if batch not in self._log:
            ends = {
                name: min(len(self._tuples[name]), before.get(name, 0) + self._most_rows)
                for name in newest.streams
            }
            self._log[batch] = (before | ends, newest.number)
        ends, change = self._log[batch]
        streams = checkpoint.change(change).streams
        ranges: list[FileRange] = []
        for stream in streams:
            for file, row, _ in self._tuples[stream][before.get(stream, 0) : ends[stream]]:
                if ranges and ranges[-1].path == file and ranges[-1].first + ranges[-1].rows == row:
                    ranges[-1] = replace(ranges[-1], rows=ranges[-1].rows + 1)
                else:
                    ranges.append(FileRange(stream, file, row, 1))
        waiting = tuple(name for name in streams if ends[name] < len(self._tuples[name]))
        return PlannedBatch(
            batch,
            {"batch": batch + 1, "change": change, "ends": ends},
            tuple(ranges),
            tuple(name for name in streams if self.ended and name not in waiting),
            len(waiting),
            {} if last is None else last.position,
            waiting=waiting,
        )

    def lose_end(self, committed: int) -> None:
        """Lose what the log has of batches behind a committed one."""
        self._log = {batch: entry for batch, entry in self._log.items() if batch <= committed}

    def committed(self, last: Manifest) -> None:
        """Hear that a batch is final."""
        self._ends[last.batch] = last.position["ends"]

    def arrived(self, stream: str, batch: int) -> list[Row]:
        """What a committed batch has read of a stream."""
        ends, before = self._ends[batch], self._ends[batch - 1]
        return self._tuples[stream][before.get(stream, 0) : ends.get(stream, 0)]

    def left(self, stream: str, batch: int) -> int:
        """How many tuples of a stream no batch up to a committed one has read."""
        return len(self._tuples[stream]) - self._ends[batch].get(stream, 0)
