"""A stream's files, read as a replay reads them: planned by their keys, and by ranges of rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from jobs.sources.files.inputs import find_inputs
from jobs.sources.files.order import KeyCursor
from jobs.sources.files.stream_files import FileRange
from jobs.sources.read import read
from optimizer.algebra.types import COLUMN_TYPES, ColumnType
from optimizer.physical.graph import GraphStream


@dataclass(frozen=True, slots=True)
class Stored:
    rows: list[dict[str, Any]]
    """Accepted ones; moments and days as numbers, which Python may not have a calendar for."""
    letters: list[tuple[str, str]]
    """Reason and text of the others."""
    keys: list[int]


def read_stored(data: Path, stream: GraphStream, staging: Path, step: int = 7) -> Stored:
    """All rows of a stream, `step` at a time."""
    (files,) = find_inputs(data, (stream,), staging)
    cursor = KeyCursor(files)
    cursor.seek(0, -(2**63))
    keys = cursor.peek(files.rows + 1).tolist()
    rows: list[dict[str, Any]] = []
    letters: list[tuple[str, str]] = []
    names = [name for name, _ in stream.columns]
    for file in files.files:
        for first in range(0, file.rows, step):
            part = FileRange(stream.name, file.path, first, min(step, file.rows - first))
            raw = read(part, stream, names, None)
            rows += in_numbers(raw.table).to_pylist()
            if raw.undecodable is not None:
                letters += [(row["reason"], row["tuple"]) for row in raw.undecodable.to_pylist()]
    return Stored(rows, letters, keys)


def in_numbers(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) or pa.types.is_time64(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.int64()))
        elif pa.types.is_date32(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.int32()))
    return table


def one_of_each(name: str = "r") -> GraphStream:
    """A stream with a column of every type, named like it, and its event time `at`."""
    kinds = COLUMN_TYPES
    return GraphStream(
        name, "at", (("at", ColumnType.TIMESTAMP), *((kind.value, kind) for kind in kinds)), 0, "drop"
    )
