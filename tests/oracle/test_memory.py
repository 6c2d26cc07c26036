"""State far larger than its limit, against DuckDB: kept small, merged, killed on the way, and complete."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.driver.background_compaction import LONGEST_BATCHES
from jobs.recovery.manifest import read_manifest
from tests.oracle.replay import Run, replay, replay_until_killed

ROWS = 22_000
"""Per stream, with a text of 100 characters: together about 11 MB of state, and no window lets go of any."""
LIMIT = 2 << 20
BATCH_ROWS = 1_500
"""Few enough for three neighbouring runs to become one within the limit, from the third batch on."""
QUERY = "SELECT r.id AS r, s.id AS s, t.id AS t, t.note AS note FROM r, s, t WHERE r.k = s.k AND s.j = t.j"
START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


def write(folder: Path) -> None:
    (folder / "workload" / "queries").mkdir(parents=True)
    columns = "{at: timestamp, id: bigint, k: bigint, j: bigint, note: string, x: string}"
    declared = f"{{event_time: at, columns: {columns}}}"
    streams = "\n".join(f"  {name}: {declared}" for name in "rst")
    (folder / "workload" / "streams.yaml").write_text(f"streams:\n{streams}\n")
    # Everybody's texts are compared, so everybody's are stored.
    compared = "r.x <> s.note AND s.x <> t.note AND t.x <> r.note"
    (folder / "workload" / "queries" / "q.sql").write_text(f"{QUERY} AND {compared}\n")
    random = np.random.default_rng(11)
    times = pa.array(START_US + np.arange(ROWS) * 1_000).cast(pa.timestamp("us", "UTC"))
    for name in "rst":
        numbers = random.integers(0, 10**9, ROWS)
        table = pa.table(
            {
                "at": times,
                "id": pa.array(np.arange(ROWS)),
                "k": pa.array(random.integers(0, ROWS, ROWS)),
                "j": pa.array(random.integers(0, ROWS, ROWS)),
                "note": pa.array([f"{name}{number:099d}" for number in numbers]),
                "x": pa.array([str(number) for number in numbers]),
            }
        )
        (folder / "data" / name).mkdir(parents=True)
        pq.write_table(table, folder / "data" / name / "0.parquet")


def adopted(out: Path) -> set[str]:
    """Runs that were merged behind a commit and listed by a later one, in place of runs that the manifest
    before listed; as far as manifests are kept."""
    paths = sorted((out / "checkpoint" / "commits").glob("[0-9]*.json"), key=lambda path: int(path.stem))
    manifests = [read_manifest(str(path)) for path in paths]
    found = set()
    for one, other in pairwise(manifests):
        assert other.batch == one.batch + 1
        listed, known = ({run.path for run in manifest.runs} for manifest in (other, one))
        assert known - listed == set(other.removed)
        for path in listed - known:
            batch, level, kind, _ = Path(path).stem.split("-")
            if kind == "merged":
                assert int(level) == 0, "tasks do not merge on one host"
                assert int(batch) < other.batch
                assert other.removed
                found.add(path)
    return found


def test_state_beyond_its_limit_equals_duckdb(tmp_path: Path) -> None:
    write(tmp_path)
    run = Run("flat", batch_rows=BATCH_ROWS, parallelism=2, options=("--memory-limit", str(LIMIT)))
    where = (tmp_path / "workload", tmp_path / "data", tmp_path / "out", run)
    assert replay_until_killed(*where, commits=LONGEST_BATCHES + 5, whole_group=True)
    before = adopted(tmp_path / "out")
    replay(*where)
    after = adopted(tmp_path / "out") - before
    assert before
    assert after
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["memory_limit_bytes"] == LIMIT
    assert metrics["peak_state_bytes"] > 5 * LIMIT
    assert 0 < metrics["peak_resident_state_bytes"] <= LIMIT
    with duckdb.connect() as connection:
        tables = ", ".join(f"read_parquet('{tmp_path}/data/{name}/*.parquet') AS {name}" for name in "rst")
        expected = f"{QUERY.replace(' r, s, t ', f' {tables} ')} AND r.x <> s.note AND s.x <> t.note"
        found = f"SELECT * FROM read_parquet('{tmp_path}/out/results/q/*.parquet')"
        assert connection.sql(expected).count("*").fetchall()[0][0] > ROWS / 2
        for one, other in ((expected, found), (found, expected)):
            assert connection.sql(f"({one}) EXCEPT ALL ({other})").fetchall() == []
