"""CSV and JSON input: what fits is typed, what does not keeps its text and a reason."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.sources.files.inputs import find_inputs
from jobs.sources.files.stream_files import FileRange
from jobs.sources.formats.decode import parse_json, parse_text
from jobs.sources.read import read
from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType as C
from optimizer.physical.graph import GraphStream

STREAM = GraphStream("r", "at", (("at", C.TIMESTAMP), ("a", C.INT), ("y", C.STRING)), 0, "drop")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (b"2013-01-02", datetime(2013, 1, 2, tzinfo=UTC)),
        (b"2013-01-02 03:04", datetime(2013, 1, 2, 3, 4, tzinfo=UTC)),
        (b"2013-01-02T03:04:05.123456789Z", datetime(2013, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)),
        (b" 2013-01-02T03:04:05+05:30 ", datetime(2013, 1, 1, 21, 34, 5, tzinfo=UTC)),
        (b"2013-02-30", None),
        (b"2013-01-02 24:00", None),
        (b"yesterday", None),
    ],
)
def test_moments(text: bytes, moment: datetime | None) -> None:
    row = parse_text(pl.DataFrame({"at": [text]}), (("at", C.TIMESTAMP),)).row(0, named=True)
    assert row["at"] == moment
    assert (row["@reason"] is None) == (moment is not None)


def test_bytes_that_are_no_text_and_numbers_out_of_range() -> None:
    frame = pl.DataFrame({"a": [b"2147483648", b"-5", None], "y": [b"ok", b"\xff", b"x"]})
    reasons = parse_text(frame, (("a", C.INT), ("y", C.STRING)))["@reason"].to_list()
    assert reasons == ["a is not int: 2147483648", "y is not UTF-8: ?", None]


def test_csv_lines_keep_their_order_and_misfits_their_text(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "a.csv").write_bytes(
        b'at,a,y,more\n2013-01-01,1,"two\nlines",\nnever,2,b,\n2013-01-02,3\n2013-01-03,,,z\n'
    )
    (files,) = find_inputs(tmp_path, (STREAM,), tmp_path / "staging")
    (file,) = files.files
    raw = read(FileRange("r", file.path, 0, file.rows), STREAM, ["a", "y"], None)
    assert raw.table.column("a").to_pylist() == [1, None]
    assert raw.table.column("y").to_pylist() == ["two\nlines", None]
    assert raw.undecodable is not None
    assert raw.undecodable.to_pylist() == [
        {"reason": "at is not timestamp: never (r/a.csv, row 3)", "tuple": '{"at":"never","a":"2","y":"b"}'},
        {"reason": "2 fields instead of 4 (r/a.csv, row 4)", "tuple": "2013-01-02,3"},
    ]


@pytest.mark.parametrize(
    ("name", "table", "words"),
    [
        (
            "a.parquet",
            {"at": [datetime(2013, 1, 1, tzinfo=UTC)], "a": [1 << 40], "y": ["s"]},
            ("a.parquet: a:", "int64", "type int"),
        ),
        ("a.parquet", {"at": ["2013"], "a": [1], "y": ["s"]}, ("a.parquet: at:", "type timestamp")),
        (
            "a.parquet",
            {"at": [datetime(2013, 1, 1, tzinfo=UTC)], "y": ["s"]},
            ("a.parquet: a:", "a column a of type int"),
        ),
    ],
)
def test_unusable_files(tmp_path: Path, name: str, table: dict, words: tuple[str, ...]) -> None:
    (tmp_path / "r").mkdir()
    pq.write_table(pa.table(table), tmp_path / "r" / name)
    with pytest.raises(InputError) as raised:
        find_inputs(tmp_path, (STREAM,), tmp_path / "staging")
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_nanoseconds_are_cut_and_zones_applied(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    at = pa.array([-1, 1_999], pa.timestamp("ns"))
    pq.write_table(
        pa.table(
            {"at": at, "a": pa.array([1, 2], pa.int16()), "y": pa.array(["s", "t"]).dictionary_encode()}
        ),
        tmp_path / "r" / "a.parquet",
    )
    (files,) = find_inputs(tmp_path, (STREAM,), tmp_path / "staging")
    raw = read(FileRange("r", files.files[0].path, 0, 2), STREAM, ["a", "y"], None)
    assert raw.table.column("at").cast(pa.int64()).to_pylist() == [-1, 1]
    assert raw.table.column("a").type == pa.int32()


def test_arrival_column_orders_files_that_are_not_sorted(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    for number, arrivals in enumerate(([5, 2], [1, 9])):
        table = {
            "at": [datetime(2013, 1, 1, tzinfo=UTC)] * 2,
            "a": pa.array([10 * v for v in arrivals], pa.int32()),
            "y": ["s"] * 2,
            "_arrival": arrivals,
        }
        pq.write_table(pa.table(table), tmp_path / "r" / f"{number}.parquet")
    (files,) = find_inputs(tmp_path, (STREAM,), tmp_path / "staging")
    raw = read(FileRange("r", files.files[0].path, 0, 4), STREAM, ["a"], None)
    assert raw.table.column("a").to_pylist() == [10, 20, 50, 90]


def test_json_objects() -> None:
    columns = (*STREAM.columns, ("d", C.DOUBLE), ("b", C.BINARY))
    table, kept, broken = parse_json(
        [
            b'{"at": "2013-01-01T00:00:00Z", "a": 1.0, "d": 2, "b": "AAE=", "unknown": []}',
            b'{"a": true}',
            b"[1]",
            b"{",
            b'{"y": 5}',
            b"{}",
        ],
        columns,
    )
    assert kept == [0, 5]
    assert table.to_pylist()[0] == {
        "at": datetime(2013, 1, 1, tzinfo=UTC), "a": 1, "y": None, "d": 2.0, "b": b"\x00\x01",
    }  # fmt: skip
    assert [reason for reason, _ in broken] == [
        "a is not int: True", "not a JSON object", "not JSON", "y is not string: 5",
    ]  # fmt: skip
