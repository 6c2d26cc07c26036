"""A small three-way workload over files, and its answer by DuckDB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from optimizer.sql import to_duckdb
from optimizer.workload import load_workload

ROOT = Path(__file__).resolve().parents[2]
STREAMS = """\
streams:
  r: {event_time: ts, lateness: 2 seconds, rate: 500, columns: {ts: timestamp, a: bigint, x: bigint}}
  s: {event_time: ts, lateness: 2 seconds, rate: 500, columns: {ts: timestamp, a: bigint, b: bigint}}
  t: {event_time: ts, lateness: 2 seconds, rate: 500, columns: {ts: timestamp, b: bigint, y: string}}
"""
QUERIES = {
    "three": "SELECT r.x, s.a, t.y FROM r [RANGE 5 SECONDS], s [RANGE 4 SECONDS], t [RANGE 3 SECONDS] "
    "WHERE r.a = s.a AND s.b = t.b",
    "band": "SELECT r.x, t.y FROM r [RANGE 1 SECOND], t [RANGE 1 SECOND] WHERE r.a < t.b AND t.b < r.a + 3",
    "single": "SELECT s.a + s.b AS c FROM s WHERE s.a = 7",
    "one_key": "SELECT r.x, s.b, q.x AS y FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND], "
    "r [RANGE 1 SECOND] AS q WHERE r.a = s.a AND s.a = q.a",
}


def write_workload(folder: Path) -> Path:
    (folder / "queries").mkdir(parents=True)
    (folder / "streams.yaml").write_text(STREAMS)
    for name, sql in QUERIES.items():
        (folder / "queries" / f"{name}.sql").write_text(sql)
    return folder


def write_data(folder: Path, rows: int, seed: int = 1) -> Path:
    """`rows` tuples per stream at 500 per second, out of order by less than a second, some values NULL."""
    random = np.random.default_rng(seed)
    for name, columns in (("r", ("a", "x")), ("s", ("a", "b")), ("t", ("b", "y"))):
        times = np.arange(rows) * 2000 + random.integers(0, 900_000, rows) + 1_700_000_000_000_000
        frame = pl.DataFrame(
            {"ts": times, **{column: random.integers(0, 400, rows) for column in columns}}
        ).with_columns(
            pl.col("ts").cast(pl.Datetime("us", "UTC")),
            pl.when(pl.col(columns[0]) != 13).then(pl.col(columns[0])).alias(columns[0]),
        )
        if "y" in columns:
            frame = frame.with_columns(pl.col("y").cast(pl.String))
        (folder / name).mkdir(parents=True)
        half = rows // 2
        frame[:half].write_parquet(folder / name / "0.parquet", row_group_size=1000)
        frame[half:].write_parquet(folder / name / "1.parquet")
    return folder


def start_replay(workload: Path, data: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "jobs", "replay", workload, "--data", data, "--out", out, *more]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)


def differences(workload: Path, data: Path, out: Path) -> dict[str, tuple[int, int, int]]:
    """Per query: expected results, those that are missing, and those that are too many."""
    loaded = load_workload(workload)
    answer = {}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for stream in loaded.catalog.streams:
            files = f"read_parquet('{data}/{stream.name}/*.parquet')"
            connection.execute(f"CREATE VIEW {stream.name} AS SELECT * FROM {files}")
        for query in loaded.queries:
            expected = to_duckdb(query, loaded.catalog)
            found = f"SELECT * FROM read_parquet('{out}/results/{query.name}/*.parquet')"
            counts = connection.execute(
                f"WITH e AS ({expected}), f AS ({found}) SELECT (SELECT count(*) FROM e),"
                "(SELECT count(*) FROM (FROM e EXCEPT ALL FROM f)),"
                "(SELECT count(*) FROM (FROM f EXCEPT ALL FROM e))"
            ).fetchone()
            assert counts is not None
            answer[query.name] = counts
    return answer
