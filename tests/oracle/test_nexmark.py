"""Nexmark's queries answered by one topology over events out of order, against DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.bench.nexmark.events import generate, write
from tests.bench.nexmark.workload import FOLDER, QUERIES, connect, reference
from tests.oracle.reference import answer, difference
from tests.oracle.replay import Run, replay

EVENTS = 40_000


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    write(folder / "data", generate(EVENTS, seed=11))
    replay(FOLDER, folder / "data", folder / "out", Run(batch_rows=4000))
    return folder


def test_every_query_has_a_reference() -> None:
    assert {*QUERIES} == {file.stem for file in (FOLDER / "duckdb").glob("*.sql")}


@pytest.mark.parametrize("name", QUERIES)
def test_nexmark_answers_equal_duckdb(name: str, replayed: Path) -> None:
    with connect(replayed / "data") as connection:
        expected = answer(connection.sql(reference(name)))
        results = replayed / "out" / "results" / name
        actual = answer(connection.sql(f"SELECT * FROM read_parquet('{results}/*.parquet')"))
    assert expected, f"{name} has no result: it shows nothing"
    assert (differs := difference(expected, actual)) is None, differs


def test_events_come_out_of_order_and_none_too_late(replayed: Path) -> None:
    """So what DuckDB is asked about is all that the run accepted."""
    with duckdb.connect() as connection:
        (earlier,) = connection.execute(
            "SELECT count(*) FROM (SELECT dateTime < max(dateTime) OVER (ORDER BY _arrival) AS earlier "
            f"FROM read_parquet('{replayed}/data/bid/*.parquet')) WHERE earlier"
        ).fetchone() or (0,)
    assert earlier > EVENTS // 10
    assert [*(replayed / "out" / "dead_letters").rglob("*.parquet")] == [
        replayed / "out" / "dead_letters" / "schema.parquet"
    ]
