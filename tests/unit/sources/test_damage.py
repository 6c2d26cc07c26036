"""Files whose bytes were flipped, cut off or repeated: read exactly, set aside row by row, or refused.

Refused means one line that names the file. The reference reads the same damaged bytes with pyarrow and takes
them apart in Python, so that what is read is what is there.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType as C
from optimizer.physical.graph import GraphStream
from tests.unit.sources.stored import Stored, in_numbers, one_of_each, read_stored

EXAMPLES = int(os.environ.get("MILLRACE_FUZZ_EXAMPLES", "150"))
STREAM = one_of_each()
Change = Callable[[bytes], bytes]
TYPES = {
    "at": pa.timestamp("ms"),
    "bigint": pa.int32(),
    "int": pa.int16(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "binary": pa.binary(),
    "uuid": pa.uuid(),
    "time": pa.time64("us"),
}


def rows(count: int) -> pa.Table:
    numbers = [None if n % 7 == 3 else n for n in range(count)]
    return pa.table(
        {
            "at": pa.array([1_700_000_000_000 + 1000 * n for n in range(count)], TYPES["at"]),
            "bigint": pa.array(numbers, TYPES["bigint"]),
            "int": pa.array(numbers, TYPES["int"]),
            "double": pa.array([None if n is None else n / 4 for n in numbers], TYPES["double"]),
            "string": pa.array([None if n is None else f"täxt {n}" for n in numbers], TYPES["string"]),
            "boolean": pa.array([None if n is None else n % 2 == 0 for n in numbers], TYPES["boolean"]),
            "timestamp": pa.array(numbers, TYPES["timestamp"]),
            "date": pa.array(numbers, TYPES["date"]),
            "binary": pa.array([None if n is None else b"\xff%d" % n for n in numbers], TYPES["binary"]),
            "time": pa.array(numbers, TYPES["time"]),
            "uuid": pa.array([None if n is None else UUID(int=n).bytes for n in numbers], TYPES["uuid"]),
        }
    )


def parquet(**options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows(40), sink, row_group_size=16, **options)
    return sink.getvalue()


PARQUETS = {
    "plain": parquet(compression="NONE", use_dictionary=False),
    "snappy": parquet(),
    "checksums": parquet(compression="NONE", write_page_checksum=True),
    "pages of version 2": parquet(compression="zstd", data_page_version="2.0", use_dictionary=False),
    "int96": parquet(use_deprecated_int96_timestamps=True, compression="NONE"),
    "without the schema of Arrow": parquet(store_schema=False, compression="NONE"),
}


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Up to three bytes get another value, something is cut off, left out, or there twice."""
    kind = draw(st.sampled_from(["flip", "flip", "flip", "flip", "cut", "leave out", "repeat"]))
    at = draw(st.floats(0, 1, exclude_max=True))
    length = draw(st.integers(1, 24))
    flips = draw(
        st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=3)
    )

    def change(content: bytes) -> bytes:
        first = int(at * len(content))
        match kind:
            case "cut":
                return content[:first]
            case "leave out":
                return content[:first] + content[first + length :]
            case "repeat":
                return content[: first + length] + content[first:]
            case _:
                changed = bytearray(content)
                for place, value in flips:
                    changed[int(place * len(content))] ^= value
                return bytes(changed)

    return change


def attempt(folder: Path, name: str, content: bytes, stream: GraphStream = STREAM) -> Stored | None:
    """What is read of the file; None if it was refused, in the way it should be."""
    folder = folder / f"{len(os.listdir(folder))}"
    (folder / "r").mkdir(parents=True)
    path = folder / "r" / name
    path.write_bytes(content)
    try:
        return read_stored(folder, stream, folder / "staging")
    except InputError as error:
        told = str(error)
        assert "\n" not in told
        assert len(told) < len(str(path)) + 500
        assert str(path) in told, told
        assert "found" in told
        assert "expected" in told
        return None


