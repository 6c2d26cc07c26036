"""List a replay's files and check that they hold what streams.yaml declares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.sources.files.parquet import STAGED, opened
from jobs.sources.files.stream_files import ARRIVAL_COLUMN, InputFile, StreamFiles
from jobs.sources.formats.arrow_types import readable_as
from optimizer.algebra.errors import InputError, Place

if TYPE_CHECKING:
    from jobs.sources.formats.decode import Columns
    from optimizer.physical.graph import GraphStream

# `csv` and `sorting` are imported where they are used: the process that plans batches imports this module
# and needs no Polars.


def find_inputs(data: Path, streams: tuple[GraphStream, ...], staging: Path) -> tuple[StreamFiles, ...]:
    """Check and list every stream's input, DATA/STREAM/*.parquet or *.csv, by name.

    CSV files are typed by the stream's schema and staged as Parquet under `staging`; so is a
    stream whose `_arrival` column does not ascend. Staging is deterministic and done once.

    Returns one entry per stream, in the order of `streams`.
    Raises `InputError` naming the file and the column for whatever cannot be read.
    """
    if not data.is_dir():
        raise InputError("no-data", Place(str(data)), "no such directory", "the directory given by --data")
    listed = tuple(_stream_files(data, stream, staging) for stream in streams)
    with_arrival = [files.stream for files in listed if files.order_by == ARRIVAL_COLUMN]
    if with_arrival:
        without = [f.stream for f in listed if f.order_by != ARRIVAL_COLUMN and f.rows]
        if without:
            raise InputError(
                "mixed-arrival",
                Place(str(data / without[0])),
                f"no {ARRIVAL_COLUMN} column, while {with_arrival[0]} has one",
                f"{ARRIVAL_COLUMN} in the files of every stream, or of none",
            )
    if not with_arrival:
        return listed
    from jobs.sources.files.sorting import stage_sorted

    return tuple(
        stage_sorted(files, stream, staging / "sorted") if files.order_by == ARRIVAL_COLUMN else files
        for files, stream in zip(listed, streams, strict=True)
    )


def _stream_files(data: Path, stream: GraphStream, staging: Path) -> StreamFiles:
    folder = data / stream.name
    if not folder.is_dir():
        raise InputError(
            "no-data",
            Place(str(folder)),
            "no such directory",
            f"the files of stream {stream.name} (*.parquet or *.csv)",
        )
    paths = sorted(
        (p for p in folder.iterdir() if p.suffix in (".parquet", ".csv") and not p.name.startswith(".")),
        key=lambda p: p.name,
    )
    if not paths:
        raise InputError("no-data", Place(str(folder)), "no data file", "*.parquet or *.csv files")
    files: list[InputFile] = []
    arrival: list[bool] = []
    for number, path in enumerate(paths):
        if path.suffix == ".csv":
            from jobs.sources.files.csv import stage_csv

            staged = stage_csv(path, stream, staging / "csv" / stream.name / f"{number:06d}.parquet")
            schema, rows = _described(staged, path)
            readable = staged
        else:
            schema, rows = _described(path, path)
            _check_columns(path, schema, stream)
            readable = path
        arrival.append(ARRIVAL_COLUMN in schema.names)
        files.append(InputFile(str(readable), rows))
    if len(set(arrival)) > 1:
        place = paths[arrival.index(False)]
        raise InputError(
            "mixed-arrival",
            Place(str(place)),
            f"no {ARRIVAL_COLUMN} column, while other files of {stream.name} have one",
            f"{ARRIVAL_COLUMN} in every file, or in none",
        )
    order_by = (
        ARRIVAL_COLUMN if arrival[0] and ARRIVAL_COLUMN not in dict(stream.columns) else stream.event_time
    )
    return StreamFiles(stream.name, order_by, tuple(files))


def _described(path: Path, named: Path) -> tuple[pa.Schema, int]:
    with opened(str(path), str(named)) as file:
        return file.schema_arrow, file.metadata.num_rows


def _check_columns(path: Path, schema: pa.Schema, stream: GraphStream) -> None:
    check_columns(str(path), schema, stream.columns)
    if STAGED in (schema.metadata or {}):
        raise InputError(
            "staged-file",
            Place(str(path)),
            "a file that a replay has staged for itself",
            "the file as it came",
        )
    if ARRIVAL_COLUMN in schema.names and ARRIVAL_COLUMN not in dict(stream.columns):
        positions = schema.get_all_field_indices(ARRIVAL_COLUMN)
        if len(positions) > 1:
            place = Place(str(path), path=ARRIVAL_COLUMN)
            raise InputError("repeated-column", place, "the column twice", "it once")
        found = schema.field(positions[0]).type
        if not pa.types.is_integer(found) or found == pa.uint64():
            raise InputError(
                "wrong-type", Place(str(path), path=ARRIVAL_COLUMN), f"type {found}", "type bigint"
            )


def check_columns(file: str, schema: pa.Schema, columns: Columns) -> None:
    """Raise `InputError` naming the file and the column that it cannot be read as."""
    for name, kind in columns:
        positions = schema.get_all_field_indices(name)
        if not positions:
            raise InputError(
                "missing-column",
                Place(file, path=name),
                f"only the columns {', '.join(schema.names)}"[:200],
                f"a column {name} of type {kind}",
            )
        found = schema.field(positions[0]).type
        if len(positions) > 1:
            raise InputError("repeated-column", Place(file, path=name), "the column twice", "it once")
        if not readable_as(found, kind):
            raise InputError("wrong-type", Place(file, path=name), f"type {found}", f"type {kind}")
