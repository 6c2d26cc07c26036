"""Five TPC-H queries answered by one topology, against DuckDB, row by row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.bench.tpch.benchmark import LIKE_THE_DISSERTATION, SEED
from tests.bench.tpch.queries import connect, draw
from tests.bench.tpch.tables import generate
from tests.bench.tpch.workload import write_workload
from tests.oracle.reference import difference
from tests.oracle.replay import Run, replay

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("method", "seed"), [("ilp", SEED), ("greedy", LIKE_THE_DISSERTATION)])
def test_shared_tpch_queries_equal_duckdb(method: str, seed: int, tmp_path: Path) -> None:
    tables, twice = generate(tmp_path, 0.001), generate(tmp_path, 0.002)
    queries = draw(5, seed, tables, twice)
    for table in tables:
        table.write(tmp_path / "data")
    write_workload(tmp_path / "workload", tables, queries, "keys")
    replay(tmp_path / "workload", tmp_path / "data", tmp_path / "out", Run(method, batch_rows=2000))
    with connect(tables) as connection:
        for query in queries:
            expected = Counter(connection.execute(query.sql("keys")).fetchall())
            files = tmp_path / "out" / "results" / query.name / "*.parquet"
            found = Counter(connection.execute(f"SELECT * FROM read_parquet('{files}')").fetchall())
            assert expected, f"{query.name} has no result: it shows nothing"
            assert found == expected, f"{query.name}: {difference(expected, found)}"
