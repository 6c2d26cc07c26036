"""Decode text and JSON into typed columns.

What does not fit gets a reason instead of stopping anything.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

import polars as pl
import pyarrow as pa

from jobs.expressions.functions.casts import from_text
from optimizer.algebra.functions.decimals import to_decimal
from optimizer.algebra.functions.moments import time_text
from optimizer.algebra.functions.uuids import uuid_text
from optimizer.algebra.types import ColumnType
from optimizer.udf.arrow import ARROW_TYPES

REASON = "@reason"
"""Why a row could not be decoded; NULL where it could."""
TUPLE = "@tuple"
"""The text of a row that could not be decoded."""

Columns: TypeAlias = tuple[tuple[str, ColumnType], ...]

_MOMENT = (
    r"^(?<day>\d{4}-\d{2}-\d{2})"
    r"(?:[ T](?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.](?<fraction>\d{1,9}))?)?)?"
    r"[ ]?(?<zone>[Zz]|UTC|[+-]\d{2}(?::?\d{2})?)?$"
)

_TIME = r"^(?<minute>(?:[01]\d|2[0-3]):[0-5]\d)(?::(?<second>[0-5]\d)(?:[.](?<fraction>\d{1,9}))?)?$"


def parse_text(lines: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Type columns of UTF-8 bytes; NULL stays NULL.

    What is read as which type is in docs/guide/files.md. Rows with a field that does not fit get
    NULL in it and, in `@reason` and `@tuple`, the first such column and the row as JSON.

    >>> frame = pl.DataFrame({"a": [b"1", b"x"]})
    >>> parse_text(frame, (("a", ColumnType.INT),))["@reason"].to_list()
    [None, 'a is not int: x']
    """
    texts = lines.select(_text(lines[name]) for name, _ in columns)
    typed = texts.select(_parsed(name, kind).alias(name) for name, kind in columns)
    reason = pl.coalesce(
        pl.when(lines[name].is_not_null() & typed[name].is_null()).then(
            pl.format(
                "{} is not {}: {}",
                pl.lit(name),
                pl.lit(kind.value if kind is not ColumnType.STRING else "UTF-8"),
                pl.col(name).fill_null("?"),
            )
        )
        for name, kind in columns
    )
    reasons = texts.select(reason.alias(REASON))[REASON]
    row = pl.struct(pl.all()).struct.json_encode()
    text = texts.select(pl.when(reasons.is_not_null()).then(row).alias(TUPLE))[TUPLE]
    return typed.with_columns(reasons, text)


def _text(column: pl.Series) -> pl.Series:
    """The bytes as text; NULL where they are no UTF-8."""
    try:
        return column.cast(pl.String)
    except pl.exceptions.ComputeError:
        return pl.Series(column.name, [_decoded(value) for value in column], pl.String)


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _parsed(name: str, kind: ColumnType) -> pl.Expr:
    column = pl.col(name)
    bare = column.str.strip_chars()
    match kind:
        case ColumnType.STRING:
            return column
        case ColumnType.BIGINT:
            return bare.cast(pl.Int64, strict=False)
        case ColumnType.INT:
            return bare.cast(pl.Int32, strict=False)
        case ColumnType.DOUBLE:
            return bare.cast(pl.Float64, strict=False)
        case ColumnType.BOOLEAN:
            lower = bare.str.to_lowercase()
            return (
                pl.when(lower.is_in(["true", "t", "yes", "y", "1"]))
                .then(pl.lit(True))
                .when(lower.is_in(["false", "f", "no", "n", "0"]))
                .then(pl.lit(False))
            )
        case ColumnType.DATE:
            # A sign before the year is read as one by Polars and by nobody else.
            return pl.when(~bare.str.starts_with("+")).then(bare.str.to_date("%Y-%m-%d", strict=False))
        case ColumnType.BINARY:
            return bare.str.decode("hex", strict=False)
        case ColumnType.TIMESTAMP:
            return _moment(bare)
        case ColumnType.UUID:
            return from_text(bare, kind)
        case ColumnType.TIME:
            parts = bare.str.extract_groups(_TIME)
            rest = parts.struct.field("fraction").fill_null("0").str.pad_end(6, "0").str.slice(0, 6)
            second = parts.struct.field("second").fill_null("00")
            whole = pl.format("{}:{}.{}", parts.struct.field("minute"), second, rest)
            return whole.str.to_time("%H:%M:%S%.f", strict=False)
        case kind if kind.is_decimal:
            # Zeros behind the digits that the type has are none that it lacks.
            point = rf"(\.[0-9]{{0,{kind.scale}}}0*)?"
            plain = bare.str.contains(rf"^[+-]?([0-9]+{point}|\.[0-9]{{1,{max(kind.scale, 1)}}}0*)$")
            return (
                pl.when(plain)
                .then(bare.str.replace(r"(\..*[^0.])0+$", "$1"))
                .cast(pl.Decimal(kind.precision, kind.scale), strict=False)
            )
        case _:
            raise ValueError(f"{kind} is no column type")


