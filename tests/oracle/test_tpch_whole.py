"""TPC-H queries whole, with their aggregates and subqueries, as one topology, against DuckDB.

`tests/oracle/tpch/queries` has the eleven that the papers convert, with one change: what TPC-H aggregates
over all there is gets a bucket of 273 years, which is over when the input is. ORDER BY without LIMIT, which
only arranges an answer, is left out, and a correlated minimum is a join with groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from optimizer.physical.graph import PhysicalGraph
from tests.bench.tpch.tables import Table, generate
from tests.oracle.replay import Run, replay

WORKLOAD = Path(__file__).parent / "tpch"
ORIGINAL = Path(__file__).parents[1] / "unit" / "conversion" / "tpch" / "queries"
QUERIES = tuple(sorted(file.stem for file in (WORKLOAD / "queries").glob("*.sql")))
SCALE_FACTOR = 0.01


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, ...]:
    return generate(tmp_path_factory.mktemp("tpch"), SCALE_FACTOR)


@pytest.fixture(scope="module")
def replayed(tables: tuple[Table, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    for table in tables:
        table.write(folder / "data")
    replay(WORKLOAD, folder / "data", folder / "out", Run("greedy", batch_rows=30_000))
    return folder / "out"


def test_all_eleven_are_there() -> None:
    assert {*QUERIES} == {file.stem for file in ORIGINAL.glob("*.sql")}


@pytest.mark.parametrize("name", QUERIES)
def test_a_whole_query_equals_duckdb(name: str, tables: tuple[Table, ...], replayed: Path) -> None:
    with duckdb.connect(config={"threads": 1}) as connection:
        for table in tables:
            connection.register(table.name, table.rows.to_arrow())
        expected = sorted(connection.execute((ORIGINAL / f"{name}.sql").read_text()).fetchall(), key=order)
        files = replayed / "results" / name / "*.parquet"
        found = sorted(connection.execute(f"SELECT * FROM read_parquet('{files}')").fetchall(), key=order)
    assert expected, f"{name} has no result: it shows nothing"
    assert len(found) == len(expected)
    assert all(map(alike, found, expected))


def test_they_are_one_topology(replayed: Path) -> None:
    graph = PhysicalGraph.from_json((replayed / "plan.json").read_bytes(), "plan.json")
    assert {query.name for query in graph.answered} == {*QUERIES}
    assert graph.tiers == 2
    assert len(graph.sources) == 8


def order(row: Sequence[object]) -> list[str]:
    """Sums of doubles depend on their order in the last digits."""
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]


def alike(found: Sequence[object], expected: Sequence[object]) -> bool:
    return all(
        math.isclose(one, other, rel_tol=1e-9)
        if isinstance(one, float) and isinstance(other, float)
        else one == other
        for one, other in zip(found, expected, strict=True)
    )
