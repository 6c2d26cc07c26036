"""A tuple that makes its batch fail is set aside and everything else is answered, exactly once; one that
makes an expression raise has no value there; also if the job is killed while it searches."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from jobs.protocol import BatchCompleted, BatchFailed, DeadLetter, Stop, dead_letters_key
from tests.runtime.linear import start_replay
from tests.runtime.live import Live, RedisServer, write_live_workload
from tests.runtime.poison import FATAL_PAIR, FATAL_R, FUNCTIONS, PAIR, REFUSED_R
from tests.runtime.test_live_changes import same

FROM = "FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a"
QUERIES = {
    "plain": f"SELECT r.n AS rn, s.n AS sn {FROM}",
    "taken_in": f"SELECT r.n AS rn, s.n AS sn {FROM} AND exits(r.n) >= 0",
    "joined": f"SELECT r.n AS rn, s.n AS sn {FROM} AND exits(r.n * {PAIR} + s.n) >= 0",
    "refused": f"SELECT refuses(r.n) AS rn, s.n AS sn {FROM}",
}
STREAMS = """\
streams:
  r: {event_time: ts, rate: 10, columns: {ts: timestamp, n: bigint, a: bigint}}
  s: {event_time: ts, rate: 10, columns: {ts: timestamp, n: bigint, a: bigint}}
"""
ROWS = 300
PATIENCE_S = 400.0


def write_data(folder: Path) -> dict[str, pl.DataFrame]:
    numbers = pl.int_range(ROWS, eager=True)
    frame = pl.DataFrame({"ts": numbers * 100_000, "n": numbers, "a": numbers % 50})
    frame = frame.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
    for name in "rs":
        (folder / name).mkdir(parents=True)
        frame.write_parquet(folder / name / "0.parquet")
    return {"r": frame, "s": frame}


def expected(streams: dict[str, pl.DataFrame], query: str) -> list[tuple[int | None, int]]:
    """Without the tuple that taking in fails with, and the later one of the pair that a join fails with."""
    r = streams["r"].filter(pl.col("n") != FATAL_R)
    s = streams["s"].filter(pl.col("n") != FATAL_PAIR[1])
    pairs = r.join(s, on="a").filter((pl.col("ts") - pl.col("ts_right")).abs() <= pl.duration(seconds=20))
    kept = pl.when(pl.col("n") != REFUSED_R).then("n") if query == "refused" else pl.col("n")
    return pairs.select(kept.alias("rn"), pl.col("n_right").alias("sn")).rows()


@pytest.mark.parametrize(
    "killed",
    [
        pytest.param(False, id="at once", marks=pytest.mark.long),
        pytest.param(True, id="killed while it searches"),
    ],
)
def test_a_replay_answers_all_but_what_its_batches_fail_with(tmp_path: Path, killed: bool) -> None:
    workload, out = tmp_path / "workload", tmp_path / "out"
    (workload / "queries").mkdir(parents=True)
    (workload / "streams.yaml").write_text(STREAMS)
    (workload / "functions.yaml").write_text(FUNCTIONS)
    for name, sql in QUERIES.items():
        (workload / "queries" / f"{name}.sql").write_text(sql)
    streams = write_data(tmp_path / "data")
    options = ("--batch-rows", "210", "--parallelism", "2")
    if killed:
        process = start_replay(workload, tmp_path / "data", out, *options)
        said = _until(process, "searching")
        assert "a worker process ended without a word" in said
        threading.Event().wait(random.Random(4).uniform(0.5, 3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start_replay(workload, tmp_path / "data", out, *options)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    lines = errors.decode().splitlines()
    assert all(line.startswith("batch ") for line in lines), lines
    assert sum("1 tuple set aside, see" in line for line in lines) == 2
    for query in QUERIES:
        found = pl.read_parquet(out / "results" / query / "*.parquet").rows()
        same(found, expected(streams, query))
    letters = pl.read_parquet(out / "dead_letters" / "*.parquet")
    aside = letters.filter(pl.col("expression").is_null())
    assert {(row["stream"], json.loads(row["tuple"])["n"]) for row in aside.to_dicts()} == {
        ("r", FATAL_R),
        ("s", FATAL_PAIR[1]),
    }
    assert aside["reason"].unique().to_list() == ["set aside: a worker process ended without a word"]
    assert dict(aside.select("stream", "query").rows()) == {"r": "taken_in", "s": "joined"}
    raised = letters.filter(pl.col("expression").is_not_null()).to_dicts()
    assert {(row["query"], row["expression"], row["reason"]) for row in raised} == {
        ("refused", "refuses", "raised ValueError: not this one")
    }
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["set_aside"] == {"r": 1, "s": 1}
    assert metrics["tuples_in"] == 2 * ROWS
    assert metrics["failed_calls"]["refused"] > 0
    # What was tried while searching is gone.
    assert not [file for file in out.rglob("*") if file.name.startswith(".") and "pending" in file.name]


def _until(process: subprocess.Popen[bytes], word: str) -> str:
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line.decode()
        if word in said:
            return said
    raise AssertionError(said)


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    functions = tmp_path / "functions.yaml"
    functions.write_text(FUNCTIONS)
    monkeypatch.setenv("MILLRACE_FUNCTIONS", str(functions))
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    live = Live(server.port, tmp_path, write_live_workload(tmp_path / "workload", QUERIES))
    yield live
    live.close()
    server.stop()


def test_a_running_topology_goes_on_and_says_what_it_set_aside(live: Live, tmp_path: Path) -> None:
    live.produce(FATAL_R // 2 + 20, "rs")
    # Alone, so that every plan asks its condition of each tuple of r, and of no pair.
    live.start("run-1", "plan-1", live.graph("greedy", "taken_in"))
    told = live.wait_for(lambda event: event.type == "batch_failed" and bool(event.set_aside))
    assert isinstance(told, BatchFailed)
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    searched, found = (event for event in live.events() if isinstance(event, BatchFailed))
    assert (searched.batch, searched.set_aside) == (found.batch, {})
    assert found.set_aside == {"r": 1}
    (batch,) = (e for e in live.events() if isinstance(e, BatchCompleted) and e.batch == found.batch)
    assert batch.streams["r"].set_aside == 1
    (dead,) = (
        letter
        for _, fields in live.client.xrange(dead_letters_key("flights", "r"))
        if (letter := DeadLetter.model_validate_json(fields[b"letter"])).expression is None
    )
    assert json.loads(dead.tuple)["n"] == FATAL_R
    assert dead.query == "taken_in"
    expected_rows = [row for row in live.expected("plain") if row[0] != FATAL_R]
    same(live.found("taken_in"), expected_rows)
