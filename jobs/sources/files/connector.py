"""A replay's files: rows of Parquet files, which it plans (`files.replay`)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pyarrow as pa

from jobs.sources.connector import Asked, Connector, Raw
from jobs.sources.files.parquet import STAGED, opened
from jobs.sources.files.row_groups import ROW_GROUPS
from jobs.sources.files.stream_files import FileRange
from jobs.sources.formats.columns import type_columns
from jobs.sources.formats.decode import REASON, TUPLE, Columns
from jobs.sources.read import letters, undecodable


class Files(Connector):
    descriptors = (FileRange,)

    def read(self, descriptor: FileRange, asked: Asked) -> Raw:
        columns = asked.columns
        if _is_staged(descriptor.path):
            return _read_staged(descriptor, columns)
        file = Path(descriptor.path)
        origin = f"{file.parent.name}/{file.name}"
        stored = _rows(descriptor, tuple(name for name, _ in columns))
        typed = type_columns(
            stored, columns, lambda row: f"{origin}, row {descriptor.first + row + 1}", asked.needed
        )
        return Raw(typed.readable(), letters([(one.reason, one.text) for one in typed.broken]), None)


CONNECTOR = Files()


def _read_staged(descriptor: FileRange, columns: Columns) -> Raw:
    """Rows whose values were looked at when they were staged."""
    table = _rows(descriptor, (*(name for name, _ in columns), REASON, TUPLE))
    reasons = table.column(REASON)
    broken = None
    if reasons.null_count < len(reasons):
        broken = undecodable(*table.select([REASON, TUPLE]).filter(reasons.is_valid()).columns)
        table = table.filter(reasons.is_null())
    return Raw(type_columns(table, columns, str, ()).table, broken, None)


def _rows(descriptor: FileRange, names: tuple[str, ...]) -> pa.Table:
    path = descriptor.path
    version = (path, os.stat(path).st_mtime_ns)
    with opened(path, mapped=True) as file:
        return ROW_GROUPS.rows(file, version, path, descriptor.first, descriptor.rows, names)


@cache
def _is_staged(path: str) -> bool:
    with opened(path) as file:
        return STAGED in (file.schema_arrow.metadata or {})
