"""Numbers of tasks that follow a load, against DuckDB: stored tuples stay where they are, and every pair
still meets once."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.adaptation import tasks_by_stream
from optimizer.adaptation.parallelism import FULL_TASK_TUPLES
from optimizer.physical.graph import PhysicalGraph
from tests.oracle.reference import difference
from tests.oracle.replay import Run, replay

pytestmark = pytest.mark.long

PHASE_S = 8
"""A batch holds a second of event time, so each phase has four epochs."""
BUSY, QUIET = 9 * FULL_TASK_TUPLES // 8, FULL_TASK_TUPLES // 8
RATES = {
    "r": (QUIET, BUSY, QUIET),
    "s": (QUIET, BUSY, QUIET),
    "t": (BUSY, QUIET, BUSY),
    "u": (BUSY, QUIET, BUSY),
}
"""Tuples per second of event time in each phase: batches are equally large, but not of the same streams."""
PAIRS = ("rs", "tu")
WINDOW_S = 2
MOST = 4
START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


def write(folder: Path) -> None:
    (folder / "workload" / "queries").mkdir(parents=True)
    declared = "{event_time: at, columns: {at: timestamp, id: bigint, k: bigint}}"
    streams = "\n".join(f"  {name}: {declared}" for name in RATES)
    (folder / "workload" / "streams.yaml").write_text(f"streams:\n{streams}\n")
    for left, right in PAIRS:
        inputs = ", ".join(f"{name} [RANGE {WINDOW_S} SECONDS]" for name in (left, right))
        query = f"SELECT {left}.id AS a, {right}.id AS b FROM {inputs} WHERE {left}.k = {right}.k\n"
        (folder / "workload" / "queries" / f"{left}{right}.sql").write_text(query)
    random = np.random.default_rng(5)
    for name, rates in RATES.items():
        times = np.concatenate(
            [
                START_US + phase * PHASE_S * 1_000_000 + np.arange(rate * PHASE_S) * 1_000_000 // rate
                for phase, rate in enumerate(rates)
            ]
        )
        table = pa.table(
            {
                "at": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "id": pa.array(np.arange(len(times))),
                "k": pa.array(random.integers(0, BUSY, len(times))),
            }
        )
        (folder / "data" / name).mkdir(parents=True)
        pq.write_table(table, folder / "data" / name / "0.parquet")


def test_tasks_rise_and_fall_with_a_rate(tmp_path: Path) -> None:
    write(tmp_path)
    options = ("--adaptive", "--epoch-batches", "2")
    run = Run("ilp", batch_rows=2 * (BUSY + QUIET), parallelism=MOST, options=options)
    replay(tmp_path / "workload", tmp_path / "data", tmp_path / "out", run)
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["moved_tuples"] == 0
    epochs = metrics["epochs"]
    tasks = []
    for epoch in epochs:
        plan = tmp_path / "out" / "checkpoint" / "plans" / f"{epoch['plan']}.json"
        tasks.append(tasks_by_stream(PhysicalGraph.from_json(plan.read_bytes())))
    # Four epochs a phase; what the first one tells holds from the third one on.
    assert [(t["r"], t["t"]) for t in tasks] == [(4, 4)] * 2 + [(1, 4)] * 4 + [(3, 1)] * 4 + [(1, 3)] * 2
    assert all((t["r"], t["t"]) == (t["s"], t["u"]) for t in tasks)
    switches = [switch for epoch in epochs for switch in epoch["switches"]]
    assert [switch["kind"] for switch in switches] == ["load"] * 3
    assert all(switch["actual_saving"] is None for switch in switches)
    with duckdb.connect() as connection:
        for left, right in PAIRS:
            tables = [f"read_parquet('{tmp_path}/data/{name}/*.parquet') AS {name}" for name in (left, right)]
            inside = f"abs(epoch_us({left}.at) - epoch_us({right}.at)) <= {WINDOW_S * 1_000_000}"
            where = f"{left}.k = {right}.k AND {inside}"
            query = f"SELECT {left}.id, {right}.id FROM {', '.join(tables)} WHERE {where}"
            expected = Counter(connection.execute(query).fetchall())
            files = tmp_path / "out" / "results" / f"{left}{right}" / "*.parquet"
            found = Counter(connection.execute(f"SELECT * FROM read_parquet('{files}')").fetchall())
            assert expected, f"{left} and {right} have no result: it shows nothing"
            assert found == expected, difference(expected, found)
