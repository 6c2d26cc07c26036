"""Queries of TPC-H in Flink SQL: regular joins, because their windows are unbounded.

Flink's documentation on performance tuning advises to collect tuples in small batches before regular joins,
which saves work where rows of one key follow each other; whether it helps here is measured (`SETTINGS`). Its
page on joins advises to declare primary keys: state that has them is one row per key and not a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from tests.bench.flink.environment import FlinkJob
from tests.bench.tpch.queries import KEYS, JoinQuery
from tests.bench.tpch.tables import Table
from tests.bench.tpch_peers.chain import chain

SETTINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "tuple by tuple": (),
    "small batches": (
        ("table.exec.mini-batch.enabled", "true"),
        ("table.exec.mini-batch.allow-latency", "5 s"),
        ("table.exec.mini-batch.size", "5000"),
    ),
}
"""What regular joins may be run with, by name; the second's values are those of Flink's documentation."""
_TYPES = {
    "bigint": "BIGINT",
    "int": "INT",
    "double": "DOUBLE",
    "string": "STRING",
    "date": "DATE",
    # Microseconds since 1970: no query looks at them.
    "timestamp": "BIGINT",
}


def write_csv(tables: Sequence[Table], target: Path, readers: int) -> None:
    """Writes TARGET/TABLE/reader-N.csv, every N-th row in the same file."""
    for table in tables:
        rows = table.rows.to_arrow()
        at = rows.schema.get_field_index(table.event_time)
        rows = rows.set_column(at, table.event_time, rows[table.event_time].cast(pa.int64()))
        folder = target / table.name
        folder.mkdir(parents=True)
        for reader in range(readers):
            part = rows.take(pa.array(np.arange(reader, rows.num_rows, readers)))
            with (folder / f"reader-{reader}.csv").open("wb") as file:
                pc.write_csv(part, file, pc.WriteOptions(include_header=False))


def job(
    queries: Sequence[JoinQuery], tables: Sequence[Table], data: Path, setting: str, results: Path | None
) -> FlinkJob:
    """All columns of all results, thrown away or, if `results` is given, written to RESULTS/QUERY.

    Args:
        queries: answered by one job.
        tables: all of TPC-H's.
        data: what `write_csv` has written.
        setting: a name in `SETTINGS`.
        results: a folder for CSV files.
    """
    used = [table for table in tables if any(table.name in query.tables for query in queries)]
    sinks, inserts = [], []
    for query in queries:
        own = [table for table in used if table.name in query.tables]
        columns = ", ".join(f"{name} {_TYPES[kind]}" for table in own for name, kind in table.columns)
        sink = _options("blackhole") if results is None else _options("filesystem", results / query.name)
        sinks.append(f"CREATE TABLE sink_{query.name} ({columns}) WITH ({sink})")
        names = ", ".join(name for table in own for name, _ in table.columns)
        first, steps = chain(query)
        joined = first + "".join(f" JOIN {step.table} ON {' AND '.join(step.conditions)}" for step in steps)
        inserts.append(f"INSERT INTO sink_{query.name} SELECT {names} FROM {joined}")
    return FlinkJob(
        statements=(*(_table(table, data) for table in used), *sinks),
        inserts=tuple(inserts),
        tuples=sum(table.rows.height for table in used),
        settings=SETTINGS[setting],
        results=results,
    )


def count(results: Path, query: JoinQuery) -> int:
    """How many results of a query a job with a folder for them has written."""
    files = [path for path in (results / query.name).rglob("*") if path.is_file()]
    return sum(path.read_bytes().count(b"\n") for path in files)


def _table(table: Table, data: Path) -> str:
    columns = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in table.columns)
    key = f"PRIMARY KEY ({', '.join(KEYS[table.name])}) NOT ENFORCED"
    return f"CREATE TABLE {table.name} ({columns}, {key}) WITH ({_options('filesystem', data / table.name)})"


def _options(connector: str, path: Path | None = None) -> str:
    return f"'connector' = '{connector}'" + ("" if path is None else f", 'path' = '{path}', 'format' = 'csv'")
