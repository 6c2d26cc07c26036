"""The source of a running topology: Redis Streams and topics, and generated streams beside them.

Which streams are read is the active plan's business: the planner looks at the checkpoint before
every batch, so that a stream joins and leaves a running topology with the plan that needs it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import redis

from jobs.protocol import MARK_KEY, stream_key
from jobs.recovery.checkpoint import ACTIVE
from jobs.sources.descriptor import (
    Descriptor,
    EntryRange,
    GeneratedRange,
    LostEntries,
    LostRange,
    RecordRange,
)
from jobs.sources.kafka.cluster import Away, required
from jobs.sources.planner import PlannedBatch, Position
from optimizer.logical.topic import KafkaTopic

if TYPE_CHECKING:
    from jobs.sources.kafka.offsets import TopicOffsets

START = "0-0"
"""The entry id before every other."""


def entry_order(entry: str) -> tuple[int, int]:
    """The position of an entry id among others.

    >>> entry_order("9-1") < entry_order("10-0")
    True
    """
    milliseconds, _, sequence = entry.partition("-")
    return int(milliseconds), int(sequence or 0)


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
_CHUNK = 4096
_RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Generated:
    """A stream whose tuples are made up at a steady rate, see `sources.rate`."""

    stream: str
    tuples_per_second: float
    start_us: int
    """Event time of the first tuple, microseconds since 1970; later ones follow real time."""
    seed: int = 1
    distinct: int = 1000


@dataclass(frozen=True, slots=True)
class LiveSource:
    batch_rows: int
    """At most so many entries of all streams together form a batch, spread evenly."""
    generated: tuple[Generated, ...] = ()
    kind: Literal["live"] = "live"


class LivePlanner:
    """Plans batches over Redis Streams and topics.

    A position holds each stream's last entry id (or next offsets, or number of generated tuples) and
    the serial number of the newest plan change, so that a change begins a batch even when nothing
    arrives. While Redis or the Kafka cluster cannot be reached the position stands still; nothing is
    lost, because entries and records stay there until read. If one goes away between two streams, the
    batch takes nothing of either: the streams' watermarks would drift apart.

    A Redis that was emptied, or came back with nothing, has another mark than the position: the next batch
    has a dead letter for each stream that was read before, and goes on behind the same entry. Ids come from
    the server's clock, so what arrives later lies behind it.
    """

    def __init__(self, source: LiveSource, redis_url: str, checkpoint: Path) -> None:
        self._source = source
        self._checkpoint = checkpoint
        self._redis = redis.Redis.from_url(redis_url, socket_timeout=5, socket_connect_timeout=2)
        self._bounded = self._redis.register_script(_BOUNDED)
        self._generated = {g.stream: g for g in source.generated}
        self._next_try = 0.0
        self._failures = 0
        self._reachable_since_us: int | None = None
        self._offsets: TopicOffsets | None = None

    def initial(self) -> Position:
        # No plan change has this number, so the first batch always moves. Spark works on a first batch
        # even if it moves nothing, and every batch after it would begin, and end, where that one did.
        return {"batch": 0, "change": -1, "streams": {}}

    def advance(self, start: Position) -> Position:
        wanted, topics, change = self._wanted()
        streams = {name: dict(position) for name, position in start["streams"].items()}
        share = max(1, self._source.batch_rows // max(1, len(wanted)))
        ends: dict[str, Position] = {}
        for name in wanted:
            if name in self._generated:
                made = self._generated_end(name, streams.get(name, {}), share)
                ends |= {} if made is None else {name: made}
        ends |= self._arrived_ends([n for n in wanted if n not in self._generated], topics, streams, share)
        streams |= ends
        if not ends and change == start["change"]:
            return start
        # Spark keeps it with the position, so that a batch that is repeated has the same tuples ahead of it.
        now_ms = time.time_ns() // 1_000_000
        return {"batch": start["batch"] + 1, "change": change, "streams": streams, "planned_ms": now_ms}

    def planned(self, start: Position, end: Position) -> PlannedBatch:
        descriptors: list[Descriptor] = []
        for name in sorted(end["streams"]):
            before, after = start["streams"].get(name, {}), end["streams"][name]
            if before == after:
                continue
            if name in self._generated:
                made = self._generated[name]
                first = before.get("row", 0)
                descriptors.append(
                    GeneratedRange(
                        name, first, after["row"] - first, made.tuples_per_second, made.start_us, made.seed,
                        made.distinct,
                    )
                )  # fmt: skip
                continue
            if "offsets" in after:
                topic = after["topic"]
                descriptors.extend(LostRange(name, topic, *gap) for gap in after["gaps"])
                descriptors.extend(RecordRange(name, topic, *taken) for taken in after["ranges"])
                continue
            last = before.get("id", START)
            if "mark" in before and before["mark"] != after["mark"]:
                descriptors.append(LostEntries(name, stream_key(name), last))
            for chunk_end, rows in after["chunks"]:
                descriptors.append(EntryRange(name, stream_key(name), last, chunk_end, rows))
                last = chunk_end
        reachable = self._reachable_since_us
        if reachable is None:
            reachable = time.time_ns() // 1000
        return PlannedBatch(
            start["batch"],
            end,
            tuple(descriptors),
            (),
            self._backlog(end),
            start,
            reachable,
            end.get("planned_ms"),
        )

    def _wanted(self) -> tuple[list[str], dict[str, KafkaTopic], int]:
        """The streams of the plan that the next batch will run under, their topics, and its number."""
        active = ACTIVE.validate_json((self._checkpoint / "active.json").read_bytes())
        topics = {name: topic for name, topic in active.topics.items() if name not in self._generated}
        return list(active.streams), topics, active.change

    def _generated_end(self, name: str, position: Position, share: int) -> Position | None:
        made = self._generated[name]
        elapsed_us = time.time() * 1e6 - made.start_us
        due = int(elapsed_us * made.tuples_per_second / 1e6)
        row = int(position.get("row", 0))
        rows = min(due - row, share)
        return {"row": row + rows} if rows > 0 else None

    @property
    def _topic_offsets(self) -> TopicOffsets:
        if self._offsets is None:
            # Deployments without topics do not load the client library.
            from jobs.sources.kafka.offsets import TopicOffsets

            self._offsets = TopicOffsets(required("streams that are topics"))
        return self._offsets

    def _arrived_ends(
        self,
        names: Sequence[str],
        topics: Mapping[str, KafkaTopic],
        positions: Mapping[str, Position],
        share: int,
    ) -> dict[str, Position]:
        """New positions of the streams that have something new; none at all while a server is away."""
        if time.monotonic() < self._next_try:
            return {}
        ends: dict[str, Position] = {}
        try:
            for name in names:
                if name in topics:
                    continue
                end = self._entries_end(name, positions.get(name, {}), share)
                if end is not None:
                    ends[name] = end
            if topics:
                ends |= self._topic_offsets.ends(topics, positions, share)
        except (redis.ConnectionError, redis.TimeoutError, Away):
            self._next_try = time.monotonic() + _RETRY_S[min(self._failures, len(_RETRY_S) - 1)]
            self._failures += 1
            self._reachable_since_us = None
            return {}
        self._failures = 0
        if self._reachable_since_us is None:
            self._reachable_since_us = time.time_ns() // 1000
        return ends

    def _entries_end(self, name: str, position: Position, share: int) -> Position | None:
        after = position.get("id", START)
        first, *chunks = self._bounded(
            keys=[stream_key(name), MARK_KEY],
            args=[after, share, min(_CHUNK, max(1, share)), secrets.token_hex(8)],
        )
        mark = first.decode()
        if not chunks and position.get("mark", mark) == mark:
            return None
        ends = [end.decode() for end in chunks[::2]]
        return {
            "id": ends[-1] if ends else after,
            "chunks": [list(pair) for pair in zip(ends, chunks[1::2], strict=True)],
            "mark": mark,
        }

    def _backlog(self, end: Position) -> int | None:
        """Entries behind the batch's end, at most 10000 per stream; None while Redis cannot say."""
        waiting = 0
        try:
            for name, position in end["streams"].items():
                if "offsets" in position:
                    waiting += self._topic_offsets.backlog(name, position)
                elif name not in self._generated and "id" in position:
                    waiting += _waiting(self._redis, stream_key(name), position["id"])
        except redis.RedisError:
            return None
        return waiting


def _waiting(client: redis.Redis, key: str, after: str) -> int:
    """How many entries lie behind `after`, without reading them."""
    script = client.register_script(_COUNT)
    return int(script(keys=[key], args=[after]))


_COUNT = """
-- Entries behind ARGV[1], counted up to 10000: more would hold up the server's other clients.
return #redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', 10000)
"""
