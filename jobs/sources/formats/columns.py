"""Convert stored columns to a stream's types.

Rows with a value that its type does not have are told apart.

What is read as Arrow, from Parquet files and from entries of Redis, is typed here; text and JSON in `decode`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.sources.formats.arrow_types import Mask, cast_column, is_text
from jobs.sources.formats.decode import Columns
from jobs.sources.formats.text import checked_text
from optimizer.algebra.types import ColumnType
from optimizer.udf.arrow import ARROW_TYPES

_SHOWN = 80
"""Characters of a value in the reason of its dead letter."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True)
class Broken:
    """A row with a value that its column's type does not have."""

    row: int
    """Its position."""
    reason: str
    text: str
    """The row as JSON."""


@dataclass(frozen=True, slots=True)
class Typed:
    table: pa.Table
    """All rows; in broken ones the value is NULL, or text with replacement characters."""
    broken: tuple[Broken, ...]

    def readable(self) -> pa.Table:
        """The rows that are not broken, in their order."""
        if not self.broken:
            return self.table
        kept = np.ones(self.table.num_rows, np.bool_)
        kept[[one.row for one in self.broken]] = False
        return self.table.filter(pa.array(kept))


def type_columns(
    stored: pa.Table,
    columns: Columns,
    place: Callable[[int], str],
    needed: Collection[str] | None = None,
) -> Typed:
    """Type the columns of a table whose types are `readable_as` these.

    Args:
        columns: what the typed table has; one that is not stored is NULL.
        place: where a row comes from, by its position, for people.
        needed: the columns that make a row a broken one; all if None.
    """
    typed: list[pa.ChunkedArray] = []
    faults: dict[str, Mask] = {}
    for name, kind in columns:
        if name not in stored.column_names:
            typed.append(pa.chunked_array([pa.nulls(stored.num_rows, ARROW_TYPES[kind])]))
            continue
        values, fault = _typed(stored.column(name), kind)
        typed.append(values)
        if fault is not None and (needed is None or name in needed):
            faults[name] = fault
    table = pa.table(typed, names=[name for name, _ in columns])
    if not faults:
        return Typed(table, ())
    rows = np.flatnonzero(np.logical_or.reduce(list(faults.values())))
    texts = _as_json(stored.select([n for n, _ in columns if n in stored.column_names]).take(pa.array(rows)))
    kinds = dict(columns)
    broken = []
    for row, (text, shown) in zip(rows.tolist(), texts, strict=True):
        name = next(name for name, fault in faults.items() if fault[row])
        missed = "UTF-8" if kinds[name] is ColumnType.STRING else kinds[name].value
        broken.append(Broken(row, f"{name} is not {missed}: {shown[name]!s:.{_SHOWN}} ({place(row)})", text))
    return Typed(table, tuple(broken))


def _typed(column: pa.ChunkedArray, kind: ColumnType) -> tuple[pa.ChunkedArray, Mask | None]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not is_text(column.type):
        return cast_column(column, kind)
    texts, undecodable = checked_text(column)
    if kind is ColumnType.STRING:
        return texts, undecodable
    # Of what cannot be decoded nothing can be read.
    return cast_column(texts, kind)


def _as_json(rows: pa.Table) -> Sequence[tuple[str, dict[str, Any]]]:
    """Rows as JSON texts and as what is in these, also where Python has no such value."""
    columns = {name: _shown(rows.column(name)) for name in rows.column_names}
    shown = [{name: values[n] for name, values in columns.items()} for n in range(rows.num_rows)]
    return [(json.dumps(row, ensure_ascii=False, default=str), row) for row in shown]


def _shown(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _shown(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind) or kind == pa.date64():
        unit = kind.unit if pa.types.is_timestamp(kind) else "ms"
        numbers = pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())
        return [None if n is None else _moment(n, unit) for n in numbers.to_pylist()]
    if pa.types.is_date32(kind):
        numbers = pa.chunked_array([chunk.view(pa.int32()) for chunk in column.chunks], pa.int32())
        return [None if n is None else f"{n} days since 1970" for n in numbers.to_pylist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return list(checked_text(column)[0].to_pylist())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [None if value is None else value.hex() for value in column.to_pylist()]
    return list(column.to_pylist())


def _moment(number: int, unit: str) -> str:
    try:
        return (_EPOCH + timedelta(seconds=number / _PER_SECOND[unit])).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return f"{number} {unit} since 1970"
