"""CSV input, typed by a stream's schema and staged as Parquet.

Every line becomes one row of the staged file in the same order, so that ranges of rows mean the
same on every run. A line that does not fit the schema keeps its text and the reason, and becomes
a dead letter when its turn comes.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from jobs.sources.arrow_types import stream_schema
from jobs.sources.decode import REASON, TUPLE, parse_text
from optimizer.errors import InputError, Place
from optimizer.graph import GraphStream
from optimizer.types import ColumnType

_BLOCK_BYTES = 16 << 20


def stage_csv(path: Path, stream: GraphStream, target: Path) -> Path:
    """Write `path` as Parquet: the schema's columns, `_arrival` if it is there, and two more,
    `@reason` and `@tuple`, that are set for the lines that could not be decoded.

    An empty field is NULL, quoted or not, as in DuckDB.
    Returns `target`; a staged file that exists and is newer than the CSV file is used again.
    Raises `InputError` if the file cannot be read at all or its header lacks a column.
    """
    if target.exists() and target.stat().st_mtime_ns >= path.stat().st_mtime_ns:
        return target
    names = _header(path)
    arrival = "_arrival" if "_arrival" in names and "_arrival" not in dict(stream.columns) else None
    for name, kind in stream.columns:
        if name not in names:
            raise InputError(
                "missing-column",
                Place(str(path), line=1, path=name),
                f"only the columns {', '.join(names)}",
                f"a column {name} of type {kind}",
            )
    fields = [*stream_schema(stream.columns), *([pa.field(arrival, pa.int64())] if arrival else [])]
    schema = pa.schema([*fields, (REASON, pa.large_string()), (TUPLE, pa.large_string())])
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, schema, compression="lz4") as writer:
        try:
            for lines, misfits in _blocks(path, names):
                table = _typed(lines, misfits, stream, arrival).select(schema.names).to_arrow()
                writer.write_table(table.cast(schema), row_group_size=131_072)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise InputError("bad-file", Place(str(path)), str(error)[:160], "a CSV file in UTF-8") from error
    os.replace(unfinished, target)
    return target


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
            names = next(csv.reader(text), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            "bad-file", Place(str(path), line=1), str(error)[:160], "a CSV file in UTF-8"
        ) from error
    if not names:
        raise InputError("bad-file", Place(str(path), line=1), "an empty file", "a header line")
    if len(set(names)) != len(names):
        raise InputError("bad-file", Place(str(path), line=1), "a column name twice", "distinct column names")
    return names


def _blocks(path: Path, names: list[str]) -> Iterator[tuple[pl.DataFrame, list[str]]]:
    """All fields as bytes, and the lines of the block that have too few or too many of them."""
    misfits: list[str] = []

    def keep(row: pacsv.InvalidRow) -> str:
        misfits.append(f"{row.actual_columns} fields instead of {row.expected_columns}: {row.text}")
        return "skip"

    reader = pacsv.open_csv(
        path,
        read_options=pacsv.ReadOptions(
            use_threads=False, column_names=names, skip_rows=1, block_size=_BLOCK_BYTES
        ),
        parse_options=pacsv.ParseOptions(newlines_in_values=True, invalid_row_handler=keep),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    with reader:
        for batch in reader:
            yield pl.DataFrame(pl.from_arrow(batch)), misfits.copy()
            misfits.clear()
    if misfits:
        yield pl.DataFrame(schema=dict.fromkeys(names, pl.Binary)), misfits


def _typed(lines: pl.DataFrame, misfits: list[str], stream: GraphStream, arrival: str | None) -> pl.DataFrame:
    columns = (*stream.columns, *(((arrival, ColumnType.BIGINT),) if arrival else ()))
    typed = parse_text(lines, columns)
    if not misfits:
        return typed
    broken = pl.DataFrame(
        {REASON: [m.split(": ", 1)[0] for m in misfits], TUPLE: [m.split(": ", 1)[1] for m in misfits]}
    )
    return pl.concat([typed, broken], how="diagonal")
