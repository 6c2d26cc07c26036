"""The newest results of each query in a capped Redis Stream, for pages that watch."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

import pyarrow as pa
import redis

from jobs.protocol import results_key

_APPEND = """
-- Append a batch's results once: KEYS[2] remembers checkpoint and batch of the last append.
-- ARGV: checkpoint, batch, most entries, then one JSON object per result.
local last = redis.call('HMGET', KEYS[2], 'checkpoint', 'batch')
if last[1] == ARGV[1] and tonumber(last[2]) >= tonumber(ARGV[2]) then return 0 end
for i = 4, #ARGV do
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'json', ARGV[i], 'batch', ARGV[2])
end
redis.call('HSET', KEYS[2], 'checkpoint', ARGV[1], 'batch', ARGV[2])
return #ARGV - 3
"""
MOST_ENTRIES = 1000
"""Entries kept per query; a batch appends at most so many."""


class ResultTail:
    """Appends results to `millrace:results:{topology}:{query}`.

    Appending is idempotent by batch and checkpoint, so a repeated batch adds nothing.
    """

    def __init__(self, client: redis.Redis, topology: str, checkpoint_id: str) -> None:
        self._append = client.register_script(_APPEND)
        self._topology = topology
        self._checkpoint = checkpoint_id

    def append(self, batch: int, results: Mapping[str, Sequence[pa.Table]]) -> None:
        """Raises `redis.RedisError` if Redis cannot be reached; trying again later is safe."""
        for query in sorted(results):
            rows = [text for table in results[query] for text in to_json(table)][-MOST_ENTRIES:]
            if rows:
                key = results_key(self._topology, query)
                self._append(keys=[key, f"{key}:last"], args=[self._checkpoint, batch, MOST_ENTRIES, *rows])


def to_json(table: pa.Table) -> list[str]:
    """One JSON object per row: ISO 8601 moments, base64 binaries, seconds for intervals,
    null for NaN and infinities, which JSON lacks.

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
        case _:
            return value
