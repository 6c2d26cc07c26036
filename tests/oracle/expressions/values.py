"""Values where implementations differ: the ends of every type, and what is special between them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from functools import partial
from random import Random
from uuid import UUID

import polars as pl

from jobs.expressions.dtypes import DTYPES, FIRST_MOMENT, FOREVER, LAST_MOMENT, PAST_FOREVER
from optimizer.algebra.expression import Literal
from optimizer.algebra.functions.decimals import decimal_text
from optimizer.algebra.types import PLAIN_TYPES, ColumnType

T = ColumnType
Value = bool | int | float | str | bytes | Decimal | None
"""Moments, dates and intervals are their whole numbers of microseconds and days."""

_DIGITS = ((4, 1), (12, 2), (12, 2), (5, 5), (18, 6), (18, 0), (19, 4), (30, 10), (38, 0), (38, 18), (38, 38))
DECIMALS = [T.decimal(*digits) for digits in _DIGITS]
COLUMNS: Sequence[tuple[str, ColumnType]] = [
    *((f"{kind}{number}", kind) for kind in PLAIN_TYPES for number in range(3)),
    *((f"decimal{number}", kind) for number, kind in enumerate(DECIMALS)),
]
INTS = [0, 1, -1, 2, 3, 7, 10, -10, 12, 59, 60, 100, 255, 1000, 46341, -99995, 2**31 - 1, -(2**31), 2**31 - 2]
BIGINTS = [
    *INTS,
    2**31,
    2**53 - 1,
    2**53,
    2**53 + 1,
    3037000500,
    10**18,
    2**62,
    2**63 - 1,
    -(2**63),
    1 - 2**63,
]
DOUBLES = [
    *(
        0.0,
        -0.0,
        0.1,
        0.5,
        1.0,
        -1.0,
        1.5,
        2.5,
        -2.5,
        3.0,
        10.0,
        0.49999999999999994,
        2.675,
        1.005,
        1e15,
        1e16,
    ),
    *(1e-4, 1e-5, 123456.789, 1e300, 1e308, -1e308, 5e-324, -5e-324, 2.2250738585072014e-308, math.pi, 709.0),
    *(
        1.7976931348623157e308,
        math.inf,
        -math.inf,
        math.nan,
        2.0**31,
        2.0**53,
        2.0**63,
        -(2.0**63),
        1e22,
        0.3,
    ),
    *(
        2147483647.5,
        -2147483648.5,
        9007199254740993.0,
        1e-300,
        1 / 3,
        745.2,
        -745.2,
        1e23,
        4503599627370495.5,
    ),
]
LETTERS = "aAbBcé%_\\.^$*+?()[]{}|-~# \t\n'\"ßİıΣςσＡ́\u0301😀🤦🏼\u200d\u00a0\u3000\u2028٣漢0123x"
TEXTS = [
    *(
        "",
        " ",
        "a",
        "abc",
        "ABC",
        "a%c",
        "a_c",
        "%",
        "_",
        "__",
        "%%",
        "%a%",
        "%a_b%",
        "\\",
        "\\%",
        "a\nb",
        "\t x",
    ),
    *(
        "é",
        "e\u0301",
        "ß",
        "İ",
        "ﬁ",
        "ǆ",
        "ΑΣ",
        "😀",
        "👨\u200d👩\u200d👧",
        "\u00a0x\u00a0",
        "\u3000",
        "\x00",
        "a\x00b",
    ),
    *(
        "0",
        "-0",
        "12",
        "+12",
        " 12 ",
        "1_000",
        "0x10",
        "0b11",
        "1e3",
        "1.5",
        "2.5",
        "-2.5",
        "1e400",
        "1e-400",
        ".",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "2147483648",
        "1e18",
        "1.0e19",
        "٣",
    ),
    *(
        "nan",
        "NaN",
        "-nan",
        "inf",
        "-inf",
        "Infinity",
        "infinity",
        "-infinity",
        "true",
        "TRUE",
        "t",
        "f",
        "yes",
        "y",
    ),
    *("no", "n", "on", "off", "1.", ".5", "1e", "e1", "--1", "1 2", "0x", "0.1e1", "00012", "1,5", "5e-324"),
    *(
        "2013-01-31",
        "2013-02-29",
        "2012-02-29",
        "2013-01-31 14:30:00",
        "2013-01-31T14:30:00.5Z",
        "1900-02-29",
    ),
    *("2013-01-31 24:00:00", "2013-01-31 23:59:60", "2013-01-31 10:00:00+02", "2013-01-31 10:00:00-05:30"),
    *(
        "2013-01-31 10:00 UTC",
        "10000-01-01",
        "0000-01-01",
        "0044-03-15 (BC)",
        "epoch",
        "294247-01-10 04:00:54.775807",
    ),
    *(
        "2013/1/2",
        "2013-1-2 3:4:5",
        "2013-01-31 10",
        "2013-01-31 10:00:00.1234567",
        "290309-12-22 (BC)",
        "20130131",
    ),
    *(
        "2013-01-31 ",
        " 2013-01-31",
        "2013-13-01",
        "2013-01-31x",
        "5881580-07-10",
        "5881580-07-11",
        "9999-12-31",
    ),
    *(
        "2013-01-31 14:30:00 Europe/Berlin",
        "2013-01-31 14:30:00+25:00",
        "\\x41",
        "\\xC3\\x9F",
        "aaaaaaaaaaaaaaaab",
    ),
    *("ab" * 100, "é" * 40, "_" * 40),
    *(
        "{}",
        "null",
        '"a"',
        '{"a": 1, "b": [true, null, "x"]}',
        '{"a": {"b": "\\u00e9"}}',
        "[1, 2.50, {}]",
        '{"a":',
    ),
]
UUIDS = [
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "7fffffff-ffff-ffff-ffff-ffffffffffff",
    "80000000-0000-0000-0000-000000000000",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
    "0190eebc-9c0b-7ef8-bb6d-6bb9bd380a11",
]
TEXTS += [
    *("12:34:56", "12:34:56.789", "00:00:00", "23:59:59.999999", "24:00:00", "25:00:00", "12:60:00", "1:2:3"),
    *(
        "12:34",
        " 12:34:56 ",
        "12:34:56.1234567",
        "12:34:56+02",
        "12:34:56.",
        "2013-01-31 12:34:56",
        "12:34:5",
    ),
    *UUIDS[:5],
    UUIDS[4].upper(),
    f"{{{UUIDS[4]}}}",
    f"{{{UUIDS[4]}",
    f" {UUIDS[4]}",
    UUIDS[4].replace("-", ""),
    f"-{UUIDS[4]}--",
    UUIDS[4][:-1],
    f"{UUIDS[4]}0",
    f"{UUIDS[4][:-1]}g",
    f"{UUIDS[4][:-1]}\n",
]
_DAY = 86_400_000_000
MOMENTS = [
    *(
        0,
        1,
        -1,
        999_999,
        -999_999,
        _DAY,
        -_DAY,
        FIRST_MOMENT,
        FIRST_MOMENT + 1,
        LAST_MOMENT,
        LAST_MOMENT - 1,
        FOREVER,
    ),
    *(
        PAST_FOREVER,
        -62_135_596_800_000_000,
        -62_135_596_800_000_001,
        253_402_300_799_999_999,
        253_402_300_800_000_000,
    ),
    *(
        951_782_400_000_000,
        1_359_642_600_500_000,
        4_107_542_400_000_000,
        -2_203_891_200_000_000,
        2**53,
        -(2**53) - 1,
    ),
    *(8_210_298_412_799_999_999, -8_334_601_228_800_000_000, 1_330_473_600_000_000, 1_456_790_399_999_999),
]
DAYS = [
    *(
        0,
        1,
        -1,
        11_016,
        15_399,
        -719_162,
        -719_163,
        2_932_896,
        2_932_897,
        106_751_991,
        -106_751_991,
        106_751_992,
    ),
    *(-106_751_992, 2**31 - 1, 1 - 2**31, 2**31 - 2, 2 - 2**31, 15_736, -25_508, 95_026_601, -719_528),
]
INTERVALS = [
    0,
    1,
    -1,
    999_999,
    1_000_000,
    60_000_000,
    3_600_000_000,
    _DAY,
    -_DAY,
    31 * _DAY,
    400 * _DAY,
    7,
    -500,
]
TIMES = [0, 1, 999_999, 1_000_000, 3_600_000_000, _DAY // 2, 45_296_789_000, _DAY - 1, _DAY - 10**6]
SPECIALS = 0.6
"""The share of special values among values."""
BINARIES = [b"", b"a", b"abc", b"\x00", b"\xff\xfe", b"'\"\\", "é".encode(), bytes(range(256)), b"\\x41"]


def value(kind: ColumnType, random: Random, specials: float = SPECIALS) -> Value:
    """A value of a type, often one of its special ones; never NULL."""
    special = random.random() < specials
    match kind:
        case T.BOOLEAN:
            return random.random() < 0.5
        case T.INT:
            return (
                random.choice(INTS)
                if special
                else random.randint(-(2**31), 2**31 - 1) >> random.randint(0, 30)
            )
        case T.BIGINT:
            return (
                random.choice(BIGINTS) if special else random.getrandbits(64) - 2**63 >> random.randint(0, 62)
            )
        case T.DOUBLE:
            if special:
                return random.choice(DOUBLES)
            if random.random() < 0.3:
                found: float = struct.unpack("d", random.randbytes(8))[0]
                return found
            return round(random.uniform(-1000, 1000), random.randint(0, 6))
        case T.STRING:
            if special:
                return random.choice(TEXTS)
            return "".join(random.choices(LETTERS, k=random.randint(0, 8)))
        case T.TIMESTAMP:
            return (
                random.choice(MOMENTS) if special else random.randint(-2_208_988_800, 4_102_444_800) * 10**6
            )
        case T.DATE:
            return random.choice(DAYS) if special else random.randint(-25_567, 47_482)
        case T.INTERVAL:
            return random.choice(INTERVALS) if special else random.randint(-(10**12), 10**12)
        case T.BINARY:
            return random.choice(BINARIES)
        case T.TIME:
            return random.choice(TIMES) if special else random.randrange(_DAY)
        case T.UUID:
            return random.choice(UUIDS) if special else str(UUID(int=random.getrandbits(128)))
        case _:
            return decimal_value(kind, random, special)


def decimal_value(kind: ColumnType, random: Random, special: bool) -> Decimal:
    """A decimal of a type, often next to a power of ten, or to half of one."""
    digits = random.randint(0, kind.precision)
    if special:
        least = 10**digits
        units = random.choice(
            (0, 1, least - 1, least // 2, 5 * 10 ** max(digits - 1, 0), least // 2 - 1, 2**63, 2**53 + 1)
        )
    else:
        units = random.randrange(10**digits)
    units = min(units, 10**kind.precision - 1) * random.choice((1, 1, -1))
    return Decimal(units).scaleb(-kind.scale, Context(prec=100))


def literal(kind: ColumnType, found: Value) -> Literal | None:
    """The constant of a value; None where no constant says it, as beyond the year 9999."""
    if found is None:
        return Literal(None, kind)
    match kind, found:
        case T.TIMESTAMP, int():
            try:
                moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found)
            except OverflowError:
                return None
            return Literal(moment.replace(tzinfo=None).isoformat(), kind)
        case T.DATE, int():
            try:
                return Literal((date(1970, 1, 1) + timedelta(days=found)).isoformat(), kind)
            except OverflowError:
                return None
        case T.TIME, int():
            return Literal(
                (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found)).time().isoformat(), kind
            )
        case T.BINARY, bytes():
            return Literal(found.hex(), kind)
        case _, Decimal():
            return Literal(decimal_text(found, kind.scale), kind)
        case T.STRING, str() if "\x00" in found:
            return None
        case _, bool() | int() | float() | str():
            return Literal(found, kind)
    return None


def table(rows: int, random: Random) -> pl.DataFrame:
    """Rows of `COLUMNS`, with values that repeat between columns of a type, and NULLs.

    Some tables have ordinary values only: one special value in a column, and all of the column is evaluated
    in ways that know of it.
    """
    ordinary = random.random() < 0.5
    made = {}
    for name, kind in COLUMNS:
        draw = partial(value, kind, random, 0.0 if ordinary else SPECIALS)
        if ordinary and kind is T.STRING:
            draw = partial(random.choice((_word, _numeral, _written_moment)), random)
        made[f"x.{name}"] = series(kind, [None if random.random() < 0.08 else draw() for _ in range(rows)])
    return pl.DataFrame(made)


def _word(random: Random) -> Value:
    return value(T.STRING, random, 0.0)


def _numeral(random: Random) -> Value:
    whole = str(random.choice((random.randint(-3000, 3000), random.randint(-(10**18), 10**18))))
    return whole if random.random() < 0.5 else f"{whole[:17]}.{random.randint(0, 10**9)}"


def _written_moment(random: Random) -> Value:
    micros = random.choice((0, 0, 500_000, random.randrange(10**6)))
    seconds = random.randint(-62_135_596_800, 253_402_300_799)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(0, seconds, micros)
    return moment.replace(tzinfo=None).isoformat(random.choice(" T"))


def series(kind: ColumnType, values: Sequence[Value]) -> pl.Series:
    physical: dict[ColumnType, pl.DataType] = {
        T.TIMESTAMP: pl.Int64(),
        T.INTERVAL: pl.Int64(),
        T.DATE: pl.Int32(),
    }
    if kind is T.TIME:
        return (pl.Series(values, dtype=pl.Int64) * 1000).cast(DTYPES[kind])
    return pl.Series(values, dtype=physical.get(kind, DTYPES[kind])).cast(DTYPES[kind])
