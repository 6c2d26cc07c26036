"""TPC-H's queries as *Convert* writes them, over finite streams, against DuckDB on the original.

In this process. All tables are streams of one and the same hour: it is the window, and one bucket.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from optimizer.conversion import continuous, window_of
from optimizer.workload import read_streams
from tests.bench.tpch.tables import Table, generate
from tests.oracle.test_tpch_whole import SCALE_FACTOR, alike, order
from tests.unit.conversion.streaming import streamed
from tests.unit.conversion.test_golden import QUERIES, TPCH

CATALOG, _ = read_streams((TPCH / "streams.yaml").read_text(), "streams.yaml")
CONVERTED = {
    name: made.sql
    for name in QUERIES
    if (made := continuous((TPCH / "queries" / f"{name}.sql").read_text(), CATALOG, window_of("1 HOUR"))).sql
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, ...]:
    return generate(tmp_path_factory.mktemp("tpch"), SCALE_FACTOR)


def test_all_but_those_with_values_of_subqueries_are_converted() -> None:
    assert {*QUERIES} - {*CONVERTED} == {"q02", "q11", "q15"}


@pytest.mark.parametrize("name", CONVERTED)
def test_a_converted_query_equals_duckdb(name: str, tables: tuple[Table, ...], tmp_path: Path) -> None:
    rows = {table.name: table.rows.to_arrow() for table in tables}
    with duckdb.connect(config={"threads": 1}) as connection:
        for table, own in rows.items():
            connection.register(table, own)
        answer = connection.execute((TPCH / "queries" / f"{name}.sql").read_text()).fetchall()
    expected = sorted(answer, key=order)
    sql = CONVERTED[name]
    assert sql is not None
    found = sorted(streamed(sql, CATALOG, rows, tmp_path).elements(), key=order)
    assert expected, f"{name} has no result: it shows nothing"
    assert len(found) == len(expected)
    assert all(map(alike, found, expected))
