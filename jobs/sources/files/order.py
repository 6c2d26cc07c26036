"""How far a replay is in each stream, and where the next batch ends.

All streams advance together: a row's key is the running maximum, within its stream, of the
column that orders arrival (event time, or `_arrival`), and a batch takes the rows with the
smallest keys. A stream's rows never overtake each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.sources.files.parquet import batches, opened
from jobs.sources.files.stream_files import ARRIVAL_COLUMN, StreamFiles
from jobs.sources.formats.arrow_types import to_microseconds

Keys = npt.NDArray[np.int64]
FIRST = -(2**63)
"""The key of rows before the first one that is not NULL."""
_CHUNK_ROWS = 1 << 17
"""Rows whose order is looked at together; bounds memory."""


class KeyCursor:
    """The keys of a stream's rows from some row on, read ahead only as far as asked."""

    def __init__(self, files: StreamFiles) -> None:
        self._files = files
        self._row = 0
        self._key = FIRST
        self._ahead: list[Keys] = []
        self._count = 0
        self._read_to = 0
        self._chunks: Any = iter(())

    @property
    def total(self) -> int:
        return self._files.rows

    def seek(self, row: int, key: int) -> None:
        """Stand before `row`, with `key` as the running maximum of the rows before it."""
        if self._row <= row <= self._row + self._count and (row or self._read_to):
            self._drop(row - self._row)
            return
        self._row, self._key = row, key
        self._ahead, self._count, self._read_to = [], 0, row
        self._chunks = self._read(row)

    def peek(self, rows: int) -> Keys:
        """The next `rows` keys, fewer at the end of the stream."""
        while self._count < rows and self._read_to < self.total:
            values = next(self._chunks, None)
            if values is None:
                raise RuntimeError(f"{self._files.stream}: a file has fewer rows than when the replay began")
            last = int(self._ahead[-1][-1]) if self._ahead else self._key
            keys = np.maximum.accumulate(np.maximum(values, last))
            self._ahead.append(keys)
            self._count += len(keys)
            self._read_to += len(keys)
        if len(self._ahead) > 1:
            self._ahead = [np.concatenate(self._ahead)]
        return self._ahead[0][:rows] if self._ahead else np.empty(0, np.int64)

    def _drop(self, rows: int) -> None:
        if not rows:
            return
        keys = np.concatenate(self._ahead)
        self._key = int(keys[rows - 1])
        rest = keys[rows:]
        self._ahead = [rest] if len(rest) else []
        self._row += rows
        self._count -= rows

    def _read(self, row: int) -> Any:
        first = 0
        for file in self._files.files:
            if first + file.rows > row:
                yield from self._read_file(file.path, max(0, row - first))
            first += file.rows

    def _read_file(self, path: str, skip: int) -> Any:
        with opened(path) as parquet:
            for group in range(parquet.num_row_groups):
                size = parquet.metadata.row_group(group).num_rows
                if skip >= size:
                    skip -= size
                    continue
                for column in batches(parquet, path, group, self._files.order_by, _CHUNK_ROWS):
                    values = self._accepted(integers(column))[skip:]
                    skip = max(0, skip - len(column))
                    if len(values):
                        yield values

    def _accepted(self, keys: Keys) -> Keys:
        latest = self._files.latest_us
        if latest is None or self._files.order_by == ARRIVAL_COLUMN or not (keys > latest).any():
            return keys
        return np.where(keys > latest, FIRST, keys)


def integers(column: pa.Array) -> Keys:
    """A column's values as integers.

    NULL, and moments that microseconds do not hold, are `FIRST`.

    Straight from its memory: pyarrow's own conversions import pandas, which would be a third of all that the
    process that plans batches has in memory.
    """
    unit = column.type.unit if pa.types.is_timestamp(column.type) else None
    column = column.cast(pa.int64()) if unit is None else column.view(pa.int64())
    if not len(column):
        return np.empty(0, np.int64)
    validity, data = column.buffers()
    here = slice(column.offset, column.offset + len(column))
    values = np.frombuffer(data, np.int64)[here]
    if unit not in (None, "us"):
        values, outside = to_microseconds(values, unit)
        values = np.where(outside, FIRST, values) if outside.any() else values
    if not column.null_count:
        return values
    known = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")[here]
    return np.where(known, values, FIRST)


def cut(keys: Sequence[Keys], rows: int) -> list[int]:
    """How many rows each stream gives to a batch of at most `rows`.

    `keys` are each stream's next keys, ascending, at least `rows` of them or all that are left.
    Ties go to the earlier stream.

    >>> cut([np.array([1, 5]), np.array([2, 3, 4])], 3)
    [1, 2]
    """
    if sum(len(k) for k in keys) <= rows:
        return [len(k) for k in keys]
    bound = _nth([k for k in keys if len(k)], rows)
    taken = [int(np.searchsorted(k, bound, "left")) for k in keys]
    left = rows - sum(taken)
    for position, k in enumerate(keys):
        ties = min(left, int(np.searchsorted(k, bound, "right")) - taken[position])
        taken[position] += ties
        left -= ties
    return taken


def _nth(keys: Sequence[Keys], n: int) -> int:
    """The n-th smallest of all keys, from 1.

    Every sequence ascends and has some, so nothing is merged.
    """
    low, high = min(int(k[0]) for k in keys), max(int(k[-1]) for k in keys)
    while low < high:
        middle = (low + high) // 2
        if sum(int(np.searchsorted(k, middle, "right")) for k in keys) >= n:
            high = middle
        else:
            low = middle + 1
    return low
