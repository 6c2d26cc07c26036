"""TPC-H queries converted to multi-way joins, against DuckDB: all in memory, those over streams on Spark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from optimizer.conversion import Conversion, convert
from optimizer.conversion.command import run_convert
from optimizer.interpret import Row
from optimizer.sql import to_duckdb
from optimizer.workload import load_workload, read_streams
from tests.bench.tpch.tables import Table, generate
from tests.oracle.reference import difference
from tests.oracle.replay import Run, replay
from tests.unit.conversion.execution import execute

TPCH = Path(__file__).parents[1] / "unit" / "conversion" / "tpch"
QUERIES = {file.stem: file.read_text() for file in sorted((TPCH / "queries").glob("*.sql"))}
CATALOG, _ = read_streams((TPCH / "streams.yaml").read_text(), "streams.yaml")
REPLAYED = ("q03", "q05", "q10", "q11", "q21")
SCALE_FACTOR = 0.01


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, ...]:
    return generate(tmp_path_factory.mktemp("tpch"), SCALE_FACTOR)


@pytest.fixture(scope="module")
def rows(tables: tuple[Table, ...]) -> dict[str, pa.Table]:
    return {table.name: _naive(table.rows.to_arrow()) for table in tables}


@pytest.mark.parametrize("name", QUERIES)
def test_a_converted_query_answers_what_the_query_answers(name: str, rows: dict[str, pa.Table]) -> None:
    conversion = convert(QUERIES[name], CATALOG, source=name)
    answers = execute(conversion, CATALOG, rows, method="flat")

    assert answers.joins
    for join in answers.joins:
        assert join.expected, f"{name}: {join.name} has no result: it shows nothing"
        assert join.found == join.expected, difference(join.expected, join.found)
    expected = _answer(QUERIES[name], rows)
    assert expected, f"{name} has no result: it shows nothing"
    assert _alike(answers.whole, expected)
    assert _alike(_answer(conversion.original, rows), expected)


def test_the_written_workload_replays_to_duckdbs_answers(
    tables: tuple[Table, ...], rows: dict[str, pa.Table], tmp_path: Path
) -> None:
    """One topology answers all joins of five queries, by the files that the command wrote."""
    queries = tmp_path / "asked" / "queries"
    queries.mkdir(parents=True)
    (tmp_path / "asked" / "streams.yaml").write_text((TPCH / "streams.yaml").read_text())
    for name in REPLAYED:
        (queries / f"{name}.sql").write_text(QUERIES[name])
    run_convert(tmp_path / "asked", None, tmp_path / "workload", as_json=True)
    workload = load_workload(tmp_path / "workload")
    used = {entry.stream for query in workload.queries for entry in query.inputs}
    for table in tables:
        if table.name in used:
            table.write(tmp_path / "data")
    replay(tmp_path / "workload", tmp_path / "data", tmp_path / "out", Run("greedy", batch_rows=30_000))

    assert {query.name.partition("_")[0] for query in workload.queries} == set(REPLAYED)
    for query in workload.queries:
        expected = Counter(_answer(to_duckdb(query, workload.catalog), rows))
        files = tmp_path / "out" / "results" / query.name / "*.parquet"
        found = Counter(_answer(f"SELECT * FROM read_parquet('{files}')", rows))
        assert expected, f"{query.name} has no result: it shows nothing"
        assert found == expected, f"{query.name}: {difference(expected, found)}"


def test_what_waits_for_a_subquery_is_not_written(tmp_path: Path) -> None:
    """Q15 joins a view's aggregate, which no stream of tuples is."""
    run_convert(TPCH, None, tmp_path, as_json=True)
    written = {file.stem for file in (tmp_path / "queries").glob("*.sql")}
    joins = {f"{name}_{joined.join.name}" for name in QUERIES for joined in _converted(name).joins}

    assert joins - written == {"q15_multi_join"}
    assert written < joins


def _converted(name: str) -> Conversion:
    return convert(QUERIES[name], CATALOG, source=name)


def _naive(table: pa.Table) -> pa.Table:
    """Timestamps as Millrace and this oracle write them: UTC without saying so."""
    schema = [
        pa.field(f.name, pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f for f in table.schema
    ]
    return table.cast(pa.schema(schema))


def _answer(text: str, rows: dict[str, pa.Table]) -> tuple[Row, ...]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in rows.items():
            connection.register(name, table)
        return tuple(connection.execute(text).fetchall())


def _alike(found: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Equal row by row; sums of doubles depend on their order in the last digits."""
    return len(found) == len(expected) and all(
        len(one) == len(other) and all(map(_same, one, other))
        for one, other in zip(found, expected, strict=True)
    )


def _same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other
