"""Grids whose shapes follow what batches bring, in a replay that is killed: the load at the end of every
batch, and DuckDB's results."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from tests.bench.matrix.data import Sides, write_fluctuating, write_workload
from tests.bench.matrix.replays import moments
from tests.oracle.reference import difference
from tests.oracle.replay import Run, replay, replay_until_killed

ROWS = 4000
TASKS = 8
BATCHES = 12
BAND = "l_key BETWEEN o_key - 1 AND o_key + 1"


def sides() -> Sides:
    random = np.random.default_rng(6)
    return Sides(
        pl.DataFrame({"o_key": random.permutation(ROWS), "o_value": random.random(ROWS)}),
        pl.DataFrame(
            {"l_key": random.integers(0, ROWS, ROWS), "l_line": random.integers(1, 7, ROWS).astype(np.int32)}
        ),
    )


@pytest.mark.long
def test_no_batch_leaves_a_load_above_the_bound_and_nothing_is_lost(tmp_path: Path) -> None:
    made = sides()
    total = write_fluctuating(made, 4, tmp_path / "data")
    write_workload(made, BAND, tmp_path / "workload", tasks=TASKS)
    options = ("--storage-weight", "0", "--adaptive", "--epoch-batches", "2")
    run = Run(batch_rows=-(-total // BATCHES), parallelism=TASKS, options=options)
    where = (tmp_path / "workload", tmp_path / "data", tmp_path / "out", run)
    assert replay_until_killed(*where, commits=4, whole_group=False)
    replay(*where)

    seen = moments(tmp_path / "out" / "checkpoint", TASKS)
    assert len(seen) == BATCHES
    assert max(moment.load_ratio for moment in seen) <= 1.25
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    changes = [change for epoch in metrics["epochs"] for change in epoch["shapes"]]
    assert len({change["batch"] for change in changes}) > 1, "the shape followed the ratio"
    assert metrics["moved_tuples"] > 0
    with duckdb.connect() as connection:
        tables = [f"read_parquet('{tmp_path}/data/{name}/*.parquet')" for name in ("one", "lineitem")]
        query = f"SELECT o_key, o_value, l_key, l_line FROM {', '.join(tables)} WHERE {BAND}"
        expected = Counter(connection.execute(query).fetchall())
        files = tmp_path / "out" / "results" / "join" / "*.parquet"
        found = Counter(connection.execute(f"SELECT * FROM read_parquet('{files}')").fetchall())
    assert len(expected) > ROWS
    assert found == expected, difference(expected, found)
