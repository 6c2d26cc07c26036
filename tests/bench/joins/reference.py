"""A shape in one process without streaming: DuckDB counts what is right, Polars is the bound.

`python -m tests.bench.joins.reference SHAPE duckdb|polars DATA` prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import combinations
from pathlib import Path

import duckdb
import polars as pl

from tests.bench.joins.shapes import SHAPES, Shape, Stream, flat


def count_with_duckdb(shape: Shape, data: Path) -> int:
    """How many results there are."""
    names = [stream.name for stream in shape.streams]
    tables = ", ".join(f"read_parquet('{data / name}/*.parquet') AS {name}" for name in names)
    close = [shape.close(one, other, "epoch_us({}.ts)") for one, other in combinations(names, 2)]
    with duckdb.connect() as connection:
        # It would share the standard output with the answer.
        connection.execute("SET enable_progress_bar = false")
        row = connection.execute(
            f"SELECT count(*) FROM {tables} WHERE {' AND '.join([*shape.conditions, *close])}"
        ).fetchone()
    assert row is not None
    return int(row[0])


def count_with_polars(shape: Shape, data: Path) -> int:
    """All streams joined at once, in memory: what the joins alone cost a vectorized engine."""
    joined = _read(data, shape.first)
    before = [shape.first.name]
    for join in shape.joins:
        name = join.stream.name
        left, right = zip(*((flat(old), flat(new)) for old, new in join.equalities), strict=True)
        close = [shape.close(old, name, "{}_us") for old in before]
        conditions = [*(flat(c.sql) for c in join.comparisons), *close]
        joined = joined.join(_read(data, join.stream), left_on=left, right_on=right, coalesce=False).filter(
            *(pl.sql_expr(condition) for condition in conditions)
        )
        before.append(name)
    return joined.select(f"{name}_id" for name in before).height


def _read(data: Path, stream: Stream) -> pl.DataFrame:
    rows = pl.read_parquet(data / stream.name / "*.parquet")
    timed = rows.with_columns(pl.col("ts").to_physical()).rename({"ts": "us"})
    return timed.rename(lambda column: f"{stream.name}_{column}")


def main() -> None:
    shape, engine, data = SHAPES[sys.argv[1]], sys.argv[2], Path(sys.argv[3])
    began = time.monotonic()
    results = {"duckdb": count_with_duckdb, "polars": count_with_polars}[engine](shape, data)
    print(json.dumps({"seconds": time.monotonic() - began, "results": results}))


if __name__ == "__main__":
    main()
