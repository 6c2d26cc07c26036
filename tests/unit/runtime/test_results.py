"""Files of results: what is read from them is what was written, in the columns that their folder declares."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq

from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.plan.tuples import Result
from jobs.sinks.parquet import SCHEMA_FILE, hidden_path, results_as_arrow, write_hidden, write_schemas
from jobs.worker.task import newest_results
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import GraphQuery

_KINDS = {
    "text": ColumnType.STRING,
    "bytes": ColumnType.BINARY,
    "number": ColumnType.BIGINT,
    "amount": ColumnType.DOUBLE,
    "at": ColumnType.TIMESTAMP,
    "day": ColumnType.DATE,
    "flag": ColumnType.BOOLEAN,
}
_ROWS = pl.DataFrame(
    {
        "text": ["a", None, "longer than what fits into a view", ""],
        "bytes": [b"1", None, b"longer than what fits into a view", b""],
        "number": [1, None, -3, 2**62],
        "amount": [1.5, None, float("nan"), -0.0],
        "at": [datetime(1969, 12, 31, 23, tzinfo=UTC), None, datetime(2024, 1, 1, tzinfo=UTC), None],
        "day": [date(2024, 2, 29), None, date(1969, 1, 1), None],
        "flag": [True, None, False, True],
    },
    schema_overrides={"at": pl.Datetime("us", "UTC")},
)


def test_results_are_read_as_they_were_written_and_as_their_folder_declares(tmp_path: Path) -> None:
    # Texts of a join are views into its inputs, some of them far behind others.
    joined = _ROWS.join(_ROWS.select("text").reverse(), on="text", how="inner")
    parts = [joined, _ROWS.clear(), _ROWS]
    query = GraphQuery("q", "", (), tuple(_KINDS.items()), marks_late=False)
    write_schemas(tmp_path, [query], DEAD_LETTERS)
    file = write_hidden(str(tmp_path), "results/q", 3, 1, 0, results_as_arrow(parts))
    path = hidden_path(tmp_path, file)
    read = pq.read_table(path)
    assert file.rows == read.num_rows == joined.height + _ROWS.height
    assert read.schema.equals(pq.read_schema(tmp_path / "results/q" / SCHEMA_FILE))
    assert pq.read_table(tmp_path / "results/q").num_rows == 0, "the file is hidden"
    assert pl.DataFrame(pl.from_arrow(read)).equals(pl.concat(parts))
    told = duckdb.sql(f"SELECT text, bytes, number FROM read_parquet('{path}')").fetchall()
    assert told == pl.concat(parts).select("text", "bytes", "number").rows()


def test_results_with_intervals_are_read_as_intervals(tmp_path: Path) -> None:
    rows = _ROWS.with_columns(pl.Series("waited", [timedelta(seconds=1), None, timedelta(0), timedelta(-1)]))
    file = write_hidden(str(tmp_path), "results/q", 3, 1, 0, results_as_arrow([rows]))
    assert pl.DataFrame(pl.from_arrow(pq.read_table(hidden_path(tmp_path, file)))).equals(rows)


def test_texts_are_not_compared_but_moments_are(tmp_path: Path) -> None:
    file = write_hidden(str(tmp_path), "results/q", 3, 1, 0, results_as_arrow([_ROWS]))
    group = pq.ParquetFile(hidden_path(tmp_path, file)).metadata.row_group(0)
    columns = {c.path_in_schema: c for c in map(group.column, range(group.num_columns))}
    assert columns["text"].statistics is None
    assert columns["at"].statistics.max == datetime(2024, 1, 1, tzinfo=UTC)


def test_only_the_newest_results_travel_to_the_driver() -> None:
    rows = pl.DataFrame({"number": range(10_000)}).with_columns(
        text=pl.format("a longer text, number {}", "number")
    )
    timed = Result("q", rows, rows["number"], "rule", rows.select("number"))
    # Of results that are constants no event time need come along.
    timeless = Result("q", rows, rows["number"], "rule", pl.DataFrame())
    tails = newest_results([timeless, timed], 10_003)
    assert [tail.arrivals for tail in tails] == [(9_997, 9_998, 9_999), tuple(range(10_000))]
    assert tails[0].table.to_pylist() == rows[-3:].to_dicts()
    assert tails[0].times.num_columns == 0
    assert tails[1].times.to_pylist() == rows.select("number").to_dicts()
    assert len(pickle.dumps(newest_results([timed], 3))) < 4_000
