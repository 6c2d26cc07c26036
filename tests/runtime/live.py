"""A topology of its own process under a real Redis: its producers, what it says, and DuckDB's answers."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from backend.run import redis_server
from jobs.protocol import EVENTS, AnyEvent, Control, control_key, events_key, stream_key
from optimizer.planner.plan import plan
from optimizer.sql import to_duckdb
from optimizer.workload import Workload, load_workload
from tests.runtime.linear import ROOT

PATIENCE_S = 900.0
_LAST_LINES = 200
"""Of a log, that a failure has: more than all threads of a job need."""
TOPOLOGY = "flights"
STREAMS = """\
streams:
  r: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, a: bigint}}
  s: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, a: bigint, b: bigint}}
  t: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, b: bigint}}
"""
CHAIN = {
    "chain": "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 30 SECONDS], s [RANGE 30 SECONDS], "
    "t [RANGE 30 SECONDS] WHERE r.a = s.a AND s.b = t.b"
}
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class RedisServer:
    """A server that keeps every write on disk, so that it can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and return once it answers."""
        command = [redis_server.executable(), "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", str(self._folder), "--save", "", "--appendonly", "yes"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        client = redis.Redis(port=self.port, retry=Retry(ConstantBackoff(0.1), 100))
        client.ping()
        client.close()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()


def write_live_workload(folder: Path, queries: Mapping[str, str], streams: str = STREAMS) -> Workload:
    """A workload over the streams r, s and t; all outputs of its queries are tuples' numbers."""
    (folder / "queries").mkdir(parents=True)
    (folder / "streams.yaml").write_text(streams)
    for name, sql in queries.items():
        (folder / "queries" / f"{name}.sql").write_text(sql)
    return load_workload(folder)


class Live:
    """A topology's process, its producers and what it says."""

    def __init__(self, port: int, folder: Path, workload: Workload) -> None:
        self.client = redis.Redis(port=port)
        self._url = f"redis://127.0.0.1:{port}/0"
        self._folder = folder
        self.workload = workload
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path
        """Of the process."""
        self.produced: dict[str, list[dict[str, Any]]] = {"r": [], "s": [], "t": []}
        self._number = 0

    def graph(self, method: str, *queries: str) -> dict[str, Any]:
        return self.graph_with(method, {}, *queries)

    def graph_with(
        self, method: str, instead: Mapping[str, str], *queries: str, tasks: int = 2
    ) -> dict[str, Any]:
        """A plan in which some queries have the text of others, by name."""
        texts = {query.name: query for query in self.workload.queries}
        wanted = [replace(texts[instead.get(name, name)], name=name) for name in sorted(queries)]
        made = plan(wanted, self.workload.catalog, method=method, retain="everything", tasks=tasks)
        return json.loads(made.graph.to_json())

    def start(
        self,
        run: str,
        plan_id: str,
        graph: dict[str, Any],
        trigger_ms: int = 100,
        *,
        files: bool = True,
        options: Sequence[str] = (),
        program: str = "jobs",
    ) -> None:
        """Start the job; its results go to files too, unless only the newest are wanted, in Redis."""
        file = self._folder / f"{plan_id}.json"
        file.write_text(json.dumps(graph))
        self._log = self._folder / f"{run}.log"
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            program,
            "run",
            "--topology",
            TOPOLOGY,
            "--run",
            run,
            "--redis",
            self._url,
        ]
        command += [
            "--checkpoint",
            self._folder / "checkpoint",
            "--plan",
            file,
            "--trigger-ms",
            str(trigger_ms),
        ]
        command += ["--parallelism", "2", *(["--out", self._folder / "out"] if files else [])]
        command += options
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def ends_within(self, seconds: float) -> bool:
        assert self._process is not None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End a process that a failed test left."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def signal(self, number: int) -> int:
        self.process.send_signal(number)
        return self.wait_until_ended()

    def wait_until_ended(self) -> int:
        if not self.ends_within(PATIENCE_S):
            raise AssertionError(f"the job does not end\n{self.last_words()}")
        code: int = self.process.returncode
        return code

    def last_words(self) -> str:
        """End a process that is stuck; returns the end of its log, which then says where each thread was."""
        self.process.send_signal(signal.SIGABRT)
        self.process.wait()
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-_LAST_LINES:])

    def events(self) -> list[AnyEvent]:
        entries = self.client.xrange(events_key(TOPOLOGY))
        return [EVENTS.validate_json(fields[b"message"]) for _, fields in entries]  # type: ignore[union-attr]

    def wait_for(self, condition: Callable[[AnyEvent], bool]) -> AnyEvent:
        give_up_at = time.monotonic() + PATIENCE_S
        after = "0-0"
        while time.monotonic() < give_up_at:
            for _, entries in self.client.xread({events_key(TOPOLOGY): after}, block=1000) or ():  # type: ignore[union-attr]
                for entry, fields in entries:
                    after = entry
                    event = EVENTS.validate_json(fields[b"message"])
                    assert event.type != "job_failed", event.error
                    if condition(event):
                        return event
            assert self._process is None or self._process.poll() is None, self._folder
        told = "" if self._process is None else f"\n{self.last_words()}"
        raise AssertionError(f"the event did not come{told}")

    def send(self, message: Control) -> None:
        self.client.xadd(control_key(TOPOLOGY), {"message": message.model_dump_json()})

    def produce(self, rows: int, streams: str = "rst") -> int:
        """`rows` tuples per stream, numbered over all streams; returns the number before the first."""
        first = self._number
        for stream, row in self.numbered(rows, streams):
            self.send_row(stream, row)
        return first

    def numbered(self, rows: int, streams: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The same tuples with their streams, in the order of their numbers."""
        for _ in range(rows):
            for stream, columns in (("r", "a"), ("s", "ab"), ("t", "b")):
                if stream not in streams:
                    continue
                self._number += 1
                values = {c: (self._number * 7919 + ord(c)) % 97 % 23 for c in columns}
                row = {"ts": BEGIN + timedelta(milliseconds=10 * self._number), "n": self._number, **values}
                self.produced[stream].append(row)
                yield stream, row

    def send_row(self, stream: str, row: Mapping[str, Any]) -> None:
        text = json.dumps({**row, "ts": row["ts"].isoformat()})
        self.client.xadd(stream_key(stream), {"json": text})

    def wait_for_tuples(self, streams: str) -> None:
        """Until everything produced for these streams is part of committed batches."""
        wanted = {stream: len(self.produced[stream]) for stream in streams}
        seen: dict[tuple[str, int], int] = {}

        def all_there(event: AnyEvent) -> bool:
            if event.type == "batch":
                for stream, metrics in event.streams.items():
                    seen[stream, event.batch] = metrics.accepted
            return all(
                sum(n for (s, _), n in seen.items() if s == stream) >= rows for stream, rows in wanted.items()
            )

        self.wait_for(all_there)

    def expected(self, query: str, newer_than: int = 0) -> list[tuple[int, ...]]:
        """DuckDB's answer, of combinations whose newest tuple has a number above `newer_than`."""
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for stream, rows in self.produced.items():
                if rows:
                    connection.register(stream, pl.DataFrame(rows).to_arrow())
            (asked,) = (q for q in self.workload.queries if q.name == query)
            rows = connection.execute(to_duckdb(asked, self.workload.catalog)).fetchall()
        return sorted(row for row in rows if max(row) > newer_than)

    def found(self, query: str) -> list[tuple[int, ...]]:
        return sorted(pl.read_parquet(self._folder / "out" / "results" / query / "*.parquet").rows())
