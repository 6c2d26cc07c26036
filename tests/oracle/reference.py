"""The reference answer: DuckDB over the accepted tuples, compared as multisets."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa

from jobs.aggregation.changes import current_table
from optimizer.udf.duckdb import register
from optimizer.udf.reader import read_functions
from tests.oracle.workload import ID, GeneratedQuery, GeneratedStream, GeneratedWorkload

Row = tuple[object, ...]
Answer = Counter[Row]


def accepted(stream: GeneratedStream, out: Path) -> pa.Table:
    """The stream's tuples without those that the run put among its dead letters.

    Raises `AssertionError` for a dead letter that never was a tuple of the stream.
    """
    dead = Counter(
        json.loads(text)[ID]
        for name, text, expression in _read(out / "dead_letters", ("stream", "tuple", "expression"))
        # A tuple for which only an expression has no value is accepted.
        if name == stream.name and expression is None
    )
    kept = []
    for row in stream.tuples.to_pylist():
        if dead[row[ID]] > 0:
            dead[row[ID]] -= 1
        else:
            kept.append(row)
    left = +dead
    assert not left, f"dead letters of {stream.name} that never arrived: ids {sorted(left)[:5]}"
    return pa.Table.from_pylist(kept, schema=stream.tuples.schema)


def reference_answers(workload: GeneratedWorkload, out: Path) -> dict[str, Answer]:
    """What every query must answer, given what the run accepted."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 2")
        register_functions(connection, workload)
        for stream in workload.streams:
            connection.register(stream.name, accepted(stream, out))
        return {q.name: answer(connection.sql(q.reference())) for q in workload.queries}


def register_functions(connection: duckdb.DuckDBPyConnection, workload: GeneratedWorkload) -> None:
    """Let a connection call what the workload's queries call."""
    if workload.functions is not None:
        register(connection, read_functions(workload.functions))


def replayed_answer(query: GeneratedQuery, out: Path) -> Answer:
    """What the run answered. Raises `AssertionError` when it wrote no file for the query."""
    folder = out / "results" / query.name
    files = sorted(folder.glob("*.parquet"))
    assert files, f"{query.name}: no result file, not even an empty one"
    if query.key is not None:
        # Names sort by batch, and a batch has one row of each group.
        changes = pl.concat(
            [pl.read_parquet(file) for file in files if file.name[0].isdigit()] or [pl.read_parquet(files[0])]
        )
        return Counter(tuple(map(_plain, row)) for row in current_table(changes, query.key).rows())
    columns = ", ".join(f"o{number}" for number in range(len(query.outputs)))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return answer(connection.sql(f"SELECT {columns} FROM read_parquet('{folder}/*.parquet')"))


def difference(expected: Answer, actual: Answer) -> str | None:
    """None if equal, else how they differ, with examples."""
    missing, extra = expected - actual, actual - expected
    if not missing and not extra:
        return None
    return (
        f"expected {expected.total()} results, found {actual.total()}; "
        f"{missing.total()} missing, such as {_examples(missing)}; "
        f"{extra.total()} too many, such as {_examples(extra)}"
    )


def check(workload: GeneratedWorkload, out: Path) -> Mapping[str, int]:
    """Compares a finished run with the reference; returns the number of results by query.

    Raises `AssertionError` that names every query that differs.
    """
    expected = reference_answers(workload, out)
    wrong = {}
    for query in workload.queries:
        differs = difference(expected[query.name], replayed_answer(query, out))
        if differs:
            wrong[query.name] = differs
    assert not wrong, "\n".join([*(f"{k}: {v}" for k, v in wrong.items()), workload.describe()])
    return {name: found.total() for name, found in expected.items()}


def _examples(rows: Answer) -> str:
    return str(sorted(rows, key=repr)[:2])


def _read(folder: Path, columns: tuple[str, ...]) -> list[Row]:
    if not any(folder.rglob("*.parquet")):
        return []
    with duckdb.connect() as connection:
        listed = ", ".join(f'"{c}"' for c in columns)
        return connection.sql(f"SELECT {listed} FROM read_parquet('{folder}/**/*.parquet')").fetchall()


def answer(relation: duckdb.DuckDBPyRelation) -> Answer:
    """A relation's rows as a multiset of comparable values."""
    return Counter(tuple(map(_plain, row)) for row in relation.fetchall())


def _plain(value: object) -> object:
    """Equal numbers are equal whatever their type and sign of zero; floats to 12 digits."""
    if isinstance(value, float):
        return repr(value) if math.isnan(value) else float(f"{value:.12g}") + 0.0
    return value
