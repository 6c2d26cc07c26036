"""Reading what a descriptor describes, inside an ingesting task."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import redis

from jobs.sources.descriptor import Descriptor, EntryRange, FileRange, LostEntries, LostRange, RecordRange
from jobs.sources.files.parquet import STAGED, opened, read_group
from jobs.sources.formats.arrow_types import readable_as, stream_schema
from jobs.sources.formats.columns import Typed, type_columns
from jobs.sources.formats.decode import REASON, TUPLE, Columns, parse_json
from jobs.sources.formats.text import as_bytes
from jobs.sources.generator import generate
from optimizer.physical.graph import GraphStream

_CACHE_BYTES = 32 << 20
_PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Raw:
    """What was read: decoded tuples, and those that could not be."""

    table: pa.Table
    """The asked columns in the types of the schema; rows in the source's order."""
    undecodable: pa.Table | None
    """Columns `reason` and `tuple`, both text; None if there is nothing in it."""
    arrived_ms: npt.NDArray[np.int64] | None
    """Per row of `table`, when the source got it, milliseconds since 1970; None if it cannot tell."""


def read(
    descriptor: Descriptor,
    stream: GraphStream,
    columns: Collection[str],
    redis_url: str | None,
    *,
    whole: bool = False,
) -> Raw:
    """Read a range. `columns` is what the plan needs; the event time is always read.

    With `whole` the others are there too, where a source can leave them out, and turn no tuple away: which
    tuples there are does not depend on it.

    Reading the same range twice gives the same rows, unless entries were deleted from Redis: a dead letter
    tells how many.
    Raises `redis.ConnectionError` while Redis cannot be reached, `OSError` for a missing file, and
    `InputError` for a damaged one.
    """
    needed = {*columns, stream.event_time}
    wanted = tuple((name, kind) for name, kind in stream.columns if whole or name in needed)
    match descriptor:
        case FileRange():
            return _read_file(descriptor, wanted, needed)
        case EntryRange():
            if redis_url is None:
                raise ValueError("no URL of the Redis server")
            return read_entries(_patiently(redis_url, descriptor), descriptor, stream)
        case RecordRange():
            return _read_records(descriptor, stream)
        case LostRange():
            return _nothing_but(stream, *_kafka().told(descriptor))
        case LostEntries():
            text = f"{descriptor.key}: entries behind {descriptor.after}"
            return _nothing_but(stream, "Redis was emptied; entries that no batch had read are lost", text)
        case _:
            return Raw(generate(descriptor, stream).select([name for name, _ in wanted]), None, None)


def _nothing_but(stream: GraphStream, reason: str, text: str) -> Raw:
    """No tuple, and one dead letter that says why."""
    return Raw(stream_schema(stream.columns).empty_table(), _undecodable([reason], [text]), None)


def _read_file(descriptor: FileRange, columns: Columns, needed: Collection[str]) -> Raw:
    names = tuple(name for name, _ in columns)
    if _is_staged(descriptor.path):
        return _read_staged(descriptor, columns)
    file = Path(descriptor.path)
    origin = f"{file.parent.name}/{file.name}"
    stored = _GROUPS.rows(descriptor, names)
    typed = type_columns(stored, columns, lambda row: f"{origin}, row {descriptor.first + row + 1}", needed)
    return Raw(typed.readable(), _letters([(one.reason, one.text) for one in typed.broken]), None)


def _read_staged(descriptor: FileRange, columns: Columns) -> Raw:
    """Rows whose values were looked at when they were staged."""
    table = _GROUPS.rows(descriptor, (*(name for name, _ in columns), REASON, TUPLE))
    reasons = table.column(REASON)
    undecodable = None
    if reasons.null_count < len(reasons):
        undecodable = _undecodable(*table.select([REASON, TUPLE]).filter(reasons.is_valid()).columns)
        table = table.filter(reasons.is_null())
    return Raw(type_columns(table, columns, str, ()).table, undecodable, None)


@cache
def _is_staged(path: str) -> bool:
    with opened(path) as file:
        return STAGED in (file.schema_arrow.metadata or {})


