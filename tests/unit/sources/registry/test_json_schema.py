"""JSON values whose writers change their schemas."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from jobs.sources.registry.client import Schemas
from optimizer.algebra.types import ColumnType
from tests.registry.stand_in import StandIn, framed
from tests.unit.sources.registry.reading import read_values

COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    ("n", ColumnType.BIGINT),
    ("price", ColumnType.decimal(20, 2)),
)
AT = {"type": "string", "format": "date-time"}
NOON = "2026-01-01T12:00:00Z"


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def written(number: int, row: dict[str, Any]) -> bytes:
    return framed(number, json.dumps(row).encode())


def test_a_writer_that_adds_a_column_amid_a_batch(registry: StandIn, schemas: Schemas) -> None:
    old = registry.register("t-value", of(at=AT, n={"type": "integer"}), "JSON")
    new = registry.register("t-value", of(at=AT, n={"type": "integer"}, price={}, more={}), "JSON")
    values = [
        written(old, {"at": NOON, "n": 1}),
        framed(new, b'{"at": "2026-01-01T12:00:00Z", "n": 2, "price": 123456789012345678.25, "more": [1]}'),
        written(old, {"at": NOON, "n": 3}),
    ]
    rows, reasons = read_values(values, "json", COLUMNS, schemas)
    assert reasons == []
    assert [(row["n"], row["price"]) for row in rows] == [
        (1, None),
        (2, Decimal("123456789012345678.25")),
        (3, None),
    ]
    assert rows[0]["at"] == datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_other_types_are_told_with_both(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register(
        "t-value",
        of(n={"type": ["null", "string"]}, price={"oneOf": [{"type": "null"}, {"$ref": "#/x"}]}),
        "JSON",
    )
    values = [
        written(number, {"n": "seven"}),
        written(number, {"price": {}}),
        written(number, {"at": "yesterday"}),
        framed(number, b"[]"),
        framed(number, b"{"),
        framed(99, b"{}"),
    ]
    rows, reasons = read_values(values, "json", COLUMNS, schemas)
    assert rows == []
    assert reasons == [
        "n is not bigint: 'seven', null or string in schema 1",
        "price is not decimal(20,2): {}, null or #/x in schema 1",
        "at is not timestamp: 'yesterday', nothing in schema 1",
        "not a record",
        "not JSON",
        "schema 99 is not in the registry: Schema 99 not found",
    ]


def test_an_event_time_that_neither_schema_nor_value_has(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register("t-value", of(n={"type": "integer"}), "JSON")
    values = [written(number, {"n": 1}), written(number, {"n": 2, "at": NOON})]
    rows, reasons = read_values(values, "json", COLUMNS, schemas, "at")
    assert [row["n"] for row in rows] == [2]
    assert reasons == ["schema 1 has no at, which is the event time"]
