"""CSV input, typed by a stream's schema and staged as Parquet.

Every line becomes one row of the staged file in the same order, so that ranges of rows mean the
same on every run. A line that does not fit the schema keeps its text, the reason and its place, and
becomes a dead letter when its turn comes.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.sources.files.csv_lines import CsvLines, Lines
from jobs.sources.files.parquet import STAGED
from jobs.sources.formats.arrow_types import stream_schema
from jobs.sources.formats.decode import REASON, TUPLE, Columns, parse_text
from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import GraphStream

_NUMBER = "@row"
_EMPTY = "no value at all"


def stage_csv(path: Path, stream: GraphStream, target: Path) -> Path:
    """Write `path` as Parquet, with what could not be decoded.

    Columns are the schema's, `_arrival` if it is there, and two more, `@reason` and `@tuple`, that are set
    for the lines that could not be decoded.

    An empty field is NULL, quoted or not, as in DuckDB.
    Returns `target`; a staged file that exists and is newer than the CSV file is used again.
    Raises `InputError` if the file cannot be read at all, its header lacks a column, or a quote is not
    closed: nobody can say how many lines it has swallowed.
    """
    if target.exists() and target.stat().st_mtime_ns >= path.stat().st_mtime_ns:
        return target
    names = _header(path)
    arrival = "_arrival" if "_arrival" in names and "_arrival" not in dict(stream.columns) else None
    check_header(str(path), names, stream.columns)
    columns = (*stream.columns, *(((arrival, ColumnType.BIGINT),) if arrival else ()))
    fields = [*stream_schema(stream.columns), *([pa.field(arrival, pa.int64())] if arrival else ())]
    schema = pa.schema([*fields, (REASON, pa.large_string()), (TUPLE, pa.large_string())])
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    staged = schema.with_metadata({STAGED: b"1"})
    with pq.ParquetWriter(unfinished, staged, compression="lz4") as writer:
        for lines in CsvLines(str(path), names, lambda: path.open("rb")).blocks():
            table = typed_lines(lines, f"{path.parent.name}/{path.name}", columns)
            writer.write_table(
                table.select(schema.names).to_arrow().cast(schema).replace_schema_metadata({STAGED: b"1"}),
                row_group_size=131_072,
            )
    os.replace(unfinished, target)
    return target


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
            return header_names(str(path), text)
    except OSError as error:
        raise InputError("bad-file", Place(str(path), line=1), str(error)[:160], "a header line") from error


def header_names(file: str, lines: Iterable[str]) -> list[str]:
    """The names of a file's columns, from its lines.

    Raises `InputError` naming the file if there is no header, or a name twice.
    """
    place = Place(file, line=1)
    try:
        names = next(csv.reader(lines, strict=True), None)
    except csv.Error as error:
        raise InputError("bad-file", place, str(error)[:160], "a header line") from error
    if not names:
        found = "an empty file" if names is None else "a blank line"
        raise InputError("bad-file", place, found, "a header line")
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise InputError("bad-file", place, f"column {twice[:80]} twice", "distinct column names")
    return names


def check_header(file: str, names: Sequence[str], columns: Columns) -> None:
    """Raise `InputError` naming the file if a column is not among the header's names."""
    for name, kind in columns:
        if name not in names:
            raise InputError(
                "missing-column",
                Place(file, line=1, path=name),
                f"only the columns {', '.join(names)}"[:200],
                f"a column {name} of type {kind}",
            )


def typed_lines(lines: Lines, file: str, columns: Columns, before: int = 0) -> pl.DataFrame:
    """Lines in the types of these columns, and why some do not fit.

    `@reason` and `@tuple` are of those.

    The reason names the file and the row; `before` rows of it lie before the first one that is read.
    """
    place = pl.format("{} ({}, row {})", pl.col(REASON), pl.lit(file), pl.col(_NUMBER) + before)
    typed = parse_text(lines.fields, columns).with_columns(pl.Series(_NUMBER, lines.numbers, pl.Int64))
    nothing = pl.all_horizontal(pl.Series(lines.fields[name].is_null()) for name in lines.fields.columns)
    typed = typed.with_columns(
        pl.when(nothing).then(pl.lit(_EMPTY)).otherwise(pl.col(REASON)).alias(REASON),
        pl.when(nothing).then(pl.lit("")).otherwise(pl.col(TUPLE)).alias(TUPLE),
    )
    if lines.misfits:
        broken = {
            REASON: [misfit.reason for misfit in lines.misfits],
            TUPLE: [misfit.text for misfit in lines.misfits],
            _NUMBER: [misfit.number for misfit in lines.misfits],
        }
        typed = pl.concat([typed, pl.DataFrame(broken)], how="diagonal").sort(_NUMBER)
    return typed.with_columns(pl.when(pl.col(REASON).is_not_null()).then(place).alias(REASON))