class _RowGroups:
    """Decoded row groups, newest last: a batch usually ends inside one and the next goes on there.

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


@cache
def _connection(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=10, socket_connect_timeout=5)


def read_entries(
    entries: Sequence[tuple[bytes, dict[bytes, bytes]]], descriptor: EntryRange, stream: GraphStream
) -> Raw:
    """Whole tuples, whatever the plan needs: they are decoded anyway, and dead letters keep them."""
    texts: list[bytes] = []
    text_ms: list[int] = []
    tables: list[pa.Table] = []
    table_ms: list[npt.NDArray[np.int64]] = []
    broken: list[tuple[str, str]] = []
    if len(entries) < descriptor.rows:
        lost = descriptor.rows - len(entries)
        span = f"{descriptor.rows} entries behind {descriptor.after} up to {descriptor.last}"
        place = f"{descriptor.key}: of {span}"
        broken.append((f"{lost} entries were deleted from Redis before they were read", place))
    for entry_id, fields in entries:
        at_ms = int(entry_id.split(b"-", 1)[0])
        if b"json" in fields:
            texts.append(fields[b"json"])
            text_ms.append(at_ms)
        elif b"arrow" in fields:
            try:
                typed = _from_arrow(fields[b"arrow"], stream, f"entry {entry_id.decode()}")
            except (pa.ArrowException, ValueError, OSError) as error:
                broken.append(
                    (str(error)[:200], f"entry {entry_id.decode()}: {len(fields[b'arrow'])} bytes of Arrow")
                )
                continue
            table = typed.readable()
            tables.append(table)
            table_ms.append(np.full(table.num_rows, at_ms, np.int64))
            broken.extend((one.reason, one.text) for one in typed.broken)
        else:
            found = ", ".join(sorted(name.decode("utf-8", "replace") for name in fields))
            broken.append((f"no field json or arrow but {found}", f"entry {entry_id.decode()}"))
    parsed, kept, unparsed = parse_json(texts, stream.columns)
    broken.extend(unparsed)
    arrived = np.concatenate([np.asarray(text_ms, np.int64)[kept], *table_ms])
    whole = pa.concat_tables([parsed, *tables])
    if descriptor.tuples is not None:
        first, before = descriptor.tuples
        whole, arrived = whole.slice(first, before - first), arrived[first:before]
    return Raw(whole, _letters(broken), arrived)


def _read_records(descriptor: RecordRange, stream: GraphStream) -> Raw:
    """Whole tuples, like entries; every dead letter says which record it was."""
    kafka = _kafka()
    if stream.kafka is None:
        raise ValueError(f"the plan names no topic for the stream {stream.name}")
    records, first = kafka.read_records(descriptor, stream.kafka.lost == "skip")
    table, kept, broken = kafka.type_values(records, descriptor, stream, stream.kafka)
    if first > descriptor.first:
        broken.append(
            kafka.told(
                LostRange(stream.name, descriptor.topic, descriptor.partition, descriptor.first, first)
            )
        )
    return Raw(table, _letters(broken), kafka.arrived_ms(records, kept))


def _kafka() -> ModuleType:
    """Loaded where a stream is a topic: the client library is 10 MB of every worker otherwise."""
    from jobs.sources.kafka import source as kafka

    return kafka


def _patiently(url: str, descriptor: EntryRange) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """The entries; a server that is away for a while makes the batch wait, not fail."""
    give_up_at = time.monotonic() + _PATIENCE_S
    wait_s = 0.1
    while True:
        try:
            answer: Any = _connection(url).xrange(descriptor.key, f"({descriptor.after}", descriptor.last)
            return list(answer)
        except (redis.ConnectionError, redis.TimeoutError):
            if time.monotonic() + wait_s > give_up_at:
                raise
            time.sleep(wait_s)
            wait_s = min(2.0, wait_s * 2)


def _letters(broken: Sequence[tuple[str, str]]) -> pa.Table | None:
    return _undecodable([reason for reason, _ in broken], [text for _, text in broken]) if broken else None


def _undecodable(reasons: pa.ChunkedArray | list[str], texts: pa.ChunkedArray | list[str]) -> pa.Table:
    columns = {"reason": reasons, "tuple": texts}
    return pa.table(
        {name: pa.array(c, pa.string()) if isinstance(c, list) else c for name, c in columns.items()}
    )


def _from_arrow(body: bytes, stream: GraphStream, place: str) -> Typed:
    with pa.ipc.open_stream(body) as reader:
        stored = reader.read_all()
    names = stored.column_names
    for name, kind in stream.columns:
        if names.count(name) > 1:
            raise ValueError(f"{name} is there twice")
        if name in names and not readable_as(stored.column(name).type, kind):
            raise ValueError(f"{name} has type {stored.column(name).type}, not {kind}")
    wanted = [name for name, _ in stream.columns if name in names]
    # Text is checked row by row; everything else must be in order before it is touched.
    for name in wanted:
        for chunk in stored.column(name).chunks:
            as_bytes(chunk).validate(full=True)
    return type_columns(stored.select(wanted), stream.columns, lambda row: f"{place}, row {row + 1}")
