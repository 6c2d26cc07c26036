"""Results as Avro values."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_writer

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_]")


def avro_schema(schema: pa.Schema, query: str) -> dict[str, Any]:
    """The record schema of a query's results: every field may be null.

    Moments are timestamp-micros, days are dates, intervals are microseconds. What Avro does not allow
    in names becomes `_`; the name in SQL is the field's `doc`.

    >>> avro_schema(pa.schema([("n", pa.int64())]), "q 1")["name"]
    'q_1'
    """
    names: list[str] = []
    for name in schema.names:
        plain = _name(name)
        while plain in names:
            plain += "_"
        names.append(plain)
    fields = [
        {"name": plain, "type": ["null", _type(field.type)], "default": None, "doc": field.name}
        for plain, field in zip(names, schema, strict=True)
    ]
    return {"type": "record", "name": _name(query), "fields": fields}


def to_avro(table: pa.Table, schema: dict[str, Any]) -> Iterator[bytes]:
    """One value per row, in the schema that `avro_schema` gives for the table's."""
    parsed = parse_schema(schema)
    names = [field["name"] for field in schema["fields"]]
    for row in table.rename_columns(names).to_pylist():
        body = io.BytesIO()
        schemaless_writer(body, parsed, {name: _plain(value) for name, value in row.items()})
        yield body.getvalue()


def _name(text: str) -> str:
    plain = _NOT_A_NAME.sub("_", text)
    return plain if plain and not plain[0].isdigit() else f"_{plain}"


def _plain(value: object) -> object:
    return value // timedelta(microseconds=1) if isinstance(value, timedelta) else value


def _type(kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if kind == pa.uuid():
        return {"type": "string", "logicalType": "uuid"}
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros"}
    if pa.types.is_date(kind):
        return {"type": "int", "logicalType": "date"}
    if pa.types.is_time(kind):
        return {"type": "long", "logicalType": "time-micros"}
    if pa.types.is_duration(kind) or pa.types.is_int64(kind):
        return "long"
    if pa.types.is_integer(kind):
        return "int"
    if pa.types.is_floating(kind):
        return "double"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytes"
    raise ValueError(f"no Avro type for {kind}")
