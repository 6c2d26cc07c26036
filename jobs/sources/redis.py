"""The Redis Streams connector, for what producers send here.

An entry is one tuple as JSON or several as Arrow.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import redis

from jobs.protocol import MARK_KEY, entry_order, stream_key
from jobs.sources.connector import (
    Asked,
    Away,
    Cutting,
    Descriptor,
    LiveConnector,
    Offsets,
    Position,
    Raw,
    SeekableOffsets,
    Servers,
)
from jobs.sources.formats.arrow_types import readable_as
from jobs.sources.read import letters, only_letter
from jobs.sources.start import Edge, EntryStart, Moment, Start
from optimizer.physical.graph import GraphStream

if TYPE_CHECKING:
    from jobs.sources.formats.columns import Typed

# What decodes is imported where it is used: the process that plans batches only needs positions, and starts
# sooner and smaller without it.

_PATIENCE_S = 300.0
"""For a server that is away while a batch reads; then the batch fails and is repeated."""
_AWAY = (redis.ConnectionError, redis.TimeoutError)

START = "0-0"
"""The entry id before every other."""


@dataclass(frozen=True, slots=True)
class EntryRange(Descriptor):
    """The entries of a Redis Stream with an id behind `after` up to and with `last`."""

    connector: ClassVar[str] = "redis"

    stream: str
    key: str
    after: str
    last: str
    rows: int
    """Entries at planning time; entries deleted or trimmed since are gone, and reading says so."""
    tuples: tuple[int, int] | None = None
    """Of a single entry with several tuples, which of them: from the first to before the second; None for
    all."""
    kind: Literal["entries"] = "entries"

    @property
    def place(self) -> str:
        part = "" if self.tuples is None else f", tuples {self.tuples[0]} to {self.tuples[1] - 1}"
        return f"{self.key}: entries behind {self.after} up to {self.last}{part}"

    @property
    def weight(self) -> int:
        return max(1, self.rows) if self.tuples is None else self.tuples[1] - self.tuples[0]

    def opened(self, server: Cutting) -> Descriptor:
        if self.rows != 1 or self.tuples is not None:
            return self
        return replace(self, tuples=(0, server.tuples_of(self)))

    def cut(self, rows: int, server: Cutting) -> tuple[Descriptor, Descriptor] | None:
        if self.tuples is not None:
            first, before = self.tuples
            middle = first + rows
            return replace(self, tuples=(first, middle)), replace(self, tuples=(middle, before))
        last = server.last_of(self, rows)
        if last is None or last == self.last:
            return None
        return replace(self, last=last, rows=rows), replace(self, after=last, rows=self.rows - rows)


@dataclass(frozen=True, slots=True)
class LostEntries(Descriptor):
    """That the server was emptied.

    What its stream had behind `after`, if anything, was never read.
    """

    connector: ClassVar[str] = "redis"

    stream: str
    key: str
    after: str
    rows: int = 0
    kind: Literal["lost entries"] = "lost entries"

    @property
    def place(self) -> str:
        return f"{self.key}: entries behind {self.after}"


_BOUNDED = """
-- The mark of what the server holds, ARGV[4] if it had none; then the chunk ends, as id and count, of at
-- most ARGV[2] entries behind ARGV[1] in chunks of ARGV[3].
local after, left, chunk = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local mark = redis.call('GET', KEYS[2])
if not mark then
  mark = ARGV[4]
  redis.call('SET', KEYS[2], mark)
