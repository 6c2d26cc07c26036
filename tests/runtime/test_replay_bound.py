"""A replay whose step makes too much ends in one line that says which, and goes on under a larger bound."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.runtime.linear import start_replay

ROWS = 300


def _finished(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors.decode()


@pytest.mark.long
def test_a_product_ends_a_replay_in_one_line_and_a_larger_bound_continues_it(tmp_path: Path) -> None:
    workload, data, out = tmp_path / "workload", tmp_path / "data", tmp_path / "out"
    (workload / "queries").mkdir(parents=True)
    declared = "{event_time: at, columns: {at: timestamp, k: bigint}}"
    (workload / "streams.yaml").write_text(f"streams:\n  r: {declared}\n  s: {declared}\n")
    (workload / "queries" / "good.sql").write_text("SELECT r.k AS k FROM r, s WHERE r.k = s.k\n")
    (workload / "queries" / "product.sql").write_text("SELECT r.k AS a, s.k AS b FROM r CROSS JOIN s\n")
    start = datetime(2024, 1, 1, tzinfo=UTC)
    times = pa.array([start + timedelta(seconds=n) for n in range(ROWS)], pa.timestamp("us", "UTC"))
    for name in "rs":
        (data / name).mkdir(parents=True)
        pq.write_table(pa.table({"at": times, "k": pa.array(range(ROWS))}), data / name / "0.parquet")
    options = ("--parallelism", "1", "--batch-rows", "1000")
    code, errors = _finished(start_replay(workload, data, out, *options, "--most-combinations", "5000"))
    assert code == 2, errors
    assert len(errors.splitlines()) == 1, errors
    assert errors.startswith(f"{workload}/queries/product.sql: step "), errors
    assert "batch 0" in errors
    assert "5,000" in errors
    assert "--most-combinations" in errors
    assert "--batch-rows" in errors
    assert not list((out / "results").rglob("[!.]*-*.parquet")), "nothing of a batch that was given up"
    assert _finished(start_replay(workload, data, out, *options)) == (0, "")
    with duckdb.connect() as connection:
        found = {
            name: connection.sql(f"FROM read_parquet('{out}/results/{name}/*.parquet')").count("*").fetchall()
            for name in ("good", "product")
        }
    assert found == {"good": [(ROWS,)], "product": [(ROWS * ROWS,)]}
