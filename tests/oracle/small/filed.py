"""A stream's tuples written into a file in one of the forms that a replay accepts, and read from it."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.sources.files.inputs import find_inputs
from jobs.sources.files.stream_files import FileRange
from jobs.sources.read import read
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import GraphStream, PhysicalGraph
from optimizer.udf.arrow import as_uuids
from tests.oracle.small.grammar import MONEY, RATE
from tests.oracle.small.workload import DECLARED, Arrival, table_of

T = ColumnType
FileForm: TypeAlias = Literal["parquet", "csv"]
Reader: TypeAlias = Callable[[str, int, int], pa.Table]
"""The tuples of a stream from one position to another."""


def files_of(graph: PhysicalGraph, arrivals: Sequence[Arrival], form: FileForm, folder: Path) -> Reader:
    """Write the tuples of the graph's streams and return what reads them.

    A stream that CSV cannot tell exactly (an empty text beside NULL, bytes, years beyond 9999) is written as
    Parquet.
    """
    streams: Mapping[str, GraphStream] = {stream.name: stream for stream in graph.sources}
    for name in streams:
        own = [a for a in arrivals if a.stream == name]
        (folder / "data" / name).mkdir(parents=True)
        chance = random.Random(f"{name} {len(arrivals)}")
        if form == "csv" and all(_plain(a) for a in own):
            _write_csv(own, folder / "data" / name / "0.csv", chance)
        else:
            _write_parquet(own, folder / "data" / name / "0.parquet", chance)
    found = {f.stream: f for f in find_inputs(folder / "data", graph.sources, folder / "staging")}

    def rows(name: str, first: int, end: int) -> pa.Table:
        (file,) = found[name].files
        if first == end:
            return table_of([])
        raw = read(
            FileRange(name, file.path, first, end - first), streams[name], [c for c, _ in DECLARED], None
        )
        assert raw.undecodable is None, raw.undecodable
        return raw.table

    return rows


def _write_parquet(rows: Sequence[Arrival], file: Path, chance: random.Random) -> None:
    table = table_of(rows)
    for position, (name, kind) in enumerate(DECLARED):
        for form in chance.sample(_FORMS.get(kind, ()), len(_FORMS.get(kind, ()))):
            try:
                column = table[name].cast(form)
                if column.cast(table.schema.field(name).type).equals(table[name]):
                    table = table.set_column(position, name, column)
                    break
            except pa.ArrowInvalid:
                continue  # A value that this form cannot say.
    if chance.random() < 0.5:
        table = table.set_column(table.column_names.index("k"), "k", as_uuids(table["k"]))
    pq.write_table(
        table,
        file,
        row_group_size=chance.choice((1, 2, 5, 1000)),
        use_dictionary=chance.random() < 0.5,
        compression=chance.choice(("snappy", "zstd", "none")),
        version="2.6",
        data_page_version=chance.choice(("1.0", "2.0")),
    )


_FORMS: Mapping[ColumnType, Sequence[pa.DataType]] = {
    T.INT: (pa.int32(), pa.int16(), pa.int8(), pa.uint8(), pa.uint16()),
    T.BIGINT: (pa.int64(), pa.int32(), pa.uint32(), pa.int8()),
    T.DOUBLE: (pa.float64(), pa.float32()),
    T.STRING: (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())),
    T.TIMESTAMP: tuple(pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC")),
    T.DATE: (pa.date32(), pa.date64()),
    T.TIME: tuple(pa.time64(unit) for unit in ("us", "ns")),
    T.BINARY: (pa.binary(), pa.large_binary()),
    MONEY: (pa.decimal128(9, 2), pa.decimal128(5, 1), pa.int8(), pa.decimal256(8, 2)),
    RATE: (pa.decimal128(18, 6), pa.decimal64(12, 2), pa.int32()),
}


def _plain(arrival: Arrival) -> bool:
    for name, value in arrival.row:
        kind = dict(DECLARED)[name]
        if value is None:
            continue
        if kind is T.BINARY or (kind is T.STRING and (not value or "\0" in str(value))):
            return False
        if kind is T.TIMESTAMP and not -62_135_596_800_000_000 <= int(str(value)) < 253_402_300_800_000_000:
            return False
    return True


def _write_csv(rows: Sequence[Arrival], file: Path, chance: random.Random) -> None:
    quoting = chance.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL))
    with file.open("w", newline="", encoding="utf-8") as text:
        writer = csv.writer(text, quoting=quoting, lineterminator=chance.choice(("\n", "\r\n")))
        writer.writerow([name for name, _ in DECLARED])
        table = table_of(rows)
        moments = {n: table[n].cast(pa.timestamp("us")).cast(pa.string()).to_pylist() for n in ("ts", "m")}
        for number, arrival in enumerate(rows):
            values = {**dict(arrival.row), **{name: column[number] for name, column in moments.items()}}
            writer.writerow([_text(values[name]) for name, _ in DECLARED])


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return repr(value)
        case date() | time():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
    return str(value)
