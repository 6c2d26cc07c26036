"""Columns of results as PostgreSQL has them.

Values go through a staging table, since three kinds of them are not PostgreSQL's: infinite moments have other
numbers there, moments before 4714 BC do not exist, and a text holds no NUL.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from jobs.sinks.pattern import shortened
from optimizer.udf.arrow import uuid_texts

LONGEST_NAME = 63
"""Bytes of an identifier; PostgreSQL cuts longer ones and would take two for one."""
BATCH = "_batch"
"""The column that says which batch made a result."""
KEY = "_key"
"""The primary key of a table of running groups: a digest of their keys, which may be NULL, or long."""

_INFINITE_US = 2**63 - 1
_FIRST_US = -210_866_803_200_000_000
"""4714-11-24 BC, PostgreSQL's first moment."""
_FIRST_DAY = _FIRST_US // 86_400_000_000
_LAST_DAY = 2_145_031_948
"""5874897-12-31."""
_SIGN = "±"
"""Behind a staged column's name: 1 and -1 for infinite moments."""


def column_types(schema: pa.Schema) -> dict[str, str]:
    """PostgreSQL's types of a result's columns, by their names there.

    >>> column_types(pa.schema({"flight": pa.string(), "at": pa.timestamp("us", tz="UTC")}))
    {'flight': 'text', 'at': 'timestamp with time zone'}
    """
    return {_name(field.name): _type(field.type) for field in schema}


def copied(table: pa.Table) -> pa.Table:
    """What is copied into the staging table."""
    columns: dict[str, pa.Array] = {}
    for position, field in enumerate(table.schema):
        column, name = table.column(position), f"c{position}"
        if pa.types.is_timestamp(field.type):
            columns |= _finite(column, name, pa.int64(), _FIRST_US, _INFINITE_US - 1)
        elif pa.types.is_date(field.type):
            columns |= _finite(column, name, pa.int32(), _FIRST_DAY, _LAST_DAY)
        elif _type(field.type) == "text":
            columns[name] = pc.replace_substring(column.cast(pa.large_string()), "\0", "\ufffd")
        elif _type(field.type) == "uuid":
            columns[name] = uuid_texts(column)
        elif _type(field.type) == "bytea":
            columns[name] = column.cast(pa.large_binary())
        else:
            columns[name] = column
    return pa.table(columns)


def inserted(schema: pa.Schema) -> Iterator[str]:
    """What is inserted into a table of `column_types`, over the columns of `copied`."""
    for position, field in enumerate(schema):
        name = f"c{position}"
        if _signed(field.type):
            sign = f'"{name}{_SIGN}"'
            kind = _type(field.type)
            infinite = f"WHEN 1 THEN 'infinity'::{kind} WHEN -1 THEN '-infinity'::{kind}"
            yield f"CASE {sign} {infinite} ELSE {name} END"
        elif _type(field.type) == "uuid":
            yield f"{name}::uuid"
        else:
            yield name


def _finite(
    column: pa.ChunkedArray, name: str, numbers: pa.DataType, first: int, last: int
) -> dict[str, pa.Array]:
    """A column of moments without those that PostgreSQL lacks, and their signs."""
    number = column.cast(numbers)
    late, early = pc.greater(number, last), pc.less(number, first)
    sign = pc.if_else(late, 1, pc.if_else(early, -1, 0)).cast(pa.int16())
    finite = pc.if_else(pc.equal(sign, 0), column, pa.scalar(None, column.type))
    return {name: finite, f"{name}{_SIGN}": sign}


def _signed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _name(column: str) -> str:
    # Ours is not hidden by a result's column of that name.
    return shortened(f"{column}_" if column in (BATCH, KEY) else column, LONGEST_NAME)


def _type(kind: pa.DataType) -> str:
    for is_kind, name in _TYPES:
        if is_kind(kind):
            return name
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    return "text"


_TYPES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int32, "integer"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float64, "double precision"),
    (pa.types.is_timestamp, "timestamp with time zone"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time without time zone"),
    (lambda kind: kind == pa.uuid(), "uuid"),
    (pa.types.is_duration, "interval"),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), "bytea"),
)
