"""JSON Schemas of the registry.

A JSON value tells by itself what it says. So the schema neither turns a value away nor has to be complete: it
says what its writer meant, where a value does not fit.
"""

from __future__ import annotations

import json
from typing import Any

from jobs.sources.formats.decode import Columns, json_records
from jobs.sources.registry.client import Schema, Schemas
from jobs.sources.registry.columns import SchemaColumn
from jobs.sources.registry.writer import Unusable, Writer
from optimizer.algebra.types import ColumnType


class JsonWriter(Writer):
    """A JSON Schema. Raises `Unusable` for text that is none."""

    def __init__(self, schema: Schema, number: int, schemas: Schemas) -> None:
        try:
            document = json.loads(schema.text)
        except ValueError as error:
            raise Unusable(f"it is no JSON ({error})") from error
        found = document.get("properties", {}) if isinstance(document, dict) else {}
        self.properties: dict[str, Any] = found if isinstance(found, dict) else {}

    def record(self, body: bytes, columns: Columns) -> object:
        return json_records([body], columns)[0]

    def type_of(self, body: bytes, column: str) -> str | None:
        return type_name(self.properties[column]) if column in self.properties else None

    def columns(self) -> list[SchemaColumn]:
        return [_column(name, schema) for name, schema in self.properties.items()]


_TYPES = {
    "integer": ColumnType.BIGINT,
    "number": ColumnType.DOUBLE,
    "string": ColumnType.STRING,
    "boolean": ColumnType.BOOLEAN,
}
_FORMATS = {"date-time": ColumnType.TIMESTAMP, "date": ColumnType.DATE, "uuid": ColumnType.UUID}
_READ = (
    ColumnType.TIMESTAMP,
    ColumnType.DATE,
    ColumnType.BINARY,
    ColumnType.UUID,
    ColumnType.TIME,
    ColumnType.STRING,
)
"""What text may be read as."""


def _column(name: str, schema: Any) -> SchemaColumn:
    found = type_name(schema)
    kind = schema.get("type") if isinstance(schema, dict) else None
    names = [one for one in (kind if isinstance(kind, list) else [kind]) if one != "null"]
    if not all(isinstance(one, str) for one in names):
        return SchemaColumn(name, found, None)
    kinds = tuple(_TYPES[one] for one in names if one in _TYPES)
    if kinds == (ColumnType.STRING,):
        return SchemaColumn(name, found, (_FORMATS.get(schema.get("format"), ColumnType.STRING),), _READ)
    return SchemaColumn(name, found, kinds, _READ if ColumnType.STRING in kinds else ())


def type_name(schema: Any) -> str:
    """A property's type for people.

    >>> type_name({"type": ["null", "string"], "format": "date-time"})
    'null or string (date-time)'
    """
    if not isinstance(schema, dict):
        return "anything"
    for key in ("oneOf", "anyOf"):
        if isinstance(schema.get(key), list):
            return " or ".join(type_name(branch) for branch in schema[key])
    kind = schema.get("type", schema.get("$ref", "anything"))
    name = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    return f"{name} ({schema['format']})" if "format" in schema else name
