"""A join of four streams on one key without windows: every tuple stays.

After UMJoin's experiment (section 4.1): customers and three kinds of returns, on the customer's address, 107
bytes a tuple there and about 190 here. A key has half a tuple of each stream on average, so that one in
sixteen keys has a result, and a tree of binary joins keeps three quarters as many intermediate results as a
stream has tuples.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

STREAMS = ("customers", "catalog_returns", "store_returns", "web_returns")
ROWS = 1_000_000
"""Per stream at scale 1."""
TUPLE_BYTES = 192
"""Of a stored tuple, in its run."""
_FILES = 10
_RATE = 10_000
_TEXT = 160
_START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


def rows(scale: float) -> int:
    """Per stream, a multiple of the number of files."""
    return max(_FILES, round(ROWS * scale / _FILES) * _FILES)


def write_workload(folder: Path) -> None:
    """Writes FOLDER/streams.yaml and FOLDER/queries/returns.sql."""
    (folder / "queries").mkdir(parents=True)
    lines = ["streams:"]
    for name in STREAMS:
        lines += [f"  {name}:", "    event_time: at", f"    rate: {_RATE}"]
        lines += ["    columns: {at: timestamp, id: bigint, address: bigint, note: string}"]
    (folder / "streams.yaml").write_text("\n".join([*lines, ""]))
    (folder / "queries" / "returns.sql").write_text(_query(", ".join(STREAMS)) + "\n")


def write(folder: Path, count: int, seed: int) -> None:
    """Writes FOLDER/STREAM/part-NNN.parquet, `count` tuples per stream."""
    random = np.random.default_rng(seed)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz     ", dtype=np.uint8)
    for name in STREAMS:
        (folder / name).mkdir(parents=True)
        size = count // _FILES
        for number in range(_FILES):
            first = number * size
            places = np.arange(first, first + size, dtype=np.int64)
            times = pa.array(_START_US + places * (1_000_000 // _RATE))
            texts = letters[random.integers(0, len(letters), size * _TEXT)].tobytes().decode()
            table = pa.table(
                {
                    "at": times.cast(pa.timestamp("us", "UTC")),
                    "id": pa.array(places),
                    "address": pa.array(random.integers(0, 2 * count, size)),
                    "note": pa.array([texts[at : at + _TEXT] for at in range(0, size * _TEXT, _TEXT)]),
                }
            )
            pq.write_table(table, folder / name / f"part-{number:03d}.parquet", compression="none")


Answer: TypeAlias = tuple[int, int]
"""How many results there are, and the sum of their hashes: equal for equal results in any order."""


def answer_of_duckdb(data: Path) -> Answer:
    """What the query has to find."""
    tables = ", ".join(f"read_parquet('{data}/{name}/*.parquet') AS {name}" for name in STREAMS)
    return _answer(_query(tables))


def answer_of(out: Path) -> Answer:
    """What a replay has found."""
    return _answer(f"SELECT * FROM read_parquet('{out}/results/returns/*.parquet')")


def _answer(query: str) -> Answer:
    columns = ", ".join(f"{name}_id, {name}_note" for name in STREAMS)
    with duckdb.connect() as connection:
        found = connection.sql(f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM ({query})").fetchall()
    return int(found[0][0]), int(found[0][1] or 0)


def _query(tables: str) -> str:
    first = STREAMS[0]
    outputs = ", ".join(f"{name}.id AS {name}_id, {name}.note AS {name}_note" for name in STREAMS)
    where = " AND ".join(f"{first}.address = {name}.address" for name in STREAMS[1:])
    return f"SELECT {outputs} FROM {tables} WHERE {where}"
