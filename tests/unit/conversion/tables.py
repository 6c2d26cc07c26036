"""Four small tables for queries of every shape: few values, so that joins find something, and NULLs."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream

T = ColumnType
_COLUMNS = (
    ("at", T.TIMESTAMP),
    ("k", T.INT),
    ("v", T.BIGINT),
    ("x", T.DOUBLE),
    ("s", T.STRING),
    ("d", T.DATE),
)
NAMES = ("a", "b", "c", "e")
CATALOG = Catalog(tuple(Stream(name, _COLUMNS, "at") for name in NAMES))
_START = datetime(2024, 1, 1, tzinfo=UTC)
_SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us")),
        ("k", pa.int32()),
        ("v", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("d", pa.date32()),
    ]
)


def tables(seed: int = 1, rows: int = 12) -> dict[str, pa.Table]:
    """The same seed gives the same rows; halves are exact in binary, so that sums have no rounding."""
    chance = random.Random(seed)

    def maybe(value: object) -> object:
        return None if chance.random() < 0.1 else value

    def table() -> pa.Table:
        drawn = [
            {
                "at": _START + timedelta(seconds=chance.randrange(60)),
                "k": maybe(chance.randrange(4)),
                "v": maybe(chance.randrange(6)),
                "x": maybe(chance.randrange(8) / 2),
                "s": maybe(chance.choice(["red", "green", "blue"])),
                "d": maybe(date(2024, 1, 1) + timedelta(days=chance.randrange(60))),
            }
            for _ in range(rows)
        ]
        return pa.Table.from_pylist(drawn, schema=_SCHEMA)

    return {name: table() for name in NAMES}
