"""Files of every form that pyarrow and DuckDB write: read exactly, set aside row by row, or refused."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.sources.files.inputs import find_inputs
from jobs.sources.files.stream_files import FileRange
from jobs.sources.formats.columns import type_columns
from jobs.sources.read import read
from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType as C
from optimizer.physical.graph import GraphStream
from tests.unit.sources.stored import Stored, in_numbers, one_of_each, read_stored

STREAM = GraphStream("r", "at", (("at", C.TIMESTAMP), ("n", C.BIGINT), ("y", C.STRING)), 0, "drop")
AT = pa.array([1, 2, 3], pa.timestamp("us", "UTC"))
FITTING = {"at": AT, "n": pa.array([1, 2, None]), "y": pa.array(["a", None, "ü"])}
ROWS = [{"at": 1, "n": 1, "y": "a"}, {"at": 2, "n": 2, "y": None}, {"at": 3, "n": None, "y": "ü"}]
UNREADABLE = pa.array([b"ok", b"\xff", b"\xc3"], pa.binary())
"""The second is no UTF-8; the last begins a character that the next value could end."""


def write(folder: Path, *tables: Mapping[str, Any] | pa.Table, **options: Any) -> Path:
    (folder / "r").mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        made = table if isinstance(table, pa.Table) else pa.table(dict(table))
        pq.write_table(made, folder / "r" / f"{number}.parquet", **options)
    return folder


def stored(folder: Path, stream: GraphStream = STREAM) -> Stored:
    return read_stored(folder, stream, folder / "staging")


def refused(folder: Path, stream: GraphStream = STREAM) -> str:
    with pytest.raises(InputError) as raised:
        stored(folder, stream)
    told = str(raised.value)
    assert "\n" not in told
    return told


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("n", pa.array([1, 2, None], pa.int8())),
        ("n", pa.array([1, 2, None], pa.uint32())),
        ("n", pa.array([1, 2, None]).dictionary_encode()),
        ("y", pa.array(["a", None, "ü"], pa.large_string())),
        ("y", pa.array(["a", None, "ü"], pa.string_view())),
        ("y", pa.array(["a", None, "ü"]).dictionary_encode()),
        ("at", pa.array([1, 2, 3], pa.timestamp("us"))),
        ("at", pa.array([1, 2, 3], pa.timestamp("us", "Asia/Kathmandu"))),
        ("at", pa.array([1001, 2002, 3999], pa.timestamp("ns", "-03:30"))),
        ("at", pa.array([1, 2, 3], pa.timestamp("us")).dictionary_encode()),
    ],
)
def test_other_types_with_the_same_values(tmp_path: Path, column: str, values: pa.Array) -> None:
    found = stored(write(tmp_path, {**FITTING, column: values}))
    assert (found.rows, found.letters, found.keys) == (ROWS, [], [1, 2, 3])


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("n", pa.array(["1", "2", "3"]), "r/0.parquet: n: found type string, expected type bigint"),
        ("n", pa.array([1.0, 2.0, 3.0]), "found type double, expected type bigint"),
        ("n", pa.array([Decimal(1)] * 3), "found type decimal128(1, 0), expected type bigint"),
        ("n", pa.array([1, 2, 3], pa.uint64()), "found type uint64, expected type bigint"),
        ("n", pa.array([True] * 3), "found type bool, expected type bigint"),
        ("y", pa.array([1, 2, 3]), "r/0.parquet: y: found type int64, expected type string"),
        ("y", UNREADABLE, "found type binary, expected type string"),
        ("y", pa.array([["a"]] * 3), "found type list<"),
        ("y", pa.array([{"a": 1}] * 3), "found type struct<"),
        ("y", pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())), "found type map<"),
        ("at", pa.array([1, 2, 3]), "r/0.parquet: at: found type int64, expected type timestamp"),
        ("at", pa.array([1, 2, 3], pa.date32()), "found type date32[day], expected type timestamp"),
        ("at", pa.array([1, 2, 3], pa.time64("us")), "found type time64[us], expected type timestamp"),
        ("at", pa.array(["2013-01-01"] * 3), "found type string, expected type timestamp"),
    ],
)
def test_other_types_are_refused(tmp_path: Path, column: str, values: pa.Array, words: str) -> None:
    assert words in refused(write(tmp_path, {**FITTING, column: values}))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pa.table({"AT": AT, "n": [1] * 3, "y": ["a"] * 3}), "at: found only the columns AT, n, y, expected"),
        (pa.table({"at": AT, "y": ["a"] * 3}), "n: found only the columns at, y, expected a column n"),
        (pa.table([AT, [1] * 3, [2] * 3, ["a"] * 3], ["at", "n", "n", "y"]), "n: found the column twice"),
        (pa.table({}), "found only the columns , expected a column at of type timestamp"),
        (pa.table([AT, [1] * 3, ["a"] * 3, [1] * 3, [2] * 3], ["at", "n", "y", "_arrival", "_arrival"]),
         "_arrival: found the column twice"),
        (pa.table({**FITTING, "_arrival": [1.0] * 3}), "_arrival: found type double, expected type bigint"),
        (pa.table({**FITTING, "_arrival": pa.array([1] * 3, pa.uint64())}), "_arrival: found type uint64"),
        (pa.table({**FITTING, "_arrival": ["1"] * 3}), "_arrival: found type string, expected type bigint"),
        (pa.table(FITTING).replace_schema_metadata({"millrace.staged": "1"}), "staged for itself"),
    ],
)  # fmt: skip
def test_columns_that_are_not_there_or_twice(tmp_path: Path, table: pa.Table, words: str) -> None:
    assert words in refused(write(tmp_path, table))


def test_columns_that_nobody_declared_may_be_anything(tmp_path: Path) -> None:
    more = {"n.x": pa.array([1] * 3), "z": pa.array([[{"a": None}]] * 3), "Y": UNREADABLE, "e": pa.nulls(3)}
    assert stored(write(tmp_path, {**more, **FITTING})).rows == ROWS


def test_files_without_rows_and_columns_of_nulls(tmp_path: Path) -> None:
    empty = pa.table(FITTING).slice(0, 0)
    nulls = {"at": AT, "n": pa.nulls(3), "y": pa.nulls(3)}
    found = stored(write(tmp_path, empty, nulls, empty))
    assert [(row["n"], row["y"]) for row in found.rows] == [(None, None)] * 3


def test_each_file_of_a_stream_may_have_its_own_types(tmp_path: Path) -> None:
    later = pa.array([1000, 1001], pa.timestamp("ms"))
    second = {"y": pa.array(["b", "c"]).dictionary_encode(), "n": pa.array([4, 5], pa.int16()), "at": later}
    found = stored(write(tmp_path, FITTING, second))
    assert found.rows[3:] == [{"at": 1_000_000, "n": 4, "y": "b"}, {"at": 1_001_000, "n": 5, "y": "c"}]
    assert found.keys[3:] == [1_000_000, 1_001_000]


@pytest.mark.parametrize(
    "arrivals",
    [
        ([3, 1, 2], [9, 8, 7]),
        ([-1, 5, 5], [5, None, -9]),
        ([2**62, 0, 0], [None, None, None]),
        ([1, 2, 3], [3, 4, 100]),
    ],
)
def test_arrival_of_another_width_in_another_file(
    tmp_path: Path, arrivals: tuple[Sequence[int | None], ...]
) -> None:
    """Also where the other columns' types differ, and one has rows that cannot be read."""
    first, second = arrivals
    one = {**FITTING, "_arrival": pa.array(first, pa.int64())}
    other = {
        "_arrival": pa.array(second, pa.int8()), "n": pa.array([10, 20, 30], pa.int32()), "more": [1, 2, 3],
        "y": UNREADABLE.view(pa.string()), "at": pa.array([1, 2, 3], pa.timestamp("ms")),
    }  # fmt: skip
    found = stored(write(tmp_path, one, other))
    numbered = [*zip(first, [1, 2, None], strict=True), *zip(second, [10, 20, 30], strict=True)]
    order = sorted(numbered, key=lambda pair: -(2**63) if pair[0] is None else pair[0])
    assert [row["n"] for row in found.rows] == [n for _, n in order if n not in (20, 30)]
    assert sorted(reason.partition(" (")[2] for reason, _ in found.letters) == [
        "r/1.parquet, row 2)", "r/1.parquet, row 3)",
    ]  # fmt: skip
    assert found.keys == sorted(found.keys)


