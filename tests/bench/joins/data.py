"""A shape's data, workload directory and the beginning of its streams for slower engines.

The seed is fixed: the same shape and scale always give the same files.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from tests.bench.joins.shapes import Shape

FILES = 20
"""Per stream, each an equal part of its time."""
START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


def rows_per_stream(shape: Shape, scale: float) -> int:
    """A multiple of FILES near the shape's share of each stream."""
    return max(FILES, round(shape.tuples * scale / len(shape.streams) / FILES) * FILES)


def write_workload(folder: Path, shape: Shape) -> None:
    """Writes FOLDER/streams.yaml and FOLDER/queries/SHAPE.sql."""
    (folder / "queries").mkdir(parents=True)
    lines = ["streams:"]
    for stream in shape.streams:
        columns = ", ".join(f"{name}: bigint" for name in ("id", *(name for name, _ in stream.columns)))
        lines += [f"  {stream.name}:", "    event_time: ts", f"    rate: {shape.rate}"]
        lines += [f"    columns: {{ts: timestamp, {columns}}}"]
    lines.append("selectivities:")
    lines += [f'  - {{predicate: "{text}", value: {value!r}}}' for text, value in shape.selectivities.items()]
    (folder / "streams.yaml").write_text("\n".join([*lines, ""]))
    names = [stream.name for stream in shape.streams]
    (folder / "queries" / f"{shape.name}.sql").write_text(
        f"SELECT {', '.join(f'{name}.id AS {name}_id' for name in names)}\n"
        f"FROM {', '.join(f'{name} [RANGE {shape.window_s} SECONDS]' for name in names)}\n"
        f"WHERE {' AND '.join(shape.conditions)}\n"
    )


def write(folder: Path, shape: Shape, scale: float) -> None:
    """Writes FOLDER/STREAM/part-NNN.parquet."""
    rows = rows_per_stream(shape, scale)
    random = np.random.default_rng(20240101)
    times = pa.array(START_US + np.arange(rows, dtype=np.int64) * (1_000_000 // shape.rate))
    for stream in shape.streams:
        columns = {
            "ts": times.cast(pa.timestamp("us", "UTC")),
            "id": pa.array(np.arange(rows, dtype=np.int64)),
        }
        for name, many in stream.columns:
            columns[name] = pa.array(random.integers(0, many, rows, dtype=np.int64))
        table = pa.table(columns)
        target = folder / stream.name
        target.mkdir(parents=True)
        size = rows // FILES
        for number in range(FILES):
            pq.write_table(table.slice(number * size, size), target / f"part-{number:03d}.parquet")


def beginning(data: Path, target: Path, files: int) -> Path:
    """The first `files` files of each stream, linked, with their times of change; returns `target`."""
    for folder in sorted(data.iterdir()):
        (target / folder.name).mkdir(parents=True)
        for file in sorted(folder.iterdir())[:files]:
            os.link(file, target / folder.name / file.name)
    return target


def write_csv(data: Path, target: Path, readers: int) -> Path:
    """The same tuples as TARGET/STREAM/reader-N.csv, for Flink, whose Parquet reader is no part of its wheel.

    Every N-th tuple is in the same file: one file for each parallel reader, so that all of a stream's
    readers are at about the same event time and none has to start in the past with its second file.
    The event time is the first column, in microseconds since 1970.
    """
    for folder in sorted(data.iterdir()):
        (target / folder.name).mkdir(parents=True)
        table = ds.dataset(sorted(folder.glob("*.parquet"))).to_table()
        table = table.set_column(0, "us", table["ts"].cast(pa.int64()))
        for reader in range(readers):
            part = table.take(pa.array(np.arange(reader, table.num_rows, readers)))
            with (target / folder.name / f"reader-{reader}.csv").open("wb") as file:
                pc.write_csv(part, file, pc.WriteOptions(include_header=False))
    return target
