"""What Redis still holds of a stream, as typed columns."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from backend.bus import binary_connection
from backend.streams.values import normalize
from jobs.protocol import stream_key
from optimizer.errors import InputError
from optimizer.stream import Stream
from optimizer.types import ColumnType

_PAGE = 2000
_TYPES = {
    ColumnType.BIGINT: pa.int64(),
    ColumnType.INT: pa.int32(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.STRING: pa.string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.TIMESTAMP: pa.timestamp("us", "UTC"),
    ColumnType.DATE: pa.date32(),
    ColumnType.BINARY: pa.binary(),
}


@dataclass(frozen=True, slots=True)
class Retained:
    """The newest tuples of a stream."""

    table: pa.Table
    """With the stream's columns in its declared types; every tuple has an event time."""
    unreadable: int
    """Tuples that do not fit the stream, or have no event time; the job turns them away too."""
    whole: bool
    """True if these are all that lie in Redis."""
    oldest: datetime | None
    """Event time; None without tuples."""
    newest: datetime | None


def retained(stream: Stream, most: int) -> Retained:
    """The newest tuples of a stream, at most about `most`: an Arrow entry is taken whole or not at all."""
    client = binary_connection()
    key = stream_key(stream.name)
    parts: list[pa.Table] = []
    rows: list[Mapping[str, Any]] = []
    unreadable, read, end = 0, 0, "+"
    whole = False
    while read < most and not whole:
        entries = client.xrevrange(key, max=end, count=min(_PAGE, most - read))
        whole = not entries
        for entry, fields in entries:
            end = f"({entry.decode()}"
            if b"arrow" in fields:
                part, broken = _from_arrow(fields[b"arrow"], stream)
                parts.append(part)
                unreadable += broken
                read += part.num_rows + broken
            else:
                row = _from_json(fields.get(b"json", b""), stream)
                read += 1
                if row is None:
                    unreadable += 1
                else:
                    rows.append(row)
    if not whole:
        whole = not client.xrevrange(key, max=end, count=1)
    table = pa.concat_tables([_table(rows, stream), *parts])
    times = table.column(stream.event_time)
    table = table.filter(times.is_valid())
    bounds = pc.min_max(table.column(stream.event_time)).as_py()
    unreadable += times.null_count
    return Retained(table, unreadable, whole, bounds["min"], bounds["max"])


def _from_json(text: bytes, stream: Stream) -> Mapping[str, Any] | None:
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    try:
        # Columns that the stream does not have are passed over, as the job does.
        return normalize({name: event[name] for name, _ in stream.columns if name in event}, stream)
    except InputError:
        return None


def _table(rows: Sequence[Mapping[str, Any]], stream: Stream) -> pa.Table:
    """Tuples in the one JSON form of `values.normalize`."""
    arrays = []
    for name, kind in stream.columns:
        values = [row[name] for row in rows]
        if kind is ColumnType.BINARY:
            values = [None if value is None else base64.b64decode(value) for value in values]
        if kind in (ColumnType.TIMESTAMP, ColumnType.DATE):
            read = datetime.fromisoformat if kind is ColumnType.TIMESTAMP else _date
            values = [None if value is None else read(value) for value in values]
        arrays.append(pa.array(values, _TYPES[kind]))
    return pa.table(arrays, names=[name for name, _ in stream.columns])


def _date(text: str) -> object:
    return datetime.fromisoformat(text).date()


def _from_arrow(body: bytes, stream: Stream) -> tuple[pa.Table, int]:
    """The entry's tuples, or none and how many there were if their types do not fit."""
    nothing = _table((), stream)
    try:
        with pa.ipc.open_stream(body) as reader:
            table = reader.read_all()
    except (pa.ArrowInvalid, OSError):
        return nothing, 1
    arrays = []
    for name, kind in stream.columns:
        if name not in table.column_names:
            arrays.append(pa.chunked_array([pa.nulls(table.num_rows, _TYPES[kind])]))
            continue
        column = table.column(name)
        if pa.types.is_timestamp(column.type) and column.type.tz is None:
            column = column.cast(pa.timestamp(column.type.unit, "UTC"))
        try:
            arrays.append(column.cast(_TYPES[kind]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return nothing, table.num_rows
    return pa.table(arrays, names=nothing.column_names), 0
