"""Avro values whose writers change their schemas."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from jobs.sources.connector import Away
from jobs.sources.registry.client import Schemas
from optimizer.algebra.types import ColumnType
from tests.registry.stand_in import StandIn, framed
from tests.unit.sources.registry.reading import read_values

AT = {"type": "long", "logicalType": "timestamp-micros"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    ("n", ColumnType.BIGINT),
    ("note", ColumnType.STRING),
)


def record(*fields: tuple[str, Any], name: str = "t") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": kind} for n, kind in fields]}


def written(number: int, schema: dict[str, Any], row: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), row)
    return framed(number, body.getvalue())


OLD = record(("at", AT), ("n", "long"))
NEW = record(("at", AT), ("n", "long"), ("note", ["null", "string"]), ("more", "double"))


def test_a_writer_that_adds_a_column_amid_a_batch(registry: StandIn, schemas: Schemas) -> None:
    """Older values have NULL there, and what no column is called is passed over."""
    old, new = registry.register("t-value", OLD), registry.register("t-value", NEW)
    values = [
        written(old, OLD, {"at": NOON, "n": 1}),
        written(new, NEW, {"at": NOON, "n": 2, "note": "x", "more": 0.5}),
        written(old, OLD, {"at": NOON, "n": 3}),
    ]
    rows, reasons = read_values(values, "avro", COLUMNS, schemas)
    assert [(row["n"], row["note"]) for row in rows] == [(1, None), (2, "x"), (3, None)]
    assert reasons == []
    assert len(registry.asked) == 2


def test_a_batch_that_is_read_again_gives_the_same_without_the_registry(
    registry: StandIn, schemas: Schemas
) -> None:
    number = registry.register("t-value", OLD)
    values = [written(number, OLD, {"at": NOON, "n": n}) for n in range(3)]
    before = read_values(values, "avro", COLUMNS, schemas)
    registry.stop()
    assert read_values(values, "avro", COLUMNS, schemas) == before


def test_another_type_is_told_with_both_types_and_the_number(registry: StandIn, schemas: Schemas) -> None:
    text = record(("at", AT), ("n", ["null", "string"]))
    bare = record(("at", "long"), ("n", "long"))
    numbers = registry.register("t-value", text), registry.register("t-value", bare)
    values = [
        written(numbers[0], text, {"at": NOON, "n": "seven"}),
        written(numbers[0], text, {"at": NOON, "n": None}),
        written(numbers[1], bare, {"at": 5, "n": 8}),
    ]
    rows, reasons = read_values(values, "avro", COLUMNS, schemas)
    assert [row["n"] for row in rows] == [None]
    assert reasons == [
        "n is not bigint: 'seven', null or string in schema 1",
        "at is not timestamp: 5, long in schema 2",
    ]


def test_the_event_time_has_to_be_in_the_schema(registry: StandIn, schemas: Schemas) -> None:
    schema = record(("n", "long"))
    number = registry.register("t-value", schema)
    rows, reasons = read_values([written(number, schema, {"n": 1})], "avro", COLUMNS, schemas, "at")
    assert (rows, reasons) == ([], ["schema 1 has no at, which is the event time"])


def test_logical_types_are_the_columns_types(registry: StandIn, schemas: Schemas) -> None:
    schema = record(
        ("at", {"type": "long", "logicalType": "timestamp-millis"}),
        ("day", {"type": "int", "logicalType": "date"}),
        ("price", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
        ("kind", {"type": "enum", "name": "kind", "symbols": ["A", "B"]}),
        ("raw", {"type": "fixed", "name": "raw", "size": 2}),
    )
    columns = (
        ("at", ColumnType.TIMESTAMP),
        ("day", ColumnType.DATE),
        ("price", ColumnType.decimal(9, 2)),
        ("kind", ColumnType.STRING),
        ("raw", ColumnType.BINARY),
    )
    row = {"at": NOON, "day": date(2026, 1, 2), "price": Decimal("12.50"), "kind": "B", "raw": b"\1\2"}
    number = registry.register("t-value", schema)
    rows, reasons = read_values([written(number, schema, row)], "avro", columns, schemas)
    assert (rows, reasons) == ([row], [])


def test_types_of_other_schemas(registry: StandIn, schemas: Schemas) -> None:
    """Also where what is referred to refers on, and is asked for by version."""
    amount = {"type": "fixed", "name": "x.Amount", "size": 1}
    pair = record(("left", "x.Amount"), ("right", "x.Amount"), name="x.Pair")
    outer = record(("pair", "x.Pair"), ("only", "x.Amount"))
    registry.register("amount", {"type": "enum", "name": "x.Amount", "symbols": ["NO"]})
    registry.register("amount", amount)
    registry.register("pair", pair, references=(("x.Amount", "amount", 2),))
    references = (("x.Pair", "pair", 1), ("x.Amount", "amount", 2))
    number = registry.register("t-value", outer, references=references)
    value = framed(number, b"abc")
    rows, reasons = read_values([value], "avro", (("only", ColumnType.BINARY),), schemas)
    assert (rows, reasons) == ([{"only": b"c"}], [])


def test_what_cannot_be_read_is_a_dead_letter_each(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register("t-value", OLD)
    strange = registry.register("t-value", record(("n", "x.Nowhere")))
    number_alone = registry.register("t-value", '"long"')
    text = registry.register("t-value", "{")
    other_kind = registry.register("t-value", {"type": "object"}, "JSON")
    lacking = registry.register("t-value", record(("n", "x.A")), references=(("x.A", "gone", 3),))
    whole = written(number, OLD, {"at": NOON, "n": 1})
    numbers = (99, strange, number_alone, text, other_kind, lacking)
    values = [None, b"", b"\1\0\0\0\1", whole[:-1], whole + b"x", *(framed(n, b"") for n in numbers), whole]
    rows, reasons = read_values(values, "avro", COLUMNS, schemas)
    assert [row["n"] for row in rows] == [1]
    assert reasons[:3] == ["no value", *["no schema's number before the value"] * 2]
    assert reasons[3].startswith("not Avro of schema 1: ")
    assert reasons[4:7] == [
        "not Avro of schema 1: 1 bytes too many",
        "schema 99 is not in the registry: Schema 99 not found",
        "schema 2 cannot be used: x.Nowhere is neither in it nor among its references",
    ]
    assert reasons[7] == "schema 3 cannot be used: it is of long instead of a record"
    assert reasons[8].startswith("schema 4 cannot be used: JSONDecodeError: ")
    assert reasons[9] == "schema 5 cannot be used: it is JSON Schema instead of Avro"
    assert reasons[10] == "schema 6 is not in the registry: Subject 'gone' not found."


def test_a_registry_that_is_away_turns_no_value_away(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register("t-value", OLD)
    value = written(number, OLD, {"at": NOON, "n": 1})
    registry.stop()
    with pytest.raises(Away):
        read_values([value], "avro", COLUMNS, schemas)
    registry.start()
    assert read_values([value], "avro", COLUMNS, schemas)[1] == []


def test_a_number_that_comes_later_is_read_in_a_later_batch(registry: StandIn, schemas: Schemas) -> None:
    value = written(1, OLD, {"at": NOON, "n": 1})
    assert read_values([value], "avro", COLUMNS, schemas)[0] == []
    registry.register("t-value", OLD)
    assert len(read_values([value], "avro", COLUMNS, schemas)[0]) == 1
