"""Compare answers with each other, and with what a file expects."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.sql import null_where_it_errs, to_duckdb
from optimizer.udf.duckdb import register
from optimizer.workload.fixtures import Row

_NAN_BITS = 0x7FF8000000000000
_SHOWN = 3
"""Rows of a difference that are shown."""
Bag = Counter[tuple[object, ...]]


def reference(query: Query, catalog: Catalog, tables: Mapping[str, pa.Table]) -> pl.DataFrame:
    """DuckDB's answer over the tuples that are accepted."""
    text = to_duckdb(query, catalog, around=null_where_it_errs)
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        # It computes 1 / 0.0 and 1 / -0.0 once for both, where one statement has them, and divides a sum that
        # stands beside AVG, rounded to a double.
        connection.execute(
            "SET TimeZone = 'UTC'; "
            "SET disabled_optimizers = 'common_subexpressions, aggregate_function_rewriter'"
        )
        register(connection, catalog.functions)
        for name, table in tables.items():
            connection.register(name, table)
        return pl.DataFrame(pl.from_arrow(connection.sql(text).to_arrow_table()))


def differs(expected: pl.DataFrame, found: pl.DataFrame) -> str | None:
    """How two answers differ, with the first rows; None if they have equal bits."""
    return _difference(_bits(expected), _bits(found), expected.columns, _exact(expected), _exact(found))


def differs_from_file(
    expected: Sequence[Row], found: pl.DataFrame, types: Mapping[str, ColumnType]
) -> str | None:
    """The same of an answer and a file's rows, doubles to twelve digits."""
    wanted = Counter(tuple(_told(row[name]) for name in types) for row in expected)
    have = Counter(tuple(map(_told, row)) for row in found.rows())
    return _difference(wanted, have, list(types), None, None)


def _bits(frame: pl.DataFrame) -> Bag:
    """A table's rows as a multiset: doubles by their bits, every NaN the same."""
    columns = [
        pl.when(pl.col(name).is_nan()).then(pl.lit(_NAN_BITS)).otherwise(pl.col(name).reinterpret(signed=True))
        .alias(name)
        if kind == pl.Float64
        else pl.col(name).cast(pl.Datetime("us")).to_physical()
        if isinstance(kind, pl.Datetime)
        else pl.col(name).to_physical()
        for name, kind in frame.schema.items()
    ]  # fmt: skip
    return Counter(frame.select(columns).rows()) if columns else Counter()


def _exact(frame: pl.DataFrame) -> Mapping[tuple[object, ...], tuple[object, ...]]:
    """The values behind the bits, for people."""
    keys = _in_order(frame)
    return dict(zip(keys, frame.rows(), strict=True))


def _in_order(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    return [next(iter(_bits(frame.slice(number, 1)))) for number in range(frame.height)]


def _difference(
    expected: Bag,
    found: Bag,
    names: Sequence[str],
    expected_values: Mapping[tuple[object, ...], tuple[object, ...]] | None,
    found_values: Mapping[tuple[object, ...], tuple[object, ...]] | None,
) -> str | None:
    missing, extra = expected - found, found - expected
    if not missing and not extra:
        return None
    lines = [f"{expected.total()} results expected, {found.total()} found"]
    for word, rows, values in (("missing", missing, expected_values), ("too many", extra, found_values)):
        shown = sorted(rows.elements(), key=repr)
        for row in shown[:_SHOWN]:
            lines.append(f"{word}: {as_json(names, row if values is None else values[row])}")
        if len(shown) > _SHOWN:
            lines.append(f"{word}: {len(shown) - _SHOWN} more")
    return "\n".join(lines)


def as_json(names: Iterable[str], row: Iterable[object]) -> str:
    """A row as one object on one line."""
    return json.dumps(dict(zip(names, map(_plain, row), strict=True)), ensure_ascii=False)


def _told(value: object) -> object:
    """A value to compare: equal numbers are equal, whatever their type."""
    if isinstance(value, bool) or not isinstance(value, float):
        return value.replace(tzinfo=None) if isinstance(value, datetime) else value
    return repr(value) if math.isnan(value) else float(f"{value:.12g}") + 0.0


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.replace(tzinfo=None).isoformat() + "Z"
        case date():
            return value.isoformat()
        case time():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds()} seconds"
        case bytes():
            return value.hex()
        case Decimal():
            return format(value, "f")
        case _:
            return value