def expected_rows(content: bytes) -> tuple[list[dict[str, Any]], int]:
    """The rows that fit the stream, and how many do not, by pyarrow and Python."""
    file = pq.ParquetFile(io.BytesIO(content), coerce_int96_timestamp_unit="us")
    accepted, broken = [], 0
    for group in range(file.num_row_groups):
        # Row group by row group: over all of them at once pyarrow may pass over what one of them lacks.
        stored = file.read_row_group(group, columns=list(TYPES), use_threads=False).select(list(TYPES))
        place = stored.column_names.index("string")
        if pa.types.is_dictionary(stored.column("string").type):
            stored = stored.set_column(place, "string", stored.column("string").cast(pa.string()))
        raw = [
            chunk.view(pa.binary() if pa.types.is_string(chunk.type) else pa.large_binary())
            for chunk in stored.column("string").chunks
        ]
        units = {n: stored.column(n).type.unit for n in ("at", "timestamp")}
        stored = in_numbers(stored.set_column(place, "string", pa.chunked_array(raw, pa.binary())))
        for row in stored.to_pylist():
            fits = True
            row["uuid"] = row["uuid"] and str(row["uuid"])
            fits = row["time"] is None or 0 <= row["time"] < 86_400_000_000
            for name, unit in units.items():
                if row[name] is None:
                    continue
                row[name] = row[name] // 1000 if unit == "ns" else row[name] * {"ms": 1000, "us": 1}[unit]
                fits = fits and -(2**63) < row[name] < 2**63
            try:
                row["string"] = None if row["string"] is None else row["string"].decode()
            except UnicodeDecodeError:
                fits = False
            accepted += [row] if fits else []
            broken += not fits
    return accepted, broken


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


@pytest.mark.parametrize("kind", PARQUETS)
def test_undamaged_files_are_read_exactly(kind: str, folder: Path) -> None:
    stored = attempt(folder, "0.parquet", PARQUETS[kind])
    assert stored is not None
    assert (stored.rows, len(stored.letters)) == expected_rows(PARQUETS[kind])
    assert len(stored.rows) == 40


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.sampled_from(sorted(PARQUETS)), changes())
def test_damaged_parquet(folder: Path, kind: str, change: Change) -> None:
    content = change(PARQUETS[kind])
    stored = attempt(folder, "0.parquet", content)
    if stored is None:
        return
    accepted, broken = expected_rows(content)
    assert repr(stored.rows) == repr(accepted)
    assert len(stored.letters) == broken
    assert all("(r/0.parquet, row " in reason for reason, _ in stored.letters)


TEXT = GraphStream("r", "at", (("at", C.TIMESTAMP), ("n", C.INT), ("y", C.STRING)), 0, "drop")


def csv_file(line_end: str, mark: bytes = b"") -> bytes:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator=line_end)
    writer.writerow(["at", "n", "y", "other"])
    for n in range(30):
        at = datetime.fromtimestamp(1_700_000_000 + n, UTC).isoformat()
        writer.writerow([at, n, ("täxt, %d", 'say "%d"', "two\nlines %d")[n % 3] % n, ""])
    return mark + sink.getvalue().encode()


CSVS = {"lf": csv_file("\n"), "crlf": csv_file("\r\n"), "bom": csv_file("\n", b"\xef\xbb\xbf")}


@pytest.mark.parametrize("kind", CSVS)
def test_undamaged_csv(kind: str, folder: Path) -> None:
    stored = attempt(folder, "0.csv", CSVS[kind], TEXT)
    assert stored is not None
    assert stored.letters == []
    assert [row["n"] for row in stored.rows] == list(range(30))
    assert stored.rows[2]["y"] == "two\nlines 2"


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    st.sampled_from(sorted(CSVS)),
    changes(),
    st.none() | st.sampled_from([b'"', b"\n\n", b"\xff", b"\x00", b",", b"\r"]),
)
def test_damaged_csv_loses_no_line(folder: Path, kind: str, change: Change, more: bytes | None) -> None:
    content = change(CSVS[kind])
    if more is not None:
        middle = len(content) // 2
        content = content[:middle] + more + content[middle:]
    stored = attempt(folder, "0.csv", content, TEXT)
    if stored is None:
        return
    # Python's reader joins and splits lines as the format's quotes say; it knows no header and drops nothing.
    text = content.decode("latin1")
    assert len(stored.rows) + len(stored.letters) == lines_of(text)
    assert all("(r/0.csv, row " in reason for reason, _ in stored.letters)


def lines_of(text: str) -> int:
    """Rows behind the header: line ends outside of quotes, where quotes count only at a field's beginning."""
    count, quoted, fresh, position = 0, False, True, 0
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.endswith("\n"):
        text += "\n"
    while position < len(text):
        mark = text[position]
        if quoted:
            if mark == '"':
                if text[position + 1 : position + 2] == '"':
                    position += 1
                else:
                    quoted = False
        elif mark == '"' and fresh:
            quoted = True
            fresh = False
            position += 1
            continue
        elif mark == "\n":
            count += 1
        fresh = not quoted and mark in ",\n"
        position += 1
    return count - 1