def test_text_that_is_no_utf8_is_set_aside_row_by_row(tmp_path: Path) -> None:
    for number, kind in enumerate((pa.string(), pa.large_string())):
        values = UNREADABLE if number == 0 else UNREADABLE.cast(pa.large_binary())
        (folder := tmp_path / str(number)).mkdir()
        found = stored(write(folder, {**FITTING, "y": values.view(kind)}))
        assert [row["y"] for row in found.rows] == ["ok"]
        assert [reason for reason, _ in found.letters] == [
            "y is not UTF-8: \ufffd (r/0.parquet, row 2)", "y is not UTF-8: \ufffd (r/0.parquet, row 3)",
        ]  # fmt: skip
        assert '"y": "\ufffd"' in found.letters[0][1]


def test_a_character_that_two_values_share_is_none(tmp_path: Path) -> None:
    """All bytes together are UTF-8, and so is nothing between them."""
    halves = pa.array([b"a\xc3", b"\xbcb", b"c"], pa.binary()).view(pa.string())
    found = stored(write(tmp_path, {**FITTING, "y": halves}))
    assert [row["y"] for row in found.rows] == ["c"]
    assert len(found.letters) == 2


def test_which_tuples_there_are_does_not_depend_on_what_letters_keep(tmp_path: Path) -> None:
    """A batch with late tuples reads the other columns too, for its dead letters."""
    folder = write(tmp_path, {**FITTING, "y": UNREADABLE.view(pa.string())})
    find_inputs(folder, (STREAM,), folder / "staging")
    part = FileRange("r", str(folder / "r" / "0.parquet"), 0, 3)
    for whole in (False, True):
        raw = read(part, STREAM, ["n"], None, whole=whole)
        assert (raw.table.column("n").to_pylist(), raw.undecodable) == ([1, 2, None], None)
    assert raw.table.column("y").to_pylist() == ["ok", "\ufffd", "\ufffd"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+05:30", "America/New_York"])
def test_moments_of_every_unit_at_their_ends(tmp_path: Path, unit: str, zone: str | None) -> None:
    most = 2**63 - 1
    numbers = [-most - 1, -most, -(10**13), -1, 0, 1, 10**13, most - 1, most]
    times = pa.array(numbers, pa.int64()).view(pa.timestamp(unit, zone))
    sink = io.BytesIO()
    # Parquet has no seconds: what pyarrow would write of these has wrapped before.
    table = pa.table({"at": times, "n": range(9), "y": ["a"] * 9})
    if unit != "s":
        pq.write_table(table, sink)
        table = pq.read_table(sink)
    typed = type_columns(table, STREAM.columns, lambda row: f"row {row}")
    factor = {"s": 10**6, "ms": 1000, "us": 1}.get(unit)
    exact = [n // 1000 if factor is None else n * factor for n in numbers]
    fits = [-(2**63) <= moment < 2**63 for moment in exact]
    found = in_numbers(typed.readable()).column("at").to_pylist()
    assert found == [moment for moment, ok in zip(exact, fits, strict=True) if ok]
    assert [one.row for one in typed.broken] == [row for row, ok in enumerate(fits) if not ok]
    assert all(one.reason.startswith("at is not timestamp: ") for one in typed.broken)


def test_an_event_time_that_microseconds_do_not_hold(tmp_path: Path) -> None:
    """It is set aside, and moves nothing ahead: not in 1969 either, where a zero would."""
    at = pa.array([-1001, 2**62, -1000, -(2**62), None], pa.timestamp("ms"))
    found = stored(write(tmp_path, {"at": at, "n": range(5), "y": ["a"] * 5}))
    assert [row["n"] for row in found.rows] == [0, 2, 4]
    assert [reason for reason, _ in found.letters] == [
        f"at is not timestamp: {2**62} ms since 1970 (r/0.parquet, row 2)",
        f"at is not timestamp: -{2**62} ms since 1970 (r/0.parquet, row 4)",
    ]
    assert found.keys == [-1_001_000, -1_001_000, -1_000_000, -1_000_000, -1_000_000]


def test_moments_of_96_bits_reach_beyond_nanoseconds(tmp_path: Path) -> None:
    far = [-62_135_596_800_000_000, 253_402_300_799_999_999, 5]
    at = pa.array(far, pa.timestamp("us"))
    found = stored(write(tmp_path, {**FITTING, "at": at}, use_deprecated_int96_timestamps=True))
    assert [row["at"] for row in found.rows] == far


def test_what_duckdb_writes_is_what_it_reads(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    stream = one_of_each()
    for number, codec in enumerate(("uncompressed", "snappy", "gzip", "zstd")):
        duckdb.sql(
            "COPY (SELECT TIMESTAMPTZ '2013-01-01 00:00:00+00' + INTERVAL 1 SECOND * i AS at, i AS bigint, "
            "i::INTEGER AS int, i / 7 AS double, 'täxt ' || i AS string, i % 2 = 0 AS boolean, "
            "TIMESTAMP '0044-03-15' + INTERVAL 1 HOUR * i AS timestamp, "
            "DATE '2013-01-01' + i::INTEGER AS date, "
            "concat('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a', 10 + i)::UUID AS uuid, "
            "TIME '23:59:00' + INTERVAL 1 MINUTE * i AS time, "
            f"('x' || i)::BLOB AS binary FROM range(50) t(i)) TO '{tmp_path}/r/{number}.parquet' "
            f"(FORMAT parquet, CODEC {codec})"
        )
    found = stored(tmp_path, stream)
    assert (len(found.rows), found.letters) == (200, [])
    (sums,) = duckdb.sql(
        'SELECT sum("bigint"), sum("int"), sum("double"), sum(epoch_us("at")), sum(epoch_us("timestamp")), '
        f"count(*) FILTER (\"boolean\"), min(string) FROM '{tmp_path}/r/*.parquet'"
    ).fetchall()
    names = ("bigint", "int", "double", "at", "timestamp")
    assert tuple(sum(row[name] for row in found.rows) for name in names) == pytest.approx(sums[:5])
    assert sum(row["boolean"] for row in found.rows) == sums[5]
    assert min(row["string"] for row in found.rows) == sums[6]
    assert max(row["time"] for row in found.rows) == (23 * 60 + 59) * 60_000_000
    assert max(row["uuid"] for row in found.rows) == "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a59"


def csv(folder: Path, content: bytes, stream: GraphStream = STREAM) -> Path:
    (folder / stream.name).mkdir(exist_ok=True)
    (folder / stream.name / "0.csv").write_bytes(content)
    return folder


HEAD = b"at,n,y\n"
LINE = b"1970-01-01T00:00:00.000001Z,%d,%s\n"


@pytest.mark.parametrize(
    ("content", "texts", "letters"),
    [
        (HEAD + LINE % (1, b"a") + b"\n" + LINE % (2, b"b"), ["a", "b"], [("no value at all", 3)]),
        (HEAD + LINE % (1, b"a") + b"\n\n", ["a"], [("no value at all", 3), ("no value at all", 4)]),
        (HEAD + b",,\n" + LINE % (1, b"a"), ["a"], [("no value at all", 2)]),
        (b'at,n,"y",\"two\nlines\"\n' + LINE % (1, b"a,") + LINE % (2, b'"b\nc",x'), ["a", "b\nc"], []),
        (b"\xef\xbb\xbf" + HEAD.replace(b"\n", b"\r\n") + LINE % (1, b"a"), ["a"], []),
        ((HEAD + LINE % (1, b"a")).replace(b"\n", b"\r"), ["a"], []),
        (HEAD + LINE % (1, b"a\x00b"), ["a\x00b"], []),
        (HEAD + LINE % (1, b'say "a"'), ['say "a"'], []),
        (HEAD + LINE % (1, b"\xff") + LINE % (2, b"b"), ["b"], [("y is not UTF-8: ?", 2)]),
        (HEAD + LINE % (1, b"\xff,\xfe") + LINE % (2, b"\xc3\xbc"), ["ü"], [("4 fields instead of 3", 2)]),
        (HEAD + b'x\n' + LINE % (1, b'"a\nb"') + b"y,\n", ["a\nb"],
         [("1 fields instead of 3", 2), ("2 fields instead of 3", 4)]),
        (HEAD + (LINE % (1, b"a"))[:-1], ["a"], []),
        (HEAD, [], []),
        (HEAD[:-1], [], []),
    ],
)  # fmt: skip
def test_no_line_of_a_csv_file_is_lost(
    tmp_path: Path, content: bytes, texts: list[str], letters: list[tuple[str, int]]
) -> None:
    found = stored(csv(tmp_path, content))
    assert [row["y"] for row in found.rows] == texts
    assert [reason for reason, _ in found.letters] == [f"{why} (r/0.csv, row {row})" for why, row in letters]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            HEAD + LINE % (1, b"a") + LINE % (2, b'"b') + LINE % (3, b"c"),
            "0.csv:3: found a quote that is",
        ),
        (
            HEAD + LINE % (1, b'"a\nb"') + LINE % (2, b"c") + b'x,"',
            "0.csv:5: found a quote that is not closed",
        ),
        (b'at,n,"y\n' + LINE % (1, b"a"), "0.csv:1: found unexpected end of data, expected a header line"),
        (b"", "0.csv:1: found an empty file, expected a header line"),
        (b"\n" + HEAD, "0.csv:1: found a blank line, expected a header line"),
        (b"at,n,n,y\n", "0.csv:1: found column n twice, expected distinct column names"),
        (b"AT,n,y\n", "0.csv:1: at: found only the columns AT, n, y, expected a column at of type timestamp"),
    ],
)
def test_a_csv_file_that_cannot_be_taken_apart(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refused(csv(tmp_path, content))


def test_numbers_of_rows_go_on_from_block_to_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that do not fit are told in their place, though the reader is ahead of the table."""
    monkeypatch.setattr("jobs.sources.files.csv_lines._BLOCK_BYTES", 256)
    lines = [LINE % (n, b"a") if n % 5 else b"misfit %d\n" % n for n in range(2, 500)]
    found = stored(csv(tmp_path, HEAD + b"".join(lines)))
    assert [row["n"] for row in found.rows] == [n for n in range(2, 500) if n % 5]
    assert found.letters == [
        (f"1 fields instead of 3 (r/0.csv, row {n})", f"misfit {n}") for n in range(5, 500, 5)
    ]


def test_a_quote_left_open_for_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.sources.files.csv_lines._BLOCK_BYTES", 256)
    told = refused(csv(tmp_path, HEAD + LINE % (1, b"a") * 5 + LINE % (1, b'"a') + LINE % (2, b"b") * 50))
    assert "a line longer than 256 bytes, or a quote that is not closed" in told