end
local answer = {mark}
while left > 0 do
  local entries = redis.call('XRANGE', KEYS[1], '(' .. after, '+', 'COUNT', math.min(chunk, left))
  if #entries == 0 then break end
  after = entries[#entries][1]
  answer[#answer + 1] = after
  answer[#answer + 1] = #entries
  left = left - #entries
end
return answer
"""
_CHUNK_ENTRIES = 4096
"""Entries that the script reads at once; bounds what it holds in the server."""


class EntryOffsets(SeekableOffsets):
    """A position holds the last entry's id, and a mark of what the server holds.

    A Redis that was emptied, or came back with nothing, has another mark than the position: the next batch
    has a dead letter for each stream that was read before, and goes on behind the same entry. Ids come from
    the server's clock, so what arrives later lies behind it.
    """

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=2)
        self._bounded = self._redis.register_script(_BOUNDED)
        self._count = self._redis.register_script(_COUNT)

    def ends(
        self, streams: Mapping[str, None], positions: Mapping[str, Position], share: int
    ) -> dict[str, Position]:
        found = {}
        for stream in streams:
            end = self._end(stream, positions[stream], share)
            if end is not None:
                found[stream] = end
        return found

    def _end(self, stream: str, position: Position, share: int) -> Position | None:
        after = position.get("id", START)
        try:
            first, *chunks = self._bounded(
                keys=[stream_key(stream), MARK_KEY],
                args=[after, share, min(_CHUNK_ENTRIES, max(1, share)), _new_mark()],
            )
        except _AWAY as error:
            raise Away(str(error)) from error
        mark = first.decode()
        if not chunks and position.get("mark", mark) == mark:
            return None
        ends = [end.decode() for end in chunks[::2]]
        return {
            "id": ends[-1] if ends else after,
            "chunks": [list(pair) for pair in zip(ends, chunks[1::2], strict=True)],
            "mark": mark,
        }

    def seek(self, stream: str, settings: None, start: Start) -> Position:
        """Behind the entry before the first one that is read."""
        try:
            (mark,) = self._bounded(keys=[stream_key(stream), MARK_KEY], args=[START, 0, 1, _new_mark()])
        except _AWAY as error:
            raise Away(str(error)) from error
        match start:
            case Edge.EARLIEST:
                after = START
            case Edge.LATEST:
                after = self.newest({stream: None}).get(stream, {"id": START})["id"]
            case Moment(at_ms):
                after = _before((at_ms, 0))
            case EntryStart(entry):
                after = _before(entry_order(entry))
            case other:
                raise TypeError(f"{other} is no place among the entries of {stream}")
        return {"id": after, "chunks": [], "mark": mark.decode()}

    def newest(self, streams: Mapping[str, None]) -> dict[str, Position]:
        found: dict[str, Position] = {}
        try:
            for stream in streams:
                entries: Any = self._redis.xrevrange(stream_key(stream), count=1)
                if entries:
                    found[stream] = {"id": entries[0][0].decode()}
        except redis.RedisError as error:
            raise Away(str(error)) from error
        return found

    def backlog(self, stream: str, position: Position) -> int:
        """Entries behind a position, counted up to 10000, without reading them."""
        try:
            return int(self._count(keys=[stream_key(stream)], args=[position["id"]]))
        except redis.RedisError as error:
            raise Away(str(error)) from error


def _new_mark() -> str:
    return secrets.token_hex(8)


def _before(entry: tuple[int, int]) -> str:
    """The greatest id below one.

    >>> _before((1732, 7)), _before((1732, 0)), _before((0, 0))
    ('1732-6', '1731-18446744073709551615', '0-0')
    """
    at_ms, number = entry
    if number:
        return f"{at_ms}-{number - 1}"
    return f"{at_ms - 1}-{2**64 - 1}" if at_ms > 0 else START


_COUNT = """
-- Entries behind ARGV[1], counted up to 10000: more would hold up the server's other clients.
return #redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', 10000)
"""


class RedisEntries:
    """What `EntryRange.cut` asks its server."""

    def __init__(self, url: str | None) -> None:
        self._client = None if url is None else redis.Redis.from_url(url, socket_timeout=10)

    def last_of(self, entries: EntryRange, rows: int) -> str | None:
        found = self._read(entries, rows)
        return found[-1][0].decode() if len(found) == rows else None

    def tuples_of(self, entry: EntryRange) -> int:
        found = self._read(entry, 1)
        if not found or b"arrow" not in found[0][1]:
            return 1
        try:
            with pa.ipc.open_stream(found[0][1][b"arrow"]) as reader:
                rows: int = reader.read_all().num_rows
                return max(1, rows)
        except (pa.ArrowException, OSError):
            return 1  # A single dead letter.

    def _read(self, entries: EntryRange, count: int) -> list[tuple[bytes, dict[bytes, bytes]]]:
        assert self._client is not None, "who plans entries knows their server"
        answer: Any = self._client.xrange(entries.key, f"({entries.after}", entries.last, count=count)
        return list(answer)


class RedisStreams(LiveConnector):
    descriptors = (EntryRange, LostEntries)
    position_key = "chunks"

    def offsets(self, servers: Servers) -> Offsets:
        if servers.redis_url is None:
            raise ValueError("a live source needs the option redis")
        return EntryOffsets(servers.redis_url)

    def planned(self, stream: str, settings: None, before: Position, after: Position) -> Sequence[Descriptor]:
        last, key = before.get("id", START), stream_key(stream)
        descriptors: list[Descriptor] = []
        if "mark" in before and before["mark"] != after["mark"]:
            descriptors.append(LostEntries(stream, key, last))
        for end, rows in after["chunks"]:
            descriptors.append(EntryRange(stream, key, last, end, rows))
            last = end
        return descriptors

    def has_come(self, position: Position, newest: Position) -> bool:
        return entry_order(position.get("id", START)) >= entry_order(newest["id"])

    def entry(self, position: Position) -> str | None:
        entry: str = position["id"]
        return entry

    def read(self, descriptor: EntryRange | LostEntries, asked: Asked) -> Raw:
        if isinstance(descriptor, LostEntries):
            reason = "Redis was emptied; entries that no batch had read are lost"
            return only_letter(asked.stream, reason, descriptor.place)
        if asked.servers.redis_url is None:
            raise ValueError("no URL of the Redis server")
        return read_entries(_patiently(asked.servers.redis_url, descriptor), descriptor, asked.stream)


CONNECTOR = RedisStreams()


@cache
def _connection(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=10, socket_connect_timeout=5)


def read_entries(
    entries: Sequence[tuple[bytes, dict[bytes, bytes]]], descriptor: EntryRange, stream: GraphStream
) -> Raw:
    """Whole tuples, whatever the plan needs, as dead letters keep what was decoded."""
    from jobs.sources.formats.decode import parse_json

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
    return Raw(whole, letters(broken), arrived)


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


def _from_arrow(body: bytes, stream: GraphStream, place: str) -> Typed:
    from jobs.sources.formats.columns import type_columns
    from jobs.sources.formats.text import as_bytes

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
