"""What an Iceberg table has of results: snapshots that say whose they are, and changing columns."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table.snapshots import Snapshot

from jobs.sinks.connector import BatchResults
from jobs.sinks.iceberg.snapshots import SnapshotSink
from optimizer.udf.arrow import as_uuids
from tests.sinks.test_tables import MOMENT, batch


@pytest.fixture
def lake(catalog: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Catalog:
    properties = {name.rpartition("__")[2].lower(): value for name, value in catalog.items() if "__" in name}
    # pyiceberg reads its environment once, when it is imported.
    monkeypatch.setattr(
        "jobs.sinks.iceberg.snapshots.load_catalog", lambda name: load_catalog(name, **properties)
    )
    return load_catalog("lake", **properties)


def said(snapshot: Snapshot) -> dict[str, str]:
    """Our properties of a snapshot."""
    assert snapshot.summary is not None
    found = snapshot.summary.additional_properties
    return {name: value for name, value in found.items() if name.startswith("millrace.")}


def test_a_batch_is_one_snapshot_that_says_what_it_is(lake: Catalog, tmp_path: Path) -> None:
    sink = SnapshotSink("lake", "live", "{query}", "c", None)
    assert sink.connect() == -1
    columns = {
        "n": pa.array([1, None], pa.int64()),
        "at": pa.array([0, 2**63 - 1], pa.int64()).cast(MOMENT),
        "wait": pa.array([1_500_000, None], pa.duration("us")),
        "text": pa.array(["ü", ""]),
        "raw": pa.array([b"\0", None], pa.large_binary()),
    }
    first = batch(tmp_path, 3, pa.table(columns), "a.b")
    sink.publish(BatchResults(first.batch, first.files, {"a.b": 17}))
    sink.publish(first)
    verified = {"a.b": 1_356_998_400_000_000, "other": 1}
    sink.publish(replace(batch(tmp_path, 4, pa.table(columns), "a.b"), verified_until_us=verified))
    ((_, name),) = lake.list_tables("live")
    table = lake.load_table(("live", name))
    assert table.scan().to_arrow().column("wait").to_pylist() == [1_500_000, None] * 2
    of = {"millrace.checkpoint": "c", "millrace.query": "a.b"}
    assert [said(snapshot) for snapshot in table.snapshots()] == [
        {**of, "millrace.batch": "3", "millrace.complete-since-us": "17"},
        # Until when it is verified is told where it is known.
        {**of, "millrace.batch": "4", "millrace.verified-until-us": "1356998400000000"},
    ]


def test_decimals_keep_their_digits(lake: Catalog, tmp_path: Path) -> None:
    sink = SnapshotSink("lake", "live", "{query}", "c", None)
    sink.connect()
    columns = {
        "price": pa.array([Decimal("-0.01"), Decimal("9999999999.99"), None], pa.decimal128(12, 2)),
        "wide": pa.array([Decimal("-" + "9" * 38), Decimal(10**37), None], pa.decimal128(38, 0)),
        "fine": pa.array([Decimal("0." + "1" * 38), Decimal(0), None], pa.decimal128(38, 38)),
    }
    for number in range(2):
        # The same types fit the table that is there.
        sink.publish(batch(tmp_path, number, pa.table(columns), "q"))
    table = lake.load_table("live.q")
    assert [str(field.field_type) for field in table.schema().fields] == [
        "decimal(12, 2)",
        "decimal(38, 0)",
        "decimal(38, 38)",
    ]
    stored = pa.table(columns).to_pylist()
    assert sorted(table.scan().to_arrow().to_pylist(), key=str) == sorted(stored * 2, key=str)


def test_columns_come_and_change(lake: Catalog, tmp_path: Path) -> None:
    sink = SnapshotSink("lake", "live", "{query}", "c", 1e-9)
    sink.connect()
    sink.publish(batch(tmp_path, 0, pa.table({"n": [1]}), "q"))
    sink.publish(batch(tmp_path, 1, pa.table({"n": [2], "s": ["a"]}), "q"))
    rows = lake.load_table("live.q").scan().to_arrow().sort_by("n").to_pylist()
    assert rows == [{"n": 1, "s": None}, {"n": 2, "s": "a"}]
    sink.publish(batch(tmp_path, 2, pa.table({"n": ["text"]}), "q"))
    assert lake.load_table("live.q").scan().to_arrow().to_pylist() == [{"n": "text"}]
    assert lake.load_table("live.q_before_2").scan().to_arrow().num_rows == 2


def test_old_snapshots_are_forgotten_and_rows_stay(lake: Catalog, tmp_path: Path) -> None:
    SnapshotSink("lake", "live", "{query}", "c", None).connect()
    for number in range(3):
        # A process of its own for each: one forgets snapshots every ten minutes.
        sink = SnapshotSink("lake", "live", "{query}", "c", 1e-9)
        sink.connect()
        sink.publish(batch(tmp_path, number, pa.table({"n": [number]}), "q"))
    table = lake.load_table("live.q")
    assert len(table.snapshots()) < 3
    assert sorted(table.scan().to_arrow().column("n").to_pylist()) == [0, 1, 2]


def test_uuids_are_uuids(lake: Catalog, tmp_path: Path) -> None:
    sink = SnapshotSink("lake", "live", "{query}", "c", None)
    sink.connect()
    texts = pa.chunked_array([["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None]])
    rows = pa.table({"id": as_uuids(texts)})
    for number in range(2):
        sink.publish(batch(tmp_path, number, rows, "q"))
    table = lake.load_table("live.q")
    assert [str(field.field_type) for field in table.schema().fields] == ["uuid"]
    found = [str(row["id"]) for row in table.scan().to_arrow().to_pylist()]
    assert sorted(found) == ["None", "None", *["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"] * 2]
