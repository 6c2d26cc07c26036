"""Avro records into typed columns, under one writer's schema.

Avro's own types are the columns' types: `long` and `int` with the logical types timestamp-millis,
timestamp-micros and date are moments and days (a local timestamp counts as UTC), an enum is text.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import Any
from uuid import UUID

from fastavro import parse_schema, schemaless_reader

from jobs.sources.formats.decode import FROM_JSON, Converters, Unreadable, Value
from jobs.sources.formats.frame import unframed
from optimizer.algebra.types import ColumnType


def _timestamp(value: object) -> Value:
    if not isinstance(value, datetime):
        raise ValueError
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _date(value: object) -> Value:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ValueError
    return value


def _time(value: object) -> Value:
    return value if isinstance(value, time) else FROM_JSON[ColumnType.TIME](value)


def _uuid(value: object) -> Value:
    return str(value) if isinstance(value, UUID) else FROM_JSON[ColumnType.UUID](value)


def _binary(value: object) -> Value:
    if not isinstance(value, bytes):
        raise ValueError
    return value


FROM_AVRO = Converters(
    {
        **FROM_JSON,
        ColumnType.TIMESTAMP: _timestamp,
        ColumnType.DATE: _date,
        ColumnType.BINARY: _binary,
        ColumnType.UUID: _uuid,
        ColumnType.TIME: _time,
    }
)


def avro_records(values: Sequence[bytes | None], schema: str, schema_id: int | None) -> list[object]:
    """What Avro values say, for `decode.type_records`.

    Arguments: the values; the schema that they were written with, as JSON text; the number that
    stands before each value, None if none does.
    """
    parsed = _schema(schema)
    return [_record(value, parsed, schema_id) for value in values]


@lru_cache(maxsize=16)
def _schema(text: str) -> Any:
    return parse_schema(json.loads(text))


def _record(value: bytes | None, schema: Any, schema_id: int | None) -> object:
    if value is None:
        return Unreadable("no value")
    if schema_id is None:
        return read_record(value, schema, "the schema")
    framed = unframed(value)
    if isinstance(framed, Unreadable):
        return framed
    found, body = framed
    if found != schema_id:
        return Unreadable(f"schema {found} instead of {schema_id}")
    return read_record(body, schema, "the schema")


def read_record(body: bytes, schema: Any, called: str) -> object:
    """What one value says, or why it cannot be read.

    Args:
        body: the value.
        schema: what `fastavro.parse_schema` made of the writer's schema.
        called: what to call the schema in a reason.
    """
    stream = io.BytesIO(body)
    try:
        record: object = schemaless_reader(stream, schema, None)
    except (EOFError, ValueError, IndexError, KeyError, OverflowError, struct.error, TypeError) as error:
        return Unreadable(f"not Avro of {called}: {type(error).__name__} {error}".rstrip()[:200])
    rest = len(body) - stream.tell()
    return Unreadable(f"not Avro of {called}: {rest} bytes too many") if rest else record