def _moment(text: pl.Expr) -> pl.Expr:
    """ISO 8601 text as timestamp[us, UTC], NULL where it is none."""
    parts = text.str.extract_groups(_MOMENT)

    def number(name: str) -> pl.Expr:
        return parts.struct.field(name).cast(pl.Int64, strict=False).fill_null(0)

    fraction = parts.struct.field("fraction").fill_null("0").str.pad_end(9, "0").str.slice(0, 6)
    zone = parts.struct.field("zone").fill_null("Z").str.replace(":", "", literal=True)
    hours = zone.str.slice(1, 2).cast(pl.Int64, strict=False).fill_null(0)
    minutes = zone.str.slice(3, 2).cast(pl.Int64, strict=False).fill_null(0)
    east = pl.when(zone.str.starts_with("-")).then(-1).otherwise(1)
    offset = pl.when(zone.str.starts_with("+") | zone.str.starts_with("-")).then(
        east * (hours * 60 + minutes)
    )
    seconds = number("hour") * 3600 + number("minute") * 60 + number("second") - offset.fill_null(0) * 60
    inside = (number("hour") < 24) & (number("minute") < 60) & (number("second") < 60)
    day = parts.struct.field("day").str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    moment = day + pl.duration(microseconds=seconds * 1_000_000 + fraction.cast(pl.Int64, strict=False))
    return pl.when(inside).then(moment).dt.replace_time_zone("UTC")


Value: TypeAlias = bool | int | float | str | bytes | datetime | date | time | Decimal | None


def whole(least: int, most: int) -> Callable[[object], Value]:
    """A converter for `type_records` to whole numbers inside the bounds.

    The others here are such converters, too.

    >>> whole(0, 255)(7)
    7
    """

    def convert(value: object) -> Value:
        if isinstance(value, float | Decimal) and value == value // 1:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError
        return value

    return convert


def from_double(value: object) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError
    return float(value)


