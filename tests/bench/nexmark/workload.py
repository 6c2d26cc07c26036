"""Where Nexmark's queries are, and what DuckDB says to them."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tests.bench.subjects import WrongAnswer

FOLDER = Path(__file__).parent
"""A workload directory; `duckdb/` has DuckDB's text for every query, in other words than ours."""
QUERIES = tuple(
    sorted((file.stem for file in (FOLDER / "queries").glob("*.sql")), key=lambda name: int(name[1:]))
)
STREAMS = ("person", "auction", "bid", "side_input")


def reference(name: str) -> str:
    """DuckDB's text for a query."""
    return (FOLDER / "duckdb" / f"{name}.sql").read_text()


def connect(data: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB, with a view of every stream that `events.write` wrote."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    for stream in STREAMS:
        files = data / stream / "*.parquet"
        connection.execute(f"CREATE VIEW {stream} AS SELECT * EXCLUDE _arrival FROM read_parquet('{files}')")
    return connection


def check(name: str, data: Path, results: str) -> int:
    """The number of a query's results, all of which are compared with DuckDB's.

    Args:
        name: of the query.
        data: what `events.write` wrote.
        results: DuckDB's call that reads them; their columns take the types of DuckDB's answer.
    Raises:
        WrongAnswer: they differ, with some that do.
    """
    with connect(data) as connection:
        types = connection.sql(reference(name)).types
        columns = connection.sql(f"SELECT * FROM {results}").columns
        cast = ", ".join(f'CAST("{c}" AS {kind})' for c, kind in zip(columns, types, strict=True))
        connection.execute(f"CREATE TABLE expected AS {reference(name)}")
        connection.execute(f"CREATE TABLE found AS SELECT {cast} FROM {results}")
        for one, other, words in (("expected", "found", "missing"), ("found", "expected", "too many")):
            rows = connection.sql(f"FROM {one} EXCEPT ALL FROM {other}")
            if differing := len(rows):
                raise WrongAnswer(f"{name}: {differing} {words}, such as {rows.fetchone()}"[:1000])
        return len(connection.table("found"))


def counts(data: Path) -> dict[str, int]:
    """How many results every query has, of the events that `events.write` wrote."""
    with connect(data) as connection:
        return {name: len(connection.sql(reference(name))) for name in QUERIES}
