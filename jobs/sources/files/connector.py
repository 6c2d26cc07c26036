"""Files: rows of Parquet files, which a replay plans (`files.replay`)."""

from __future__ import annotations

import os
from collections import OrderedDict
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.sources.connector import Asked, Connector, Raw
from jobs.sources.files.parquet import STAGED, opened, read_group
from jobs.sources.files.stream_files import FileRange
from jobs.sources.formats.columns import type_columns
from jobs.sources.formats.decode import REASON, TUPLE, Columns
from jobs.sources.read import letters, undecodable

_CACHE_BYTES = 32 << 20
"""Of row groups that stay decoded in a process."""


class Files(Connector):
    descriptors = (FileRange,)

    def read(self, descriptor: FileRange, asked: Asked) -> Raw:
        columns = asked.columns
        if _is_staged(descriptor.path):
            return _read_staged(descriptor, columns)
        file = Path(descriptor.path)
        origin = f"{file.parent.name}/{file.name}"
        stored = _GROUPS.rows(descriptor, tuple(name for name, _ in columns))
        typed = type_columns(
            stored, columns, lambda row: f"{origin}, row {descriptor.first + row + 1}", asked.needed
        )
        return Raw(typed.readable(), letters([(one.reason, one.text) for one in typed.broken]), None)


CONNECTOR = Files()


def _read_staged(descriptor: FileRange, columns: Columns) -> Raw:
    """Rows whose values were looked at when they were staged."""
    table = _GROUPS.rows(descriptor, (*(name for name, _ in columns), REASON, TUPLE))
    reasons = table.column(REASON)
    broken = None
    if reasons.null_count < len(reasons):
        broken = undecodable(*table.select([REASON, TUPLE]).filter(reasons.is_valid()).columns)
        table = table.filter(reasons.is_null())
    return Raw(type_columns(table, columns, str, ()).table, broken, None)


@cache
def _is_staged(path: str) -> bool:
    with opened(path) as file:
        return STAGED in (file.schema_arrow.metadata or {})


class _RowGroups:
    """Decoded row groups, newest last.

    A batch usually ends inside one, where the next goes on.

    A group that was read to its end is let go, because what comes next comes from another.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held: OrderedDict[tuple[str, int, int, tuple[str, ...]], pa.Table] = OrderedDict()
        self._bytes = 0

    def rows(self, descriptor: FileRange, names: tuple[str, ...]) -> pa.Table:
        version = os.stat(descriptor.path).st_mtime_ns
        parts = []
        with opened(descriptor.path, mapped=True) as file:
            before = 0
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                first = max(0, descriptor.first - before)
                last = min(size, descriptor.first + descriptor.rows - before)
                if first < last:
                    key = (descriptor.path, version, group, names)
                    parts.append(self._group(key, file, ends=last == size).slice(first, last - first))
                before += size
                if before >= descriptor.first + descriptor.rows:
                    break
        if sum(len(part) for part in parts) != descriptor.rows:
            raise OSError(f"{descriptor.path} has fewer rows than when the replay began")
        return pa.concat_tables(parts)

    def _group(
        self, key: tuple[str, int, int, tuple[str, ...]], file: pq.ParquetFile, ends: bool
    ) -> pa.Table:
        table = self._held.pop(key, None)
        if table is None:
            table = read_group(file, key[0], key[2], key[3])
            self._bytes += table.nbytes
        self._held[key] = table
        if ends:
            self._forget(key)
        while self._bytes > self._most and len(self._held) > 1:
            self._forget(next(iter(self._held)))
        return table

    def _forget(self, key: tuple[str, int, int, tuple[str, ...]]) -> None:
        self._bytes -= self._held.pop(key).nbytes


_GROUPS = _RowGroups(_CACHE_BYTES)
