"""Tuples of files are sent from a stream's page: CSV and Parquet, with all their digits."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import barriers


@contextmanager
def sending(page: Page, name: str, columns: Mapping[str, str]) -> Iterator[Locator]:
    """The open form of a stream that is there meanwhile."""
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": page.url}
    declared = [{"name": column, "type": kind} for column, kind in columns.items()]
    made = page.request.post(
        "/api/streams/", data={"name": name, "event_time": "at", "columns": declared}, headers=headers
    )
    assert made.ok, made.text()
    page.goto(f"/streams/{name}/")
    page.get_by_role("button", name="Send tuples").click()
    yield page.get_by_role("form", name=f"Send tuples to {name}")
    deleted = page.request.delete(f"/api/streams/{name}/", headers=headers)
    assert deleted.ok, deleted.text()


def test_tuples_of_a_file_are_sent_from_the_page(page: Page, axe: str, tmp_path: Path) -> None:
    with sending(page, "planes", {"at": "timestamp", "airport": "string", "seats": "bigint"}) as form:
        file = tmp_path / "planes.csv"
        file.write_text("at,airport,seats\n2026-01-01T10:00:00Z,EWR,many\n2026-01-01T10:01:00Z,JFK,\n")
        form.get_by_label("Or a file of them").set_input_files(file)
        form.get_by_role("button", name="Send").click()
        expect(form.get_by_role("alert")).to_have_text("Tuple 1, seats: found many, expected a bigint.")
        assert barriers(page, axe) == []
        text = form.get_by_label("Tuples: JSON")
        text.fill(text.input_value().replace("many", "9007199254740993"))
        form.get_by_role("button", name="Send").click()
        expect(form.get_by_role("status")).to_have_text("2 tuples sent.")
        expect(text).to_have_value("")
        newest = page.get_by_label("Newest tuples of planes")
        expect(newest).to_contain_text("9007199254740993")
        expect(newest.get_by_role("row")).to_have_count(3)


EXACT = {
    "at": "timestamp",
    "id": "bigint",
    "price": "decimal(38,10)",
    "cents": "decimal(9,2)",
    "seats": "int",
    "share": "double",
    "day": "date",
    "raw": "binary",
    "ok": "boolean",
    "name": "string",
    "clock": "time",
    "alarm": "time",
    "key": "uuid",
}
TUPLES = pa.table(
    {
        "at": pa.array([1_767_261_600_123_456, -1], pa.timestamp("us")),
        "id": pa.array([9_007_199_254_740_993, -(2**63)], pa.int64()),
        "price": pa.array([Decimal("1234567890123456789012345678.0123456789"), Decimal("-0.0000000001")]),
        "cents": pa.array([Decimal("-12.05"), None], pa.decimal128(9, 2)),
        "seats": pa.array([7, None], pa.int32()),
        "share": pa.array([0.1, -0.0]),
        "day": pa.array([date(1969, 7, 20), None]),
        "raw": pa.array([b"\x00\xff", b""], pa.binary()),
        "ok": pa.array([True, None]),
        "name": pa.array(["Zürich", None]),
        "clock": pa.array([time(23, 59, 59, 999_999), None]),
        "alarm": pa.array([time(7, 30), time(0, 0, 0, 5000)], pa.time32("ms")),
        "key": pa.array([UUID(int=1).bytes, None], pa.uuid()),
    }
)


BEGIN = pa.array([1_767_225_600_000], pa.timestamp("ms", "UTC"))
EXPECTED = [
    {
        "at": "2026-01-01T10:00:00.123456Z",
        "id": 9_007_199_254_740_993,
        "price": "1234567890123456789012345678.0123456789",
        "cents": "-12.05",
        "seats": 7,
        "share": 0.1,
        "day": "1969-07-20",
        "raw": base64.b64encode(b"\x00\xff").decode(),
        "ok": True,
        "name": "Zürich",
        "clock": "23:59:59.999999",
        "alarm": "07:30:00",
        "key": "00000000-0000-0000-0000-000000000001",
    },
    {
        "at": "1969-12-31T23:59:59.999999Z",
        "id": -(2**63),
        "price": "-0.0000000001",
        "cents": None,
        "seats": None,
        "share": 0.0,
        "day": None,
        "raw": "",
        "ok": None,
        "name": None,
        "clock": None,
        "alarm": "00:00:00.005000",
        "key": None,
    },
]


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", "none"])
def test_parquet_keeps_all_digits(page: Page, tmp_path: Path, codec: str) -> None:
    file = tmp_path / "exact.parquet"
    # Decimals are integers or bytes, and moments of 64 bits or 96, as whoever writes likes.
    pq.write_table(
        TUPLES,
        file,
        compression=codec,
        store_decimal_as_integer=codec == "zstd",
        use_deprecated_int96_timestamps=codec == "gzip",
    )
    with sending(page, "exact", EXACT) as form:
        form.get_by_label("Or a file of them").set_input_files(file)
        form.get_by_role("button", name="Send").click()
        expect(form.get_by_role("status")).to_have_text("2 tuples sent.")
        found = page.request.get("/api/streams/exact/sample/?limit=10").json()["rows"]
    assert found[::-1] == EXPECTED


def test_parquet_that_cannot_be_sent_says_why(page: Page, tmp_path: Path) -> None:
    with sending(page, "some", {"at": "timestamp", "n": "double"}) as form:

        def told(name: str, column: str, values: pa.Array, codec: str = "snappy") -> Locator:
            file = tmp_path / name
            pq.write_table(pa.table({"at": BEGIN, column: values}), file, compression=codec)
            form.get_by_label("Or a file of them").set_input_files(file)
            return form.get_by_role("alert")

        lists = told("lists.parquet", "n", pa.array([[1.0]]))
        expect(lists).to_have_text("n holds an object or a list, which no column can.")
        expect(told("brotli.parquet", "n", pa.array([1.0]), "brotli")).to_contain_text("BROTLI")
        infinite = told("infinite.parquet", "n", pa.array([float("inf")]))
        expect(infinite).to_have_text("Tuple 1, n: found Infinity, which no JSON number is.")
        damaged = tmp_path / "damaged.parquet"
        damaged.write_bytes(b"PAR1 and nothing more")
        form.get_by_label("Or a file of them").set_input_files(damaged)
        expect(form.get_by_role("alert")).to_have_text("It is no Parquet file, or a damaged one.")
        told("other.parquet", "m", pa.array([1.0]))
        form.get_by_role("button", name="Send").click()
        expect(form.get_by_role("alert")).to_have_text("some has no column m; it has at, n.")
