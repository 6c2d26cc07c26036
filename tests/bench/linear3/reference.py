"""The join in one process without streaming: DuckDB counts what is right, Polars is the bound.

`python -m tests.bench.linear3.reference duckdb|polars DATA` prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import duckdb
import polars as pl

from tests.bench.linear3.data import STREAMS, WINDOW_S


def count_with_duckdb(data: Path) -> int:
    """How many results there are."""
    tables = ", ".join(f"read_parquet('{data / name}/*.parquet') AS {name}" for name in STREAMS)
    close = " AND ".join(
        f"abs(epoch_us({one}.ts) - epoch_us({other}.ts)) <= {WINDOW_S * 1_000_000}"
        for one, other in (("r", "s"), ("s", "t"), ("r", "t"))
    )
    with duckdb.connect() as connection:
        row = connection.execute(
            f"SELECT count(*) FROM {tables} WHERE r.b = s.b AND s.c = t.c AND {close}"
        ).fetchone()
    assert row is not None
    return int(row[0])


def count_with_polars(data: Path) -> int:
    """All streams joined at once, in memory: what the joins alone cost a vectorized engine."""
    r, s, t = (
        pl.read_parquet(data / name / "*.parquet").with_columns(pl.col("ts").to_physical())
        for name in STREAMS
    )
    width = WINDOW_S * 1_000_000
    rs = r.join(s, on="b", suffix="_s").filter((pl.col("ts") - pl.col("ts_s")).abs() <= width)
    rst = rs.join(t, on="c", suffix="_t").filter(
        (pl.col("ts") - pl.col("ts_t")).abs() <= width, (pl.col("ts_s") - pl.col("ts_t")).abs() <= width
    )
    return rst.select("id", "id_s", "id_t").height


def main() -> None:
    engine, data = sys.argv[1], Path(sys.argv[2])
    began = time.monotonic()
    results = {"duckdb": count_with_duckdb, "polars": count_with_polars}[engine](data)
    print(json.dumps({"seconds": time.monotonic() - began, "results": results}))


if __name__ == "__main__":
    main()
