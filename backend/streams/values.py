"""Tuples as JSON: what the ingest endpoint takes, and how stored values are shown.

bigint and int are JSON integers, double any JSON number, boolean true or false, timestamp an
ISO 8601 text (UTC unless it says otherwise), date `YYYY-MM-DD`, time `HH:MM:SS`, binary base64,
uuid its text, decimal a text of digits, or a number. A missing column is NULL.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.functions.decimals import decimal_text, to_decimal
from optimizer.algebra.functions.moments import time_text
from optimizer.algebra.functions.uuids import uuid_text
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.types import ColumnType
from optimizer.logical.stream import MAX_AHEAD, Stream

_BITS = {ColumnType.BIGINT: 63, ColumnType.INT: 31}
_EXPECTED = {
    ColumnType.BIGINT: "a 64-bit integer",
    ColumnType.INT: "a 32-bit integer",
    ColumnType.DOUBLE: "a number",
    ColumnType.STRING: "a text",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.TIMESTAMP: "an ISO 8601 timestamp such as 2013-01-01T10:00:00Z",
    ColumnType.DATE: "a date such as 2013-01-01",
    ColumnType.BINARY: "base64 text",
    ColumnType.TIME: "a time such as 10:00:00",
    ColumnType.UUID: "a UUID such as a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
}


def expected(kind: ColumnType) -> str:
    """What a value of a column type is, for messages."""
    if kind.is_decimal:
        whole = kind.precision - kind.scale
        return f'a number such as "12.50", with up to {whole} digits before and {kind.scale} behind the point'
    return _EXPECTED[kind]


def normalize(event: object, stream: Stream, path: str = "") -> dict[str, object]:
    """The event with every column of the stream, its values in their one JSON form.

    Raises `InputError` whose place has the event's path (`3.delay`) when the event is no object,
    has a column that the stream does not, a value of another type, or no event time.
    """
    source = f"events of {stream.name}"
    if not isinstance(event, Mapping):
        raise InputError("bad-event", Place(source, path=path or None), _shown(event), "a JSON object")
    names = [name for name, _ in stream.columns]
    prefix = f"{path}." if path else ""
    for name in event:
        if name not in names:
            # A lone surrogate could not be written into the answer.
            label = name[:80].encode(errors="backslashreplace").decode()
            raise InputError(
                "unknown-column",
                Place(source, path=f"{prefix}{label}"),
                f"column {label}",
                f"a column of {stream.name}",
                nearest(label, names),
            )
    row: dict[str, object] = {}
    for name, kind in stream.columns:
        value = event.get(name)
        try:
            row[name] = None if value is None else _normalize_value(value, kind)
        except (ValueError, OverflowError) as error:
            place = Place(source, path=f"{prefix}{name}")
            raise InputError("bad-value", place, _shown(value), expected(kind)) from error
    if row[stream.event_time] is None:
        place = Place(source, path=f"{prefix}{stream.event_time}")
        raise InputError("no-event-time", place, "null", _EXPECTED[ColumnType.TIMESTAMP])
    return row


def latest(stream: Stream, arrived: datetime) -> datetime:
    """The newest event time that a tuple may have which arrived then, as for the job."""
    bound = MAX_AHEAD if stream.max_ahead is None else stream.max_ahead
    try:
        return arrived + bound
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def refuse_ahead(row: Mapping[str, object], stream: Stream, arrived: datetime, path: str = "") -> None:
    """Raise `InputError` for a row of `normalize` too far ahead of its arrival.

    Its event time lies further ahead than the stream allows: the job would turn it away.
    """
    found, bound = str(row[stream.event_time]), latest(stream, arrived)
    if datetime.fromisoformat(found) > bound:
        place = Place(f"events of {stream.name}", path=f"{path}.{stream.event_time}".lstrip("."))
        expected = (
            f"at most {shown(bound.replace(microsecond=0))}: {stream.name} takes no event time further ahead "
            "of its arrival (max_ahead)"
        )
        raise InputError("ahead-of-arrival", place, found, expected)


def _normalize_value(value: object, kind: ColumnType) -> object:
    """Raises `ValueError` or `OverflowError` when the value is none of the type."""
    match kind, value:
        case ((ColumnType.BIGINT | ColumnType.INT), int()) if not isinstance(value, bool):
            if -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]:
                return value
        case ColumnType.DOUBLE, (int() | float() | Decimal()) if not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number):
                return number
        case ColumnType.STRING, str():
            # A lone surrogate is no text: it cannot be encoded.
            value.encode()
            return value
        case ColumnType.BOOLEAN, bool():
            return value
        case ColumnType.TIMESTAMP, str():
            moment = datetime.fromisoformat(value)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
            return moment.isoformat().replace("+00:00", "Z")
        case ColumnType.DATE, str():
            return date.fromisoformat(value).isoformat()
        case ColumnType.TIME, str():
            return time_text(value)
        case ColumnType.UUID, str():
            return uuid_text(value.strip())
        case ColumnType.BINARY, str():
            try:
                return base64.b64encode(base64.b64decode(value, validate=True)).decode()
            except binascii.Error as error:
                raise ValueError(str(error)) from error
        case kind, (str() | int() | float() | Decimal()) if kind.is_decimal and not isinstance(value, bool):
            return decimal_text(to_decimal(value, kind), kind.scale)
    raise ValueError(f"{value!r} is no {kind}")


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def shown(value: object) -> object:
    """A stored value as JSON can carry it; what JSON has no number for becomes text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime():
            moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return moment.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            # str() writes 0E-7.
            return format(value, "f")
        case _:
            return str(value)
