"""Redis goes away while a topology runs, and comes back with what it had, or with nothing."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import psutil
import pytest

from jobs.protocol import Stop
from jobs.recovery.manifest import CommitLog
from tests.runtime.live import PATIENCE_S, Live, RedisServer, write_live_workload

QUERIES = {
    "two": "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a",
    "three": "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS], "
    "t [RANGE 20 SECONDS] WHERE r.a = s.a AND s.b = t.b",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def live(server: RedisServer, tmp_path: Path) -> Iterator[Live]:
    live = Live(server.port, tmp_path, write_live_workload(tmp_path / "workload", QUERIES))
    yield live
    live.close()


def test_redis_is_gone_for_a_while(server: RedisServer, live: Live, tmp_path: Path) -> None:
    graph = live.graph("greedy", "two", "three")
    live.produce(100)
    live.start("run-1", "plan-1", graph)
    live.wait_for_tuples("rst")
    for _ in range(2):
        live.produce(50)  # Some of it is being read in the moment when the server goes.
        server.stop()
        assert not live.ends_within(3), "the job ended because Redis was away"
        server.start()
        live.produce(50)
        live.wait_for_tuples("rst")
    # Away again, and this time the job is killed and begins anew while nobody answers.
    live.produce(50)
    server.stop()
    assert live.signal(signal.SIGKILL) == -signal.SIGKILL
    live.start("run-2", "plan-1", graph)
    assert not live.ends_within(3), "the job did not wait for Redis"
    server.start()
    live.wait_for(lambda e: e.type == "job_started" and e.run == "run-2")
    live.produce(50)
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    for query in ("two", "three"):
        assert live.found(query) == live.expected(query), query
        assert len(live.found(query)) > 100
    # The killed process took some events with it; the commits know all.
    last = CommitLog(tmp_path / "checkpoint").last()
    assert last is not None
    assert [last.streams[stream].accepted for stream in "rst"] == [400, 400, 400]


def test_redis_is_emptied(live: Live, tmp_path: Path) -> None:
    """What no batch had read is lost, and a letter of each stream says so; all else is answered."""
    live.produce(100)
    live.start("run-1", "plan-1", live.graph("greedy", "two", "three"))
    settle(live, tmp_path)
    job = psutil.Process(live.process.pid)
    everything = [job, *job.children(recursive=True)]
    for process in everything:
        process.suspend()
    lost = live.produce(50)
    live.client.flushall()
    for process in everything:
        process.resume()
    for stream, rows in live.produced.items():
        live.produced[stream] = [row for row in rows if row["n"] <= lost]
    live.produce(50)
    settle(live, tmp_path)
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    for query in ("two", "three"):
        assert live.found(query) == live.expected(query), query
    letters = pl.read_parquet(tmp_path / "out" / "dead_letters" / "**" / "*.parquet")
    told = "Redis was emptied; entries that no batch had read are lost"
    assert sorted(zip(letters["stream"], letters["reason"], strict=True)) == [(s, told) for s in "rst"]


def settle(live: Live, folder: Path) -> None:
    """Wait until everything produced is committed: events may be lost, commits are not."""
    give_up_at = time.monotonic() + PATIENCE_S
    wanted = {stream: len(rows) for stream, rows in live.produced.items()}
    log = CommitLog(folder / "checkpoint")
    while (last := log.last()) is None or {s: last.streams[s].accepted for s in wanted} != wanted:
        assert time.monotonic() < give_up_at, last
        assert not live.ends_within(0.1)
