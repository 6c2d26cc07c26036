"""Decoded row groups of Parquet files, kept for batches that go on inside them."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.sources.files.parquet import read_group

_CACHE_BYTES = 32 << 20
"""Of row groups that stay decoded in a process."""

Version: TypeAlias = tuple[str | int, ...]
"""Which content of which file."""


class _RowGroups:
    """Decoded row groups, newest last.

    A batch usually ends inside one, where the next goes on.

    A group that was read to its end is let go, because what comes next comes from another.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held: OrderedDict[tuple[Version, int, tuple[str, ...]], pa.Table] = OrderedDict()
        self._bytes = 0

    def rows(
        self, file: pq.ParquetFile, version: Version, path: str, first: int, rows: int, names: tuple[str, ...]
    ) -> pa.Table:
        """These columns of so many rows, from one on.

        Raises `InputError` naming the path for damage, and `OSError` for a file with fewer rows.
        """
        parts = []
        before = 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            begin = max(0, first - before)
            end = min(size, first + rows - before)
            if begin < end:
                key = (version, group, names)
                parts.append(self._group(key, file, path, ends=end == size).slice(begin, end - begin))
            before += size
            if before >= first + rows:
                break
        if sum(len(part) for part in parts) != rows:
            raise OSError(f"{path} has fewer rows than when its rows were counted")
        return pa.concat_tables(parts)

    def _group(
        self, key: tuple[Version, int, tuple[str, ...]], file: pq.ParquetFile, path: str, *, ends: bool
    ) -> pa.Table:
        table = self._held.pop(key, None)
        if table is None:
            table = read_group(file, path, key[1], key[2])
            self._bytes += table.nbytes
        self._held[key] = table
        if ends:
            self._forget(key)
        while self._bytes > self._most and len(self._held) > 1:
            self._forget(next(iter(self._held)))
        return table

    def _forget(self, key: tuple[Version, int, tuple[str, ...]]) -> None:
        self._bytes -= self._held.pop(key).nbytes


ROW_GROUPS = _RowGroups(_CACHE_BYTES)
