"""What Redis still holds of a stream, as typed columns."""

from __future__ import annotations

import base64
import json
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import redis

from backend.redis import binary_connection, read_binary_entries
from backend.streams.values import latest, normalize, refuse_ahead
from jobs.protocol import entry_order, stream_key
from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.logical.stream import Stream
from optimizer.udf.arrow import ARROW_TYPES, uuid_texts

_PAGE_ENTRIES = 2000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Retained:
    """The newest tuples of a stream."""

    table: pa.Table
    """With the stream's columns in its declared types; every tuple has an event time."""
    unreadable: int
    """Tuples that do not fit the stream, have no event time, or one too far ahead of their arrival; the job
    turns them away too."""
    whole: bool
    """True if these are all that lie in Redis."""
    oldest: datetime | None
    """Event time; None without tuples."""
    newest: datetime | None


def retained(stream: Stream, most: int, client: redis.Redis) -> Retained:
    """A stream's newest tuples, about `most`; an Arrow entry whole or not at all.

    `client` is a connection whose replies are bytes.
    """
    key, parse_float = stream_key(stream.name), _number_reader(stream)
    parts: list[pa.Table] = []
    rows: list[Mapping[str, object]] = []
    unreadable, read, end = 0, 0, "+"
    whole = False
    while read < most and not whole:
        entries = read_binary_entries(client.xrevrange(key, max=end, count=min(_PAGE_ENTRIES, most - read)))
        whole = not entries
        for entry, fields in entries:
            end = f"({entry.decode()}"
            if b"arrow" in fields:
                part, broken = _from_arrow(fields[b"arrow"], stream, _arrival(entry))
                parts.append(part)
                unreadable += broken
                read += part.num_rows + broken
            else:
                row = _row(_event(fields.get(b"json", b""), parse_float), stream, _arrival(entry))
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
    bounds = pc.min_max(table.column(stream.event_time).cast(pa.int64())).as_py()
    unreadable += times.null_count
    return Retained(table, unreadable, whole, _moment(bounds["min"]), _moment(bounds["max"]))


def _moment(microseconds: int | None) -> datetime | None:
    """A point in time; the calendar's first or last for an Arrow entry's outside it."""
    if microseconds is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC) if microseconds < 0 else datetime.max.replace(tzinfo=UTC)


def _arrival(entry: bytes) -> datetime:
    return datetime.fromtimestamp(entry_order(entry.decode())[0] / 1000, UTC)


def _number_reader(stream: Stream) -> type[Decimal] | None:
    """What reads a number with a point: a decimal has more digits than a double may."""
    return Decimal if any(kind.is_decimal for _, kind in stream.columns) else None


def _event(text: bytes, parse_float: type[Decimal] | None) -> dict[str, object] | None:
    """An entry's JSON; None if it is no object."""
    try:
        event = json.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError, InvalidOperation):
        return None
    return event if isinstance(event, dict) else None


def _row(
    event: Mapping[str, object] | None, stream: Stream, arrived: datetime
) -> Mapping[str, object] | None:
    """An entry's tuple; None if the job turns it away."""
    if event is None:
        return None
    try:
        # Columns that the stream does not have are passed over, as the job does.
        row = normalize({name: event[name] for name, _ in stream.columns if name in event}, stream)
        refuse_ahead(row, stream, arrived)
    except InputError:
        return None
    return row


def _table(rows: Sequence[Mapping[str, object]], stream: Stream) -> pa.Table:
    """Tuples in the one JSON form of `values.normalize`."""
    arrays = []
    for name, kind in stream.columns:
        # What they are is said by the column.
        values: list[Any] = [row[name] for row in rows]
        if kind is ColumnType.BINARY:
            values = [None if value is None else base64.b64decode(value) for value in values]
        if kind.is_decimal:
            values = [None if value is None else Decimal(value) for value in values]
        if kind is ColumnType.TIME:
            values = [None if value is None else time.fromisoformat(value) for value in values]
        if kind in (ColumnType.TIMESTAMP, ColumnType.DATE):
            read = datetime.fromisoformat if kind is ColumnType.TIMESTAMP else _date
            values = [None if value is None else read(value) for value in values]
        arrays.append(pa.array(values, ARROW_TYPES[kind]))
    return pa.table(arrays, names=[name for name, _ in stream.columns])


def _date(text: str) -> object:
    return datetime.fromisoformat(text).date()


