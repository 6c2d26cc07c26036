"""Calls that raise are counted for the queries that lack an answer because of them, and for no others."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from jobs.driver.batch_totals import gather
from jobs.metrics.reports import TaskReport
from jobs.metrics.tally import Tally
from jobs.protocol.metrics import QueryCounts
from jobs.worker.ingest import ingest
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics
from optimizer.udf.reader import SETTING, allowed_functions
from tests.unit.runtime.in_process import Topology

T = ColumnType
DECLARED = """
functions:
  inverse:
    call: tests.unit.udf.counting:inverse
    arguments: [double]
    returns: double
    cost_us: 1
"""
COLUMNS = (("at", T.TIMESTAMP), ("k", T.BIGINT), ("x", T.DOUBLE))
BOTH = "FROM r [RANGE 1 HOUR], s [RANGE 1 HOUR] WHERE r.k = s.k"
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    file = tmp_path / "functions.yaml"
    file.write_text(DECLARED)
    monkeypatch.setenv(SETTING, str(file))
    return Catalog.of([Stream(name, COLUMNS, "at") for name in "rs"], allowed_functions())


def graph(catalog: Catalog, **texts: str) -> PhysicalGraph:
    queries = [parse_query(text, name, catalog) for name, text in texts.items()]
    return plan(queries, catalog, FixedStatistics({"r": 1.0, "s": 1.0}), tasks=2).graph


def table(chance: random.Random, first: int, rows: int) -> pa.Table:
    frame = pl.DataFrame(
        {
            "at": [START + timedelta(seconds=first + row) for row in range(rows)],
            "k": [chance.randrange(3) for _ in range(rows)],
            "x": [float(chance.randrange(4)) for _ in range(rows)],
        },
        schema={"at": pl.Datetime("us", "UTC"), "k": pl.Int64, "x": pl.Float64},
    )
    return frame.to_arrow()


def test_a_pair_or_a_result_without_an_answer_counts_for_its_query(allowed: Catalog, tmp_path: Path) -> None:
    made = graph(
        allowed,
        pair=f"SELECT r.x {BOTH} AND inverse(r.x - s.x) < 9",
        output=f"SELECT inverse(r.x) AS y {BOTH}",
        plain=f"SELECT r.x {BOTH}",
    )
    chance = random.Random(5)
    topology = Topology(made, str(tmp_path / "state"))
    counted: Counter[str] = Counter()
    seen: dict[str, list[pl.DataFrame]] = {"r": [], "s": []}
    for first in (0, 20, 40):
        tables = {name: table(chance, first, 20) for name in "rs"}
        for name, rows in tables.items():
            seen[name].append(pl.DataFrame(pl.from_arrow(rows)))
        done = topology.feed(tables).gathered.queries
        counted.update({query: n for query, counts in done.items() if (n := counts.failed_calls)})
    pairs = pl.concat(seen["r"]).join(pl.concat(seen["s"]), on="k")
    without_pair = pairs.filter(pl.col("x") == pl.col("x_right")).height
    without_output = pairs.filter(pl.col("x") == 0.0).height
    assert min(without_pair, without_output) > 50
    assert counted == {"pair": without_pair, "output": without_output}


def test_a_filter_without_an_answer_counts_for_its_query(allowed: Catalog) -> None:
    made = graph(allowed, alone="SELECT r.k FROM r WHERE inverse(r.x) > 0.4", plain="SELECT r.k FROM r")
    rows = table(random.Random(6), 0, 200)
    zeros = rows.column("x").to_pylist().count(0.0)
    assert zeros > 10
    assert ingest(made, "r", rows, None, 0, None).failed_calls == {"alone": zeros}


def test_what_the_tasks_of_a_batch_counted_is_added_up(allowed: Catalog) -> None:
    made = graph(allowed, pair=f"SELECT r.x {BOTH} AND inverse(r.x - s.x) < 9", plain=f"SELECT r.x {BOTH}")
    reports = []
    for level, task in ((0, 0), (1, 0), (1, 1)):
        counts = Tally()
        counts.add(QueryCounts, "pair", failed_calls=task + 1)
        reports.append(TaskReport(level, task, 0.0, counts, (), {}, (), (), {}))
    gathered = gather(made, reports)
    assert {name: done.failed_calls for name, done in gathered.queries.items()} == {"pair": 4, "plain": 0}
