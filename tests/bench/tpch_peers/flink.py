"""One query of TPC-H in Flink SQL: regular joins, because its windows are unbounded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from tests.bench.flink.environment import FlinkJob
from tests.bench.tpch.queries import JoinQuery
from tests.bench.tpch.tables import Table
from tests.bench.tpch_peers.chain import chain

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


def job(query: JoinQuery, tables: Sequence[Table], data: Path, results: Path | None) -> FlinkJob:
    """All columns of all results, thrown away or, if `results` is given, written there."""
    used = [table for table in tables if table.name in query.tables]
    first, steps = chain(query)
    text = first + "".join(f" JOIN {step.table} ON {' AND '.join(step.conditions)}" for step in steps)
    columns = [f"{name} {_TYPES[kind]}" for table in used for name, kind in table.columns]
    names = ", ".join(name for table in used for name, _ in table.columns)
    sink = _options("blackhole" if results is None else "filesystem", results)
    return FlinkJob(
        statements=(
            *(_table(table, data) for table in used),
            f"CREATE TABLE sink ({', '.join(columns)}) WITH ({sink})",
        ),
        inserts=(f"INSERT INTO sink SELECT {names} FROM {text}",),
        tuples=sum(table.rows.height for table in used),
        results=results,
    )


def _table(table: Table, data: Path) -> str:
    columns = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in table.columns)
    return f"CREATE TABLE {table.name} ({columns}) WITH ({_options('filesystem', data / table.name)})"


def _options(connector: str, path: Path | None) -> str:
    return f"'connector' = '{connector}'" + ("" if path is None else f", 'path' = '{path}', 'format' = 'csv'")
