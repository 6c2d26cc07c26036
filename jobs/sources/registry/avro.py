"""Avro schemas of the registry, with those that they refer to."""

from __future__ import annotations

import json
from typing import Any

from fastavro import parse_schema
from fastavro.schema import SchemaParseException, UnknownType

from jobs.sources.formats.avro import read_record
from jobs.sources.formats.decode import Columns
from jobs.sources.registry.client import Schema, Schemas
from jobs.sources.registry.columns import SchemaColumn
from jobs.sources.registry.writer import Unusable, Writer, referenced
from optimizer.algebra.types import MOST_DIGITS, ColumnType


class AvroWriter(Writer):
    """An Avro record's schema.

    Raises `Unusable` for what is no record's, and as `Schemas.numbered`.
    """

    def __init__(self, schema: Schema, number: int, schemas: Schemas) -> None:
        self._called = f"schema {number}"
        named: dict[str, Any] = {}
        try:
            for _, other in referenced(schema, schemas):
                parse_schema(json.loads(other.text), named)
            self._schema = parse_schema(json.loads(schema.text), named)
        except UnknownType as error:
            raise Unusable(f"{error.name} is neither in it nor among its references") from error
        except (ValueError, SchemaParseException) as error:
            raise Unusable(f"{type(error).__name__}: {error}"[:200]) from error
        if not isinstance(self._schema, dict) or self._schema.get("type") != "record":
            raise Unusable(f"it is of {type_name(self._schema)} instead of a record")
        self.fields: dict[str, Any] = {field["name"]: field["type"] for field in self._schema["fields"]}

    def record(self, body: bytes, columns: Columns) -> object:
        return read_record(body, self._schema, self._called)

    def type_of(self, body: bytes, column: str) -> str | None:
        return type_name(self.fields[column]) if column in self.fields else None

    def columns(self) -> list[SchemaColumn]:
        return [SchemaColumn(name, type_name(kind), _kinds(kind)) for name, kind in self.fields.items()]


_PLAIN = {
    "int": ColumnType.INT,
    "long": ColumnType.BIGINT,
    "float": ColumnType.DOUBLE,
    "double": ColumnType.DOUBLE,
    "string": ColumnType.STRING,
    "boolean": ColumnType.BOOLEAN,
    "bytes": ColumnType.BINARY,
    "fixed": ColumnType.BINARY,
    "enum": ColumnType.STRING,
}
_LOGICAL = {
    "timestamp-millis": ColumnType.TIMESTAMP,
    "timestamp-micros": ColumnType.TIMESTAMP,
    "local-timestamp-millis": ColumnType.TIMESTAMP,
    "local-timestamp-micros": ColumnType.TIMESTAMP,
    "date": ColumnType.DATE,
    "uuid": ColumnType.UUID,
    "time-millis": ColumnType.TIME,
    "time-micros": ColumnType.TIME,
}
_OTHER_LOGICAL = ("duration",)
"""Whose values are of no column's type."""


def _kinds(schema: Any) -> tuple[ColumnType, ...]:
    """The column types of an Avro type's values."""
    if isinstance(schema, list):
        return tuple(dict.fromkeys(kind for branch in schema for kind in _kinds(branch)))
    if not isinstance(schema, dict):
        return (_PLAIN[schema],) if schema in _PLAIN else ()
    logical, kind = schema.get("logicalType"), schema["type"]
    if logical == "decimal":
        digits = schema["precision"]
        return (ColumnType.decimal(digits, schema.get("scale", 0)),) if digits <= MOST_DIGITS else ()
    if logical in _LOGICAL:
        return (_LOGICAL[logical],)
    return () if logical in _OTHER_LOGICAL or not isinstance(kind, str) else _kinds(kind)


def type_name(schema: Any) -> str:
    """An Avro type for people: a logical type by its name, a union's branches.

    >>> type_name(["null", {"type": "long", "logicalType": "timestamp-millis"}])
    'null or timestamp-millis'
    """
    if isinstance(schema, list):
        return " or ".join(type_name(branch) for branch in schema)
    if not isinstance(schema, dict):
        return str(schema)
    if schema.get("logicalType") == "decimal":
        return f"decimal({schema['precision']},{schema.get('scale', 0)})"
    kind = schema["type"]
    if not isinstance(kind, str):
        return type_name(kind)
    name = schema.get("name")
    return str(schema.get("logicalType") or (f"{kind} {name}" if name else kind))
