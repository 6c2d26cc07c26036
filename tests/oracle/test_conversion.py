"""TPC-H queries converted to multi-way joins: one topology on Spark answers the joins of all eleven."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.cli.convert import run_convert
from optimizer.conversion import Conversion, ConvertedJoin, convert
from optimizer.conversion.binary.rendering import query_sql
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.usage import users_of
from optimizer.workload import read_streams
from tests.bench.tpch.tables import Table, generate
from tests.oracle.reference import difference
from tests.oracle.replay import Run, replay
from tests.reference.interpret import Row
from tests.unit.conversion.execution import Answering, complete_subqueries, execute

TPCH = Path(__file__).parents[1] / "unit" / "conversion" / "tpch"
QUERIES = {file.stem: file.read_text() for file in sorted((TPCH / "queries").glob("*.sql"))}
CATALOG, _ = read_streams((TPCH / "streams.yaml").read_text(), "streams.yaml")
SCALE_FACTOR = 0.01


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, ...]:
    return generate(tmp_path_factory.mktemp("tpch"), SCALE_FACTOR)


@pytest.fixture(scope="module")
def rows(tables: tuple[Table, ...]) -> dict[str, pa.Table]:
    return {table.name: _naive(table.rows.to_arrow()) for table in tables}


@pytest.fixture(scope="module")
def replayed(
    tables: tuple[Table, ...], rows: dict[str, pa.Table], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What the replay left of all joins together: those that the command writes, and those whose
    subqueries are streams once they are complete."""
    folder = tmp_path_factory.mktemp("replayed")
    run_convert(TPCH, None, folder / "workload", as_json=True)
    for table in tables:
        table.write(folder / "data")
    for name in QUERIES:
        for joined in _converted(name).joins:
            if not joined.runs_on_streams:
                _write_complete(folder, name, joined, rows)
    replay(folder / "workload", folder / "data", folder / "out", Run("greedy", batch_rows=30_000))
    return folder / "out"


@pytest.mark.parametrize("name", QUERIES)
def test_a_converted_query_on_spark_answers_what_the_query_answers(
    name: str, rows: dict[str, pa.Table], replayed: Path
) -> None:
    conversion = _converted(name)
    answers = execute(conversion, CATALOG, rows, _from_results(replayed / "results", name))

    assert answers.joins
    for join in answers.joins:
        assert join.expected, f"{name}: {join.name} has no result: it shows nothing"
        assert join.found == join.expected, f"{join.name}: {difference(join.expected, join.found)}"
    expected = _answer(QUERIES[name], rows)
    assert expected, f"{name} has no result: it shows nothing"
    assert _alike(answers.whole, expected)
    assert _alike(_answer(query_sql(conversion.before), rows), expected)


def test_joins_of_different_queries_share_steps(replayed: Path) -> None:
    """Otherwise eleven plans stand side by side and the replay shows nothing of one topology."""
    graph = PhysicalGraph.from_json((replayed / "plan.json").read_bytes(), "plan.json")
    sharing = [{query.partition("_")[0] for query in queries} for queries in users_of(graph).probes.values()]

    assert {name for queries in sharing for name in queries} == set(QUERIES)
    assert any(len(queries) > 1 for queries in sharing)


def test_what_waits_for_a_subquery_is_not_written(tmp_path: Path) -> None:
    """Q15 joins a view's aggregate, which no stream of tuples is."""
    run_convert(TPCH, None, tmp_path, as_json=True)
    written = {file.stem for file in (tmp_path / "queries").glob("*.sql")}
    joins = {f"{name}_{joined.join.name}" for name in QUERIES for joined in _converted(name).joins}

    assert joins - written == {"q15_multi_join"}
    assert written < joins


def _converted(name: str) -> Conversion:
    return convert(QUERIES[name], CATALOG, source=name)


def _write_complete(folder: Path, name: str, joined: ConvertedJoin, rows: Mapping[str, pa.Table]) -> None:
    """Adds a join to the workload, and to its streams and their data the answers of its subqueries."""
    with _connected(rows) as connection:
        subqueries, complete = complete_subqueries(joined, connection)
    with (folder / "workload" / "streams.yaml").open("a") as declared:
        for stream in subqueries:
            columns = ", ".join(f"{column}: {kind}" for column, kind in stream.columns)
            declared.write(f"  {stream.name}: {{event_time: {stream.event_time}, columns: {{{columns}}}}}\n")
    for stream_name, tuples in complete.items():
        (folder / "data" / stream_name).mkdir()
        pq.write_table(tuples, folder / "data" / stream_name / "part-000.parquet")
    (folder / "workload" / "queries" / f"{name}_{joined.join.name}.sql").write_text(joined.join.sql)


def _from_results(results: Path, name: str) -> Answering:
    """The joins of a query as the replay answered them."""

    def answer(query: Query, known: Catalog, inputs: Mapping[str, pa.Table]) -> Sequence[Row]:
        return _answer(f"SELECT * FROM read_parquet('{results / f'{name}_{query.name}'}/*.parquet')", inputs)

    return answer


def _naive(table: pa.Table) -> pa.Table:
    """Timestamps as Millrace and this oracle write them: UTC without saying so."""
    schema = [
        pa.field(f.name, pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f for f in table.schema
    ]
    return table.cast(pa.schema(schema))


def _connected(rows: Mapping[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for name, table in rows.items():
        connection.register(name, table)
    return connection


def _answer(text: str, rows: Mapping[str, pa.Table]) -> tuple[Row, ...]:
    with _connected(rows) as connection:
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
