"""The newest results and dead letters in capped Redis Streams.

Results are kept per query, dead letters per stream, for pages that watch.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import redis

from jobs.metrics.reports import Tail
from jobs.protocol import (
    LETTER_CHARACTERS,
    DeadLetter,
    ResultTrace,
    appended_key,
    dead_letters_key,
    results_key,
)

_APPEND = """
-- Append a batch's entries once: KEYS[2] remembers checkpoint and batch of the last append.
-- ARGV: checkpoint, batch, most entries, words per entry, then each entry's fields and values.
local last = redis.call('HMGET', KEYS[2], 'checkpoint', 'batch')
if last[1] == ARGV[1] and tonumber(last[2]) >= tonumber(ARGV[2]) then return 0 end
local words = tonumber(ARGV[4])
for i = 5, #ARGV, words do
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'batch', ARGV[2], unpack(ARGV, i, i + words - 1))
end
redis.call('HSET', KEYS[2], 'checkpoint', ARGV[1], 'batch', ARGV[2])
return 1
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_ENTRIES = 1000
"""Entries kept per query or stream; a batch appends at most so many."""


class ResultTail:
    """Appends results and dead letters to capped Redis Streams.

    The streams are `millrace:results:{topology}:{query}` and `millrace:dead:{topology}:{stream}`.

    Appending is idempotent by batch and checkpoint, so a repeated batch adds nothing.
    """

    def __init__(self, client: redis.Redis, topology: str, checkpoint_id: str) -> None:
        self._append = client.register_script(_APPEND)
        self._topology = topology
        self._checkpoint = checkpoint_id

    def append(
        self, batch: int, plan_id: str, results: Mapping[str, Sequence[Tail]], dead: Sequence[pa.Table]
    ) -> None:
        """Append what a batch made.

        Raises `redis.RedisError` if Redis cannot be reached; trying again later is safe.
        """
        for query in sorted(results):
            rows = [entry for tail in results[query] for entry in _results(tail, plan_id)]
            self._add(results_key(self._topology, query), batch, rows)
        letters: dict[str, list[tuple[str, ...]]] = {}
        for table in dead:
            for row in _microseconds(table).to_pylist():
                letters.setdefault(row["stream"], []).append(("letter", _letter(row)))
        for stream in sorted(letters):
            self._add(dead_letters_key(self._topology, stream), batch, letters[stream])

    def _add(self, key: str, batch: int, entries: Sequence[tuple[str, ...]]) -> None:
        kept = entries[-MOST_ENTRIES:]
        if kept:
            head: list[str | int] = [self._checkpoint, batch, MOST_ENTRIES, len(kept[0])]
            self._append(
                keys=[key, appended_key(key)], args=[*head, *(word for entry in kept for word in entry)]
            )


def _results(tail: Tail, plan_id: str) -> list[tuple[str, ...]]:
    times = _microseconds(tail.times).to_pylist() or [{}] * len(tail.arrivals)
    return [
        ("json", text, "trace", _trace(plan_id, tail.rule, arrival, moments))
        for text, arrival, moments in zip(to_json(tail.table), tail.arrivals, times, strict=True)
    ]


def _trace(plan_id: str, rule: str, arrival: int, times: Mapping[str, int | None]) -> str:
    moments = {name: _moment(time) for name, time in times.items()}
    return ResultTrace(plan_id=plan_id, rule=rule, arrival=arrival, times=moments).model_dump_json()


def _letter(row: Mapping[str, Any]) -> str:
    text = row["tuple"] or ""
    return DeadLetter(
        reason=row["reason"],
        event_time=_moment(row["event_time"]),
        tuple=text[:LETTER_CHARACTERS],
        cut=len(text) > LETTER_CHARACTERS,
        query=row["query"],
        expression=row["expression"],
    ).model_dump_json()


def _microseconds(table: pa.Table) -> pa.Table:
    """The table with moments as numbers, as some are beyond Python's own."""
    for position, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(position, field.name, table.column(position).cast(pa.int64()))
    return table


def _moment(microseconds: int | None) -> datetime | None:
    try:
        return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def to_json(table: pa.Table) -> list[str]:
    """One JSON object per row.

    Moments are ISO 8601, binaries base64, intervals seconds, decimals text with all their digits; NaN and
    infinities, which JSON lacks, are null.

    >>> to_json(pa.table({"a": [1, None]}))
    ['{"a":1}', '{"a":null}']
    """
    return [
        json.dumps(
            {name: _plain(value) for name, value in row.items()}, ensure_ascii=False, separators=(",", ":")
        )
        for row in table.to_pylist()
    ]


def _plain(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return format(value, "f")
        case UUID():
            return str(value)
        case time():
            return value.isoformat()
        case _:
            return value