def from_string(value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError
    value.encode()  # Lone surrogates are no text; encoding them raises.
    return value


def from_boolean(value: object) -> Value:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _timestamp(value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError
    moment = datetime.fromisoformat(value.strip())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _date(value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError
    return date.fromisoformat(value.strip())


def _binary(value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError from error


def _time(value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError
    return time.fromisoformat(time_text(value))


def _uuid(value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError
    return uuid_text(value.strip())


def _decimal(kind: ColumnType) -> Callable[[object], Value]:
    """A converter of numbers and texts with no more digits than the type."""

    def convert(value: object) -> Value:
        if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
            raise ValueError
        return to_decimal(value, kind)

    return convert


class Converters(dict[ColumnType, Callable[[object], Value]]):
    """Decimals are added when they are first asked for."""

    def __missing__(self, kind: ColumnType) -> Callable[[object], Value]:
        if not kind.is_decimal:
            raise KeyError(kind)
        return self.setdefault(kind, _decimal(kind))


FROM_JSON = Converters(
    {
        ColumnType.BIGINT: whole(-(2**63), 2**63 - 1),
        ColumnType.INT: whole(-(2**31), 2**31 - 1),
        ColumnType.DOUBLE: from_double,
        ColumnType.STRING: from_string,
        ColumnType.BOOLEAN: from_boolean,
        ColumnType.TIMESTAMP: _timestamp,
        ColumnType.DATE: _date,
        ColumnType.BINARY: _binary,
        ColumnType.UUID: _uuid,
        ColumnType.TIME: _time,
    }
)


def parse_json(
    entries: Sequence[bytes], columns: Columns
) -> tuple[pa.Table, list[int], list[tuple[str, str]]]:
    """Type JSON objects, one tuple each.

    Timestamps and dates are ISO 8601 text, binaries base64; a missing or null field is NULL and
    other fields are ignored.

    Returns the typed rows, their positions in `entries`, and (reason, text) of the others.

    >>> table, kept, broken = parse_json([b'{"a": 1}', b"{"], (("a", ColumnType.INT),))
    >>> table.num_rows, kept, len(broken)
    (1, [0], 1)
    """
    table, kept, broken = type_records(json_records(entries, columns), columns, FROM_JSON, "a JSON object")
    return table, kept, [(reason, entries[n].decode("utf-8", "replace")) for n, reason in broken]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """In the place of a record: why there is none."""

    reason: str


def json_records(values: Sequence[bytes | None], columns: Columns = ()) -> list[object]:
    """What JSON texts say, for `type_records`.

    Numbers keep all their digits if a column is a decimal.

    >>> json_records([b'{"a": 1}', None])
    [{'a': 1}, Unreadable(reason='no value')]
    """
    records: list[object] = []
    read = Decimal if any(kind.is_decimal for _, kind in columns) else None
    for value in values:
        try:
            records.append(Unreadable("no value") if value is None else json.loads(value, parse_float=read))
        except (ValueError, RecursionError, InvalidOperation):
            records.append(Unreadable("not JSON"))
    return records


def _said(value: object) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)


def type_records(
    records: Sequence[object],
    columns: Columns,
    converters: Mapping[ColumnType, Callable[[object], Value]],
    kind_of_record: str,
    written_as: Callable[[int, str], str] | None = None,
) -> tuple[pa.Table, list[int], list[tuple[int, str]]]:
    """Type records, one tuple each: dictionaries, or `Unreadable`.

    A missing or null field is NULL and other fields are ignored. A converter raises `ValueError` or
    `OverflowError` for a value that its type does not have; `written_as` tells what its writer said of the
    field, by position and column.

    Returns the typed rows, their positions in `records`, and (position, reason) of the others.
    """
    plan = [(name, kind, converters[kind]) for name, kind in columns]
    values: list[list[Value]] = [[] for _ in columns]
    kept: list[int] = []
    broken: list[tuple[int, str]] = []
    for position, record in enumerate(records):
        if not isinstance(record, dict):
            reason = record.reason if isinstance(record, Unreadable) else f"not {kind_of_record}"
            broken.append((position, reason))
            continue
        row: list[Value] = []
        for name, kind, convert in plan:
            value = record.get(name)
            try:
                row.append(None if value is None else convert(value))
            except (ValueError, OverflowError):
                beside = "" if written_as is None else f", {written_as(position, name)}"
                broken.append((position, f"{name} is not {kind}: {_said(value):.80}{beside}"))
                break
        else:
            kept.append(position)
            for column, value in zip(values, row, strict=True):
                column.append(value)
    arrays = [pa.array(column, ARROW_TYPES[kind]) for column, (_, kind) in zip(values, columns, strict=True)]
    return pa.table(arrays, names=[name for name, _ in columns]), kept, broken
