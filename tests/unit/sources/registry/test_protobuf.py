"""Protobuf values whose writers change their schemas."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass

from jobs.sources.registry.client import Schemas
from jobs.sources.registry.protobuf import ProtobufWriter, message_path
from jobs.sources.registry.values import writer_of
from optimizer.algebra.types import ColumnType
from tests.registry.stand_in import StandIn, framed
from tests.unit.sources.registry.reading import read_values

NOON = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)
COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    ("n", ColumnType.BIGINT),
    ("note", ColumnType.STRING),
)
OLD = """
syntax = "proto3";
package t;
import "google/protobuf/timestamp.proto";
message Row { google.protobuf.Timestamp at = 1; int64 n = 2; }
"""
NEW = """
syntax = "proto3";
package t;
import "google/protobuf/timestamp.proto";
message Other { string text = 1; message Inner { int64 n = 7; } }
message Row {
  google.protobuf.Timestamp at = 1;
  int64 n = 2;
  optional string note = 3;
  repeated double more = 4;
}
"""


def written(schemas: Schemas, number: int, path: tuple[int, ...], row: dict[str, Any]) -> bytes:
    """A value as the registry's own serializers write it."""
    writer = writer_of("protobuf", number, schemas)
    assert isinstance(writer, ProtobufWriter)
    message = GetMessageClass(writer.message(path))(**row)
    place = b"\0" if path == (0,) else bytes(2 * n for n in (len(path), *path))
    return framed(number, place + message.SerializeToString())


def test_a_writer_that_adds_a_column_amid_a_batch(registry: StandIn, schemas: Schemas) -> None:
    old = registry.register("t-value", OLD, "PROTOBUF")
    new = registry.register("t-value", NEW, "PROTOBUF")
    values = [
        written(schemas, old, (0,), {"at": NOON, "n": 1}),
        written(schemas, new, (1,), {"at": NOON, "n": 2, "note": "x", "more": [1.0]}),
        written(schemas, new, (1,), {"at": NOON}),
    ]
    rows, reasons = read_values(values, "protobuf", COLUMNS, schemas)
    assert reasons == []
    assert rows == [
        {"at": NOON, "n": 1, "note": None},
        {"at": NOON, "n": 2, "note": "x"},
        {"at": NOON, "n": 0, "note": None},
    ]


