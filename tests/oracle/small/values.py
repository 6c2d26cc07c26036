"""Values of every column type, its ends and its odd ones among them."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from uuid import UUID

import pyarrow as pa

from optimizer.algebra.types import ColumnType
from tests.oracle.small.grammar import DECIMALS, MONEY, RATE, WIDE

T = ColumnType
ARROW: Mapping[ColumnType, pa.DataType] = {
    T.INT: pa.int32(),
    T.BIGINT: pa.int64(),
    T.DOUBLE: pa.float64(),
    T.STRING: pa.string(),
    T.BOOLEAN: pa.bool_(),
    T.TIMESTAMP: pa.timestamp("us", "UTC"),
    T.DATE: pa.date32(),
    T.BINARY: pa.binary(),
    T.UUID: pa.string(),
    T.TIME: pa.time64("us"),
    **{kind: pa.decimal128(kind.precision, kind.scale) for kind in DECIMALS},
}
SECOND_US = 1_000_000
START_US = 1_709_164_500 * SECOND_US
"""2024-02-28 23:55 UTC: a leap day begins on the way."""
FIRST_US, LAST_US = -9_223_372_022_400_000_000, 2**63 - 2
"""DuckDB's timestamps: 290309-12-22 BC and 294247-01-10 04:00:54.775806."""
_EPOCH = date(1970, 1, 1)

ORDINARY: Mapping[ColumnType, tuple[object, ...]] = {
    T.INT: (0, 1, 2, 3, -1, 7),
    T.BIGINT: (0, 1, 2, 3, -1, 7, 3_000_000_000),
    T.DOUBLE: (0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 0.1, 2.5),
    T.STRING: ("a", "b", "ab", "abc", "Ab", "a_c", "1", "2.5"),
    T.BOOLEAN: (True, False),
    T.TIMESTAMP: tuple(START_US + s * SECOND_US for s in (0, 1, 2, 300)),
    T.DATE: tuple(date(2024, 2, 28) + timedelta(days=d) for d in (0, 1, 2)),
    T.BINARY: (b"a", b"b", b"ab", b""),
    T.TIME: (time(0), time(12), time(23, 55)),
    T.UUID: tuple(f"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1{n}" for n in range(1, 4)),
    **{kind: tuple(map(Decimal, ("0", "1", "2", "-1", "0.5", "1.5", "7"))) for kind in DECIMALS},
}
ODD: Mapping[ColumnType, tuple[object, ...]] = {
    T.INT: (2**31 - 1, -(2**31), 2**31 - 2, 1 << 16),
    T.BIGINT: (2**63 - 1, -(2**63), 2**53, 2**53 + 1, -(2**53) - 1, 2**31, 2**62),
    T.DOUBLE: (
        -0.0,
        math.nan,
        math.inf,
        -math.inf,
        5e-324,
        -5e-324,
        1.7976931348623157e308,
        2.2250738585072014e-308,
        9007199254740992.0,
        9007199254740994.0,
        9223372036854775808.0,
        -9223372036854775808.0,
        1e-300,
        1 / 3,
    ),
    T.STRING: (
        "",
        " ",
        "ü",
        "é",
        "e\u0301",
        "日本",
        "😀",
        "\x00",
        "a\x00",
        "a\x00b",
        "%",
        "_",
        "\\",
        "'",
        '"',
        "\n",
        "\t",
        "ß",
        "İ",
        "ﬁ",
        "NULL",
        "nan",
        "1e400",
        "2024-02-29",
        "12:00:00",
        "true",
        "a0eebc999c0b4ef8bb6d6bb9bd380a11",
        "x" * 13,
        "x" * 12,
        "y" * 5000,
    ),
    T.BOOLEAN: (True, False),
    T.TIMESTAMP: (
        0,
        -1,
        START_US + 1,
        START_US + 999_999,
        -62_135_596_800 * SECOND_US,
        253_402_300_799_999_999,
    ),
    T.DATE: (date(1, 1, 1), date(9999, 12, 31), _EPOCH, _EPOCH - timedelta(days=1), date(1900, 2, 28)),
    T.BINARY: (b"\x00", b"a\x00", b"\xff\xfe", b"\x80", b"z" * 13, b"q" * 4000, "ü".encode()),
    T.TIME: (time(0, 0, 0, 1), time(23, 59, 59, 999_999), time(11, 59, 59)),
    T.UUID: tuple(str(UUID(int=n)) for n in (0, 1, 2**127 - 1, 2**127, 2**128 - 1)),
    MONEY: tuple(map(Decimal, ("9999999.99", "-9999999.99", "0.01", "-0.01", "0.1", "2.5"))),
    RATE: tuple(map(Decimal, ("999999999999.999999", "0.000001", "0.100000", "2.500001", "9007199.254741"))),
    WIDE: tuple(
        map(
            Decimal,
            (f"{'9' * 28}.{'9' * 10}", f"-{'9' * 28}", "0.0000000001", f"{2**63}", "0.01"),
        )
    ),
}


def pool(chance: random.Random, kind: ColumnType, size: int) -> list[object]:
    """Some values that a workload's columns of a type take: few, so that tuples meet."""
    odd = [chance.choice(ODD[kind]) for _ in range(chance.randint(0, size))]
    ordinary = [chance.choice(ORDINARY[kind]) for _ in range(size - len(odd))]
    found = [*odd, *ordinary]
    if kind is T.DOUBLE and chance.random() < 0.3:
        found += [0.0, -0.0]
    return found


def column(values: list[object], kind: ColumnType) -> pa.Array:
    """Values as they travel: timestamps are numbers of microseconds."""
    if kind is T.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(ARROW[kind])
    return pa.array(values, ARROW[kind])
