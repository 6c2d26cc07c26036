"""What a generated test case is made of, and how it becomes a workload directory."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

ID = "id"
"""A column of every generated stream. Rows with equal ids are equal in every column."""
TIME = "ts"
"""The event-time column of every generated stream."""


@dataclass(frozen=True, slots=True)
class GeneratedStream:
    name: str
    columns: tuple[tuple[str, str], ...]
    """Name and type, as in streams.yaml."""
    tuples: pa.Table
    """In order of arrival; has an `_arrival` column if the workload gives a global order."""
    lateness: timedelta
    parallelism: int | None
    files: int
    """Over how many files the tuples are spread."""
    format: Literal["parquet", "csv"]
    key: tuple[str, ...] = ()
    """Of a table."""
    deleted: str | None = None


@dataclass(frozen=True, slots=True)
class GeneratedInput:
    alias: str
    stream: str
    window: timedelta | None
    """None is unbounded."""


@dataclass(frozen=True, slots=True)
class GeneratedQuery:
    name: str
    inputs: tuple[GeneratedInput, ...]
    predicates: tuple[str, ...]
    """SQL that means the same to Millrace and to DuckDB."""
    outputs: tuple[str, ...]
    text: str
    """The query as Millrace reads it."""
    joined: str = ""
    """As DuckDB reads it, of a query with outer, semi or anti joins, or groups."""
    key: tuple[str, ...] | None = None
    """Of running groups the outputs by which a row is known: what is compared is the table."""

    def reference(self) -> str:
        """The query as DuckDB answers it, with every window condition written out pair by pair."""
        if self.joined:
            return self.joined
        conditions = list(self.predicates)
        for newer in self.inputs:
            for older in self.inputs:
                if newer is not older and older.window is not None:
                    width = older.window // timedelta(microseconds=1)
                    conditions.append(
                        f"epoch_us({newer.alias}.{TIME}) - epoch_us({older.alias}.{TIME}) <= {width}"
                    )
        tables = ", ".join(f"{i.stream} AS {i.alias}" for i in self.inputs)
        where = f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""
        return f"SELECT {', '.join(self.outputs)} FROM {tables}{where}"


@dataclass(frozen=True, slots=True)
class GeneratedWorkload:
    seed: int
    streams: tuple[GeneratedStream, ...]
    queries: tuple[GeneratedQuery, ...]
    functions: Path | None = None
    """The file of the functions that queries call, if they do."""

    def write(self, workload: Path, data: Path) -> None:
        """Writes a workload directory and the streams' files."""
        (workload / "queries").mkdir(parents=True)
        (workload / "streams.yaml").write_text("\n".join(["streams:", *map(_declaration, self.streams), ""]))
        if self.functions is not None:
            shutil.copy(self.functions, workload / "functions.yaml")
        for query in self.queries:
            (workload / "queries" / f"{query.name}.sql").write_text(query.text + "\n")
        for stream in self.streams:
            _write_files(stream, data / stream.name)

    def describe(self) -> str:
        """The case for a person who looks into a failure."""
        parts = [f"seed {self.seed}"]
        for s in self.streams:
            kind = f"{s.format} x {s.files}, lateness {s.lateness}, parallelism {s.parallelism}"
            parts.append(f"-- {s.name}: {s.tuples.num_rows} tuples, {kind}")
        parts.extend(f"-- {q.name}\n{q.text}" for q in self.queries)
        return "\n".join(parts)


def _declaration(stream: GeneratedStream) -> str:
    lines = [f"  {stream.name}:", f"    event_time: {TIME}"]
    if stream.lateness:
        lines.append(f"    lateness: {stream.lateness // timedelta(seconds=1)} seconds")
    if stream.parallelism is not None:
        lines.append(f"    parallelism: {stream.parallelism}")
    if stream.key:
        lines.append(f"    kind: table\n    key: [{', '.join(stream.key)}]\n    deleted: {stream.deleted}")
    columns = ", ".join(f"{name}: {kind}" for name, kind in stream.columns)
    return "\n".join([*lines, f"    columns: {{{columns}}}"])


def _write_files(stream: GeneratedStream, folder: Path) -> None:
    folder.mkdir(parents=True)
    size = -(-stream.tuples.num_rows // stream.files) or 1
    for number in range(stream.files):
        part = stream.tuples.slice(number * size, size)
        file = folder / f"part-{number:03d}.{stream.format}"
        if stream.format == "parquet":
            pq.write_table(part, file, row_group_size=64)
        else:
            moment = part.column_names.index(TIME)
            text = part[TIME].cast(pa.timestamp("us")).cast(pa.string())
            csv.write_csv(part.set_column(moment, TIME, text), file)
