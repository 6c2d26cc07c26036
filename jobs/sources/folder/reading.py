"""Reading a part of a folder's file, inside an ingesting task."""

from __future__ import annotations

from io import BytesIO, StringIO
from typing import BinaryIO

import pyarrow as pa

from jobs.sources.connector import Asked, Raw
from jobs.sources.files.csv import check_header, header_names, typed_lines
from jobs.sources.files.csv_lines import CsvLines
from jobs.sources.files.inputs import check_columns
from jobs.sources.files.parquet import opened
from jobs.sources.files.row_groups import ROW_GROUPS
from jobs.sources.folder.files import LineRange, RowRange
from jobs.sources.folder.lines import read_header
from jobs.sources.folder.opening import opened_as, path_of
from jobs.sources.formats.arrow_types import stream_schema
from jobs.sources.formats.columns import type_columns
from jobs.sources.formats.decode import FROM_JSON, REASON, TUPLE, json_records, type_records
from jobs.sources.read import letters
from optimizer.physical.graph import GraphStream


def read_part(part: RowRange | LineRange, asked: Asked) -> Raw:
    """The tuples of a part of a file.

    Raises `InputError` for a file that was changed, is gone, damaged or has other columns, and `OSError`
    while its folder cannot be reached.
    """
    with opened_as(part) as file:
        if isinstance(part, RowRange):
            return _read_parquet(part, file, asked)
        file.seek(part.begin)
        content = file.read(part.end - part.begin)
        if part.quotes:
            return _read_csv(part, read_header(file, part.begin), content, asked.stream)
    return _read_json(part, content, asked.stream)


def _read_parquet(part: RowRange, file: BinaryIO, asked: Asked) -> Raw:
    place = f"{part.folder}/{part.name}"
    version = (place, part.size, part.mtime_ns)
    with opened(path_of(file), place) as parquet:
        check_columns(place, parquet.schema_arrow, asked.stream.columns)
        names = tuple(name for name, _ in asked.columns)
        stored = ROW_GROUPS.rows(parquet, version, place, part.first, part.rows, names)
    typed = type_columns(
        stored, asked.columns, lambda row: f"{place}, row {part.first + row + 1}", asked.needed
    )
    return Raw(typed.readable(), letters([(one.reason, one.text) for one in typed.broken]), None)


def _read_csv(part: LineRange, header: bytes, content: bytes, stream: GraphStream) -> Raw:
    place = f"{part.folder}/{part.name}"
    names = header_names(place, StringIO(header.decode("utf-8-sig", "replace"), newline=""))
    check_header(place, names, stream.columns)
    lines = CsvLines(place, names, lambda: BytesIO(header + content))
    tables = [
        # The header is row 1 to people, and these rows are not the file's first.
        typed_lines(block, place, stream.columns, part.first)
        for block in lines.blocks()
    ]
    schema = pa.schema(
        [*stream_schema(stream.columns), (REASON, pa.large_string()), (TUPLE, pa.large_string())]
    )
    whole = pa.concat_tables([table.select(schema.names).to_arrow().cast(schema) for table in tables])
    broken = whole.filter(whole.column(REASON).is_valid())
    readable = whole.filter(whole.column(REASON).is_null()).select([name for name, _ in stream.columns])
    told = zip(broken.column(REASON).to_pylist(), broken.column(TUPLE).to_pylist(), strict=True)
    return Raw(readable, letters(list(told)), None)


def _read_json(part: LineRange, content: bytes, stream: GraphStream) -> Raw:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    records = json_records(lines, stream.columns)
    table, _, broken = type_records(records, stream.columns, FROM_JSON, "a JSON object")
    place = f"{part.folder}/{part.name}"
    told = [
        (f"{reason} ({place}, row {part.first + row + 1})", lines[row].decode("utf-8", "replace"))
        for row, reason in broken
    ]
    return Raw(table, letters(told), None)