def _from_arrow(body: bytes, stream: Stream, arrived: datetime) -> tuple[pa.Table, int]:
    """The entry's tuples, and how many the job turns away: all if a type does not fit."""
    nothing = _table((), stream)
    try:
        with pa.ipc.open_stream(body) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowInvalid, OSError):
        return nothing, 1
    arrays = []
    lost: list[pa.ChunkedArray] = []
    for name, kind in stream.columns:
        if name not in table.column_names:
            arrays.append(pa.chunked_array([pa.nulls(table.num_rows, ARROW_TYPES[kind])]))
            continue
        column = table.column(name)
        if pa.types.is_timestamp(column.type) and column.type.tz is None:
            column = column.cast(pa.timestamp(column.type.unit, "UTC"))
        try:
            if kind is ColumnType.UUID:
                arrays.append(uuid_texts(column))
                lost.append(pc.and_(column.is_valid(), arrays[-1].is_null()))
                continue
            arrays.append(column.cast(ARROW_TYPES[kind]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            return nothing, table.num_rows
    typed = pa.table(arrays, names=nothing.column_names)
    bound = pa.scalar(latest(stream, arrived), ARROW_TYPES[ColumnType.TIMESTAMP])
    # A tuple without event time stays here, and is counted with those that came as JSON.
    ahead = pc.fill_null(pc.greater(typed.column(stream.event_time), bound), False)
    kept = typed.filter(pc.invert(reduce(pc.or_, lost, ahead)))
    return kept, typed.num_rows - kept.num_rows


@dataclass(frozen=True, slots=True)
class Arrived:
    """The tuples of a stretch of a stream, told apart by where in it they came."""

    table: pa.Table
    """Like `Retained.table`, in order of arrival within JSON and within Arrow entries."""
    interval: npt.NDArray[np.int64]
    """For every row the index of the first bound that it does not lie behind."""
    unreadable: tuple[int, ...]
    """By interval; as in `Retained`."""
    passed_over: int
    """Tuples that were not wanted, readable or not."""


def arrived(
    stream: Stream,
    after: str,
    bounds: Sequence[str],
    most: int,
    wanted: Callable[[int, object], bool] | None = None,
) -> Arrived | None:
    """The tuples that arrived behind `after` and within the `bounds`.

    Their entries do not lie behind the last of these. None if there are more than about `most`.

    Args:
        after: an entry id, exclusive; `0-0` for the beginning.
        bounds: entry ids in order, each the inclusive end of an interval that begins behind the one before.
        most: tuples.
        wanted: says by a tuple's interval and its JSON, before that is looked at any further, whether it is
            wanted at all; Arrow entries are read whole.
    """
    client = binary_connection()
    ends = [entry_order(bound) for bound in bounds]
    rows: list[Mapping[str, object]] = []
    row_intervals: list[int] = []
    parts: list[pa.Table] = []
    part_intervals: list[int] = []
    unreadable = [0] * len(bounds)
    begin, read, passed_over = f"({after}", 0, 0
    key, parse_float = stream_key(stream.name), _number_reader(stream)
    while bounds and (
        entries := read_binary_entries(client.xrange(key, min=begin, max=bounds[-1], count=_PAGE_ENTRIES))
    ):
        for entry, fields in entries:
            begin = f"({entry.decode()}"
            interval = bisect_left(ends, entry_order(entry.decode()))
            if b"arrow" in fields:
                part, broken = _from_arrow(fields[b"arrow"], stream, _arrival(entry))
                parts.append(part)
                part_intervals += [interval] * part.num_rows
                read += part.num_rows + broken
                unreadable[interval] += broken
            else:
                read += 1
                event = _event(fields.get(b"json", b""), parse_float)
                if event is not None and wanted is not None and not wanted(interval, event):
                    passed_over += 1
                    continue
                row = _row(event, stream, _arrival(entry))
                if row is None:
                    unreadable[interval] += 1
                else:
                    rows.append(row)
                    row_intervals.append(interval)
        if read > most:
            return None
    table = pa.concat_tables([_table(rows, stream), *parts])
    intervals = np.array([*row_intervals, *part_intervals], np.int64)
    timed = table.column(stream.event_time).is_valid()
    kept = timed.to_numpy(zero_copy_only=False) if table.num_rows else np.zeros(0, np.bool_)
    for interval in intervals[~kept].tolist():
        unreadable[interval] += 1
    return Arrived(table.filter(timed), intervals[kept], tuple(unreadable), passed_over)
