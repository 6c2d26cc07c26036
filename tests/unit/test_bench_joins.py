"""The benchmark's shapes: every engine is asked the same question, over data that are as declared."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pytest

from optimizer.planner.plan import plan
from optimizer.workload import load_workload
from tests.bench.joins import data, flink
from tests.bench.joins.reference import count_with_duckdb, count_with_polars
from tests.bench.joins.shapes import SHAPES, Shape

_SCALE = 0.02


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def shape(request: pytest.FixtureRequest) -> Shape:
    return request.param


def test_polars_answers_as_duckdb_does(shape: Shape, tmp_path: Path) -> None:
    data.write(tmp_path / "data", shape, _SCALE)
    expected = count_with_duckdb(shape, tmp_path / "data")
    assert expected > 0
    assert count_with_polars(shape, tmp_path / "data") == expected


def test_the_workload_can_be_planned(shape: Shape, tmp_path: Path) -> None:
    data.write_workload(tmp_path, shape)
    workload = load_workload(tmp_path)
    made = plan(list(workload.queries), workload.catalog, method="greedy")
    assert [query.name for query in made.graph.queries] == [shape.name]


def test_the_share_that_a_comparison_lets_through_is_as_declared() -> None:
    pairs = [(x, y) for x in range(1000) for y in range(1000)]
    known = SHAPES["band"].selectivities | SHAPES["inequality"].selectivities
    assert known["abs(r.v - s.v) <= 52"] == sum(abs(x - y) <= 52 for x, y in pairs) / len(pairs)
    assert known["r.v < s.v"] == sum(x < y for x, y in pairs) / len(pairs)


def test_csv_files_hold_every_tuple_once_and_in_order(tmp_path: Path) -> None:
    shape = SHAPES["linear3"]
    data.write(tmp_path / "data", shape, 0.001)
    beginning = data.beginning(tmp_path / "data", tmp_path / "beginning", 5)
    data.write_csv(beginning, tmp_path / "csv", readers=2)
    rows = data.rows_per_stream(shape, 0.001) * 5 // data.FILES
    assert ds.dataset(beginning / "s").count_rows() == rows
    read = [
        [int(line.split(",")[1]) for line in file.read_text().splitlines()]
        for file in sorted((tmp_path / "csv" / "s").iterdir())
    ]
    assert all(ids == sorted(ids) for ids in read)
    assert sorted(id_ for ids in read for id_ in ids) == list(range(rows))


def test_flink_gets_one_range_over_event_times_per_join(shape: Shape, tmp_path: Path) -> None:
    made = flink.job(shape, "interval", tmp_path, 1, None)
    assert made.inserts[0].count(" BETWEEN ") == len(shape.joins)
