"""The topology that is recorded and continued: a query of every kind, over streams and a table in Redis."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import redis

from jobs.protocol import stream_key
from optimizer.sql import to_duckdb
from optimizer.workload import Workload, load_workload

STREAMS = """\
streams:
  r: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, a: bigint}}
  s: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, a: bigint, b: bigint}}
  t: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, b: bigint, name: string}}
  p: {kind: table, key: [a], event_time: ts, columns: {ts: timestamp, n: bigint, a: bigint}}
"""
_RS = "r [RANGE 4 SECONDS], s [RANGE 3 SECONDS]"
_NEAR = "s.ts BETWEEN r.ts - INTERVAL 1 SECOND AND r.ts + INTERVAL 2 SECONDS"
RECORDED = {
    "three": f"SELECT r.n, s.n AS sn, t.name FROM {_RS}, t [RANGE 2 SECONDS] WHERE r.a = s.a AND s.b = t.b",
    "band": "SELECT s.n, t.n AS tn FROM s [RANGE 1 SECOND], t [RANGE 1 SECOND] "
    "WHERE s.b < t.b AND t.b < s.b + 2",
    "lonely": f"SELECT r.n FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE r.a = s.a AND {_NEAR})",
    "outer": f"SELECT r.n, s.n AS sn FROM r LEFT JOIN s ON r.a = s.a AND {_NEAR}",
    "newest": "SELECT r.n, s.n AS sn FROM r ASOF LEFT JOIN s [RANGE 4 SECONDS] ON r.a = s.a AND r.ts >= s.ts",
    "version": "SELECT r.n, p.n AS pn FROM r LEFT JOIN p FOR SYSTEM_TIME AS OF r.ts ON r.a = p.a",
    "busy": "SELECT TUMBLE(r.ts, INTERVAL 5 SECONDS) AS b, r.a, COUNT(*) AS c "
    f"FROM {_RS} WHERE r.a = s.a GROUP BY 1, 2",
    "session": "SELECT SESSION(t.ts, INTERVAL 40 MILLISECONDS) AS b, t.b AS k, SUM(t.n) AS x "
    "FROM t GROUP BY 1, 2",
    "derived": "SELECT w.b, w.a, t.n FROM busy AS w, t [RANGE 6 SECONDS] WHERE w.a = t.b",
}
"""The queries of the recorded topology."""
ADDED = {"pairs": f"SELECT r.n, s.n AS sn FROM {_RS} WHERE r.a = s.a AND r.n < s.n"}
"""What is deployed under the release that continues."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_COLUMNS = {"r": ("a",), "s": ("a", "b"), "t": ("b", "name"), "p": ("a",)}
_VALUES = 17
Entry = tuple[str, str, str]
"""A stream, a Redis entry's id, and the tuple as JSON."""


def write_workload(folder: Path) -> Workload:
    """Make a workload directory of all queries, and read it."""
    (folder / "queries").mkdir(parents=True)
    (folder / "streams.yaml").write_text(STREAMS)
    for name, text in (RECORDED | ADDED).items():
        (folder / "queries" / f"{name}.sql").write_text(text)
    return load_workload(folder)


@dataclass
class Tuples:
    """What producers have sent, in order.

    `entries` has what a recording holds.
    """

    client: redis.Redis
    entries: list[Entry]

    def restore(self) -> None:
        """Send all of them to another Redis, under the ids that they had."""
        for stream, identity, text in self.entries:
            self.client.xadd(stream_key(stream), {"json": text}, id=identity)

    def produce(self, rounds: int) -> None:
        """Send a tuple of each stream in every round, and a version now and then."""
        for _ in range(rounds):
            for stream in "rst":
                self._send(stream, timedelta(milliseconds=10 * len(self.entries)))
            if len(self.entries) % 10 == 0:
                # Never late, however far the streams are read by then.
                self._send("p", timedelta(seconds=2, milliseconds=10 * len(self.entries)))

    def close(self) -> None:
        """Send tuples so late that everything else falls due; they find no partners."""
        for number, stream in enumerate("rst", 1):
            row = {
                "ts": (BEGIN + timedelta(days=1)).isoformat(),
                "n": -number,
                "a": -number,
                "b": -5 * number,
            }
            self.client.xadd(stream_key(stream), {"json": json.dumps(row)})

    def _send(self, stream: str, later: timedelta) -> None:
        number = len(self.entries) + 1
        row: dict[str, object] = {"ts": (BEGIN + later).isoformat(), "n": number}
        for column in _COLUMNS[stream]:
            value = (number * 7919 + ord(column[0])) % 97 % _VALUES
            row[column] = f"no. {value}" if column == "name" else value
        text = json.dumps(row)
        identity = self.client.xadd(stream_key(stream), {"json": text})
        assert isinstance(identity, bytes)
        self.entries.append((stream, identity.decode(), text))

    def expected(self, workload: Workload) -> Iterator[tuple[str, Counter[tuple[object, ...]]]]:
        """DuckDB's answer to each query, over all tuples but those of `close`."""
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for stream in _COLUMNS:
                rows = [json.loads(text) for name, _, text in self.entries if name == stream]
                frame = pl.DataFrame([{**row, "ts": datetime.fromisoformat(row["ts"])} for row in rows])
                connection.register(stream, frame.to_arrow())
            for query in workload.queries:
                text = to_duckdb(query, workload.catalog)
                yield query.name, Counter(connection.execute(text).fetchall())
