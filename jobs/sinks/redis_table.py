"""The current table of running groups in Redis, for pages and the API.

A row is known by a digest of its key. There are at most `TABLE_ROWS`, those that changed last, and the
table's state says whether these are all: they are not once rows had to go, or once changes of a batch never
arrived. A job that starts writes the whole table anew, from the states that the last commit has.
"""

from __future__ import annotations

import redis

from jobs.plan.event_time import moment
from jobs.protocol import TABLE_ROWS, table_keys
from jobs.sinks.connector import TableChanges
from jobs.sinks.keys import key_digests
from jobs.sinks.redis_tail import to_json
from optimizer.physical.groups import DELETED

_CHANGE = """
-- Change a table once per batch. KEYS: rows, order, state.
-- ARGV: checkpoint, batch, first batch of the groups, changes before and behind this batch, most rows, 1 if
-- these are all changes, 1 if these are all rows, the event time from which on is counted; then of each row
-- its key, 1 if it goes, and the row.
local state = redis.call('HMGET', KEYS[3], 'checkpoint', 'batch', 'begin', 'changes', 'whole')
local all = ARGV[8] == '1'
if not all and state[1] == ARGV[1] and tonumber(state[2]) >= tonumber(ARGV[2]) then return 0 end
local whole = state[5] == '1' and state[4] == ARGV[4]
if all or state[1] ~= ARGV[1] or state[3] ~= ARGV[3] then
  redis.call('DEL', KEYS[1], KEYS[2])
  whole = all or ARGV[4] == '0'
end
for i = 10, #ARGV, 3 do
  if ARGV[i + 1] == '1' then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('ZREM', KEYS[2], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
    redis.call('ZADD', KEYS[2], ARGV[2], ARGV[i])
  end
end
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[6])
if over > 0 then
  local gone = redis.call('ZPOPMIN', KEYS[2], over)
  for i = 1, #gone, 2 do redis.call('HDEL', KEYS[1], gone[i]) end
end
if over > 0 or ARGV[7] ~= '1' then whole = false end
redis.call('HSET', KEYS[3], 'checkpoint', ARGV[1], 'batch', ARGV[2], 'begin', ARGV[3], 'changes', ARGV[5],
  'whole', whole and '1' or '0', 'from', ARGV[9])
return 1
"""


class CurrentTables:
    """Keeps tables; changing one is idempotent by checkpoint and batch."""

    def __init__(self, client: redis.Redis, topology: str, checkpoint_id: str) -> None:
        self._client = client
        self._change = client.register_script(_CHANGE)
        self._topology = topology
        self._checkpoint = checkpoint_id
        self._without: set[str] = set()
        """Queries whose table is known to be gone: most have none, in every batch."""

    def change(self, batch: int, query: str, changes: TableChanges) -> None:
        """Take a batch's changes. Raises `redis.RedisError`; trying again later is safe."""
        self._without.discard(query)
        arguments: list[str | bytes | int] = [
            self._checkpoint,
            batch,
            changes.keyed.begin,
            changes.before,
            changes.keyed.changes,
            TABLE_ROWS,
            int(changes.is_whole),
            int(changes.is_all),
            "" if changes.counted_from_us is None else moment(changes.counted_from_us).isoformat(),
        ]
        for part in changes.parts:
            gone = part.column(DELETED).to_pylist()
            rows = to_json(part.drop_columns(DELETED))
            for digest, left, row in zip(
                key_digests(part, changes.keyed.key).to_pylist(), gone, rows, strict=True
            ):
                arguments += [digest.hex(), int(left), row]
        self._change(keys=list(table_keys(self._topology, query)), args=arguments)

    def forget(self, query: str) -> None:
        """Delete the table of a query whose results stay now.

        Asked again, nothing is sent.
        """
        if query not in self._without:
            self._client.delete(*table_keys(self._topology, query))
            self._without.add(query)