def test_a_nested_message_is_found_by_its_path(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register("t-value", NEW, "PROTOBUF")
    values = [
        written(schemas, number, (0, 0), {"n": 9}),
        framed(number, bytes([2, 8])),
        framed(number, bytes([4, 2, 0])),
        framed(number, b""),
        framed(number, b"\xff" * 12),
    ]
    rows, reasons = read_values(values, "protobuf", (("n", ColumnType.BIGINT),), schemas)
    assert rows == [{"n": 9}]
    assert reasons == [
        "no message 4 in schema 1",
        "no message 1.0 in schema 1",
        "no message's place before the value, of schema 1",
        "no message's place before the value, of schema 1",
    ]


@pytest.mark.parametrize("body", [b"", b"\x80", bytes([4, 2]), bytes([3, 0])])
def test_a_path_that_is_none(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"place|number"):
        message_path(body)


def test_other_types_are_told_with_both(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register("t-value", NEW, "PROTOBUF")
    columns = (("note", ColumnType.BIGINT), ("more", ColumnType.DOUBLE), ("at", ColumnType.STRING))
    for column, row in (("note", {"note": "x"}), ("more", {"more": [1.5]}), ("at", {"at": NOON})):
        wanted = tuple(one for one in columns if one[0] == column)
        _, reasons = read_values([written(schemas, number, (1,), row)], "protobuf", wanted, schemas)
        kinds = {"note": "string", "more": "repeated double", "at": "google.protobuf.Timestamp"}
        assert reasons[0].startswith(f"{column} is not {wanted[0][1]}: ")
        assert reasons[0].endswith(f", {kinds[column]} in schema 1")


def test_messages_that_stand_for_a_value(registry: StandIn, schemas: Schemas) -> None:
    schema = """
        syntax = "proto3";
        import "google/protobuf/wrappers.proto";
        import "google/type/date.proto";
        import "confluent/type/decimal.proto";
        message Row {
          google.type.Date day = 1; confluent.type.Decimal price = 2; google.protobuf.Int64Value n = 3;
          enum Kind { NONE = 0; SOME = 1; } Kind kind = 4; bytes raw = 5; uint64 large = 6; float ratio = 7;
        }
    """
    columns = (
        ("day", ColumnType.DATE),
        ("price", ColumnType.decimal(9, 2)),
        ("n", ColumnType.BIGINT),
        ("kind", ColumnType.STRING),
        ("raw", ColumnType.BINARY),
        ("large", ColumnType.BIGINT),
        ("ratio", ColumnType.DOUBLE),
    )
    number = registry.register("t-value", schema, "PROTOBUF")
    row = {
        "day": {"year": 2026, "month": 2, "day": 28},
        "price": {"value": (-1250).to_bytes(2, "big", signed=True), "scale": 2},
        "n": {"value": 0},
        "kind": 1,
        "raw": b"\1",
        "large": 7,
        "ratio": 0.5,
    }
    values = [
        written(schemas, number, (0,), row),
        written(schemas, number, (0,), {**row, "large": 2**63}),
        written(schemas, number, (0,), {**row, "kind": 5}),
        written(schemas, number, (0,), {**row, "day": {"year": 2026}}),
    ]
    rows, reasons = read_values(values, "protobuf", columns, schemas)
    expected = (date(2026, 2, 28), Decimal("-12.50"), 0, "SOME", b"\1", 7, 0.5)
    assert [tuple(found.values()) for found in rows] == [expected]
    assert reasons[:2] == [
        "large is not bigint: 9223372036854775808, uint64 in schema 1",
        "kind is not string: 5, Row.Kind in schema 1",
    ]
    assert reasons[2].startswith("day is not date: ")


def test_imports_of_other_schemas(registry: StandIn, schemas: Schemas) -> None:
    registry.register("money", 'syntax = "proto3"; package m; message Money { int64 cents = 1; }', "PROTOBUF")
    base = 'syntax = "proto3"; package b; import "m/money.proto"; message Base { m.Money paid = 1; }'
    registry.register("base", base, "PROTOBUF", (("m/money.proto", "money", 1),))
    text = """
        syntax = "proto3"; package t; import "base.proto"; import "m/money.proto";
        message Row { b.Base base = 1; m.Money paid = 2; int64 n = 3; }
    """
    references = (("base.proto", "base", 1), ("m/money.proto", "money", 1))
    number = registry.register("t-value", text, "PROTOBUF", references)
    value = written(schemas, number, (0,), {"paid": {"cents": 5}, "n": 3})
    rows, reasons = read_values([value], "protobuf", (("n", ColumnType.BIGINT),), schemas)
    assert (rows, reasons) == ([{"n": 3}], [])


def test_schemas_that_cannot_be_used(registry: StandIn, schemas: Schemas) -> None:
    numbers = [
        registry.register("t-value", text, "PROTOBUF", references)
        for text, references in (
            ('syntax = "proto3"; import "gone.proto"; message Row {}', ()),
            ('syntax = "proto3"; message Row { Nowhere n = 1; }', ()),
            ("message", ()),
            ('syntax = "proto3"; import "../x.proto"; message Row {}', (("../x.proto", "t-value", 1),)),
        )
    ]
    values = [framed(number, b"\0") for number in numbers]
    _, reasons = read_values(values, "protobuf", COLUMNS, schemas)
    assert "gone.proto: File not found" in reasons[0]
    assert "Nowhere" in reasons[1]
    assert reasons[2].startswith("schema 3 cannot be used: the schema:1:")
    assert reasons[3] == "schema 4 cannot be used: the import '../x.proto' leads out of the schema"


def test_bytes_that_are_no_message(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register("t-value", OLD, "PROTOBUF")
    _, reasons = read_values([framed(number, b"\0\xff")], "protobuf", COLUMNS, schemas)
    assert reasons[0].startswith("not Protobuf of schema 1")


def test_the_event_time_has_to_be_in_the_schema(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register("t-value", NEW, "PROTOBUF")
    value = written(schemas, number, (0,), {"text": "x"})
    rows, reasons = read_values([value], "protobuf", COLUMNS, schemas, "at")
    assert (rows, reasons) == ([], ["schema 1 has no at, which is the event time"])
