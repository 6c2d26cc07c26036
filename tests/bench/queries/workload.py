"""Ten streams, and as many different 3-way queries over them as are asked for.

Every stream has three keys; two streams are joined on the one that both their numbers choose, so that
queries which have a pair of streams in common have its join in common too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

STREAMS = 10
RATE = 1_000
"""Tuples per second of event time and stream."""
SECONDS = 100
WINDOW_S = 10
KEYS = 5 * RATE * WINDOW_S
"""A tuple meets a fifth of a tuple of a neighbour per window: the joins count, not the results' files."""
FILES = 10
_KEYS_PER_STREAM = 3
_START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000

Query = tuple[int, int, int]
"""The middle stream of a 3-way linear join and its two neighbours, in this order."""


def draw(count: int) -> tuple[Query, ...]:
    """`count` different queries; the first ones are those that a smaller count draws. At most 360."""
    every = [
        (middle, one, other)
        for middle in range(STREAMS)
        for one, other in combinations([s for s in range(STREAMS) if s != middle], 2)
    ]
    random.Random(1).shuffle(every)
    if count > len(every):
        raise ValueError(f"{count} queries; there are {len(every)} over {STREAMS} streams")
    return tuple(every[:count])


def rows(scale: float) -> int:
    """Tuples of each stream; `scale` is of the tuples per second."""
    return _rate(scale) * SECONDS


def write_data(folder: Path, scale: float) -> int:
    """Writes FOLDER/sN/*.parquet and returns the number of all tuples."""
    rate, many = _rate(scale), rows(scale)
    numbers = np.random.default_rng(1)
    for stream in range(STREAMS):
        columns = {
            "ts": pa.array(_START_US + np.arange(many, dtype=np.int64) * 1_000_000 // rate).cast(
                pa.timestamp("us", "UTC")
            ),
            "id": pa.array(np.arange(many, dtype=np.int64)),
        }
        for key in range(_KEYS_PER_STREAM):
            columns[f"k{key}"] = pa.array(numbers.integers(0, _keys(scale), many, dtype=np.int64))
        table = pa.table(columns)
        (folder / f"s{stream}").mkdir(parents=True)
        size = many // FILES
        for number in range(FILES):
            pq.write_table(
                table.slice(number * size, size), folder / f"s{stream}" / f"part-{number:02d}.parquet"
            )
    return many * STREAMS


def write_workload(folder: Path, queries: Sequence[Query], scale: float) -> None:
    """Writes FOLDER/streams.yaml, with the streams that the queries read, and FOLDER/queries/*.sql."""
    (folder / "queries").mkdir(parents=True)
    keys = ", ".join(f"k{key}: bigint" for key in range(_KEYS_PER_STREAM))
    used = sorted({stream for query in queries for stream in query})
    lines = ["streams:"]
    for stream in used:
        lines += [f"  s{stream}:", "    event_time: ts", f"    rate: {_rate(scale)}"]
        lines += [f"    columns: {{ts: timestamp, id: bigint, {keys}}}"]
    lines.append("selectivities:")
    for pair in sorted({tuple(sorted((q[0], other))) for q in queries for other in q[1:]}):
        lines.append(f'  - {{predicate: "{_condition(*pair)}", value: {1 / _keys(scale)!r}}}')
    (folder / "streams.yaml").write_text("\n".join([*lines, ""]))
    for number, query in enumerate(queries):
        names = [f"s{stream}" for stream in query]
        (folder / "queries" / f"q{number:03d}.sql").write_text(
            f"SELECT {', '.join(f'{name}.id AS {name}_id' for name in names)}\n"
            f"FROM {', '.join(f'{name} [RANGE {WINDOW_S} SECONDS]' for name in names)}\n"
            f"WHERE {' AND '.join(_conditions(query))}\n"
        )


def count_results(data: Path, queries: Sequence[Query]) -> int:
    """DuckDB's number of results of all queries together."""
    total = 0
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        for stream in range(STREAMS):
            connection.execute(
                f"CREATE TABLE s{stream} AS SELECT * FROM read_parquet('{data / f's{stream}'}/*.parquet')"
            )
        for query in queries:
            close = [
                f"abs(epoch_us(s{a}.ts) - epoch_us(s{b}.ts)) <= {WINDOW_S * 1_000_000}"
                for a, b in combinations(query, 2)
            ]
            tables = ", ".join(f"s{stream}" for stream in query)
            where = " AND ".join([*_conditions(query), *close])
            row = connection.execute(f"SELECT count(*) FROM {tables} WHERE {where}").fetchone()
            assert row is not None
            total += int(row[0])
    return total


def _conditions(query: Query) -> list[str]:
    middle, *others = query
    return [_condition(*sorted((middle, other))) for other in others]


def _condition(one: int, other: int) -> str:
    key = (one + other) % _KEYS_PER_STREAM
    return f"s{one}.k{key} = s{other}.k{key}"


def _rate(scale: float) -> int:
    return max(1, round(RATE * scale))


def _keys(scale: float) -> int:
    return max(1, KEYS * _rate(scale) // RATE)
