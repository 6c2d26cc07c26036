"""What text and JSON are read as: the same as DuckDB reads, or a dead letter (docs/guide/files.md).

DuckDB reads more; what it does not read, and we do, is named here.
"""

from __future__ import annotations

import json
import math
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.sources.formats.decode import parse_json, parse_text
from optimizer.algebra.types import ColumnType as C

WHOLE = [
    *("0", "1", "-1", "+1", "-0", "01", " 1 ", "1\t", "--1", "1 0", "true", "٣", "1,000"),
    *("1.0", "1.5", "1e3", "1_000", "0x10", "0b1", "\u00a01", "2147483647", "2147483648", "-2147483648"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
]
TEXTS: dict[C, list[str]] = {
    C.BIGINT: WHOLE,
    C.INT: WHOLE,
    C.DOUBLE: [
        *WHOLE,
        *("1.5", " 1.5 ", "1e3", "1E3", "+1.5", ".5", "5.", "1e400", "-1e400", "1e-400", "inf", "-inf"),
        *("Infinity", "+inf", "INF", "nan", "NaN", "-nan", "0x1p3", "1_000.5", "1,5", "1.5.5", "1d", "1f"),
        *("infinit", "1e", "e1", "1 .5", "0.1", "4.9e-324", "1.7976931348623157e308", "123456789012345678"),
    ],
    C.BOOLEAN: [
        *("true", "TRUE", "t", "T", "yes", "YES", "y", "Y", "on", "1", "0", "no", "n", "f", "F", "false"),
        *("off", "2", " true ", "tru", "10"),
    ],
    C.DATE: [
        *("2013-01-02", "2013-1-2", "20130102", "2013/01/02", "01/02/2013", " 2013-01-02 ", "0000-01-01"),
        *("0001-01-01", "9999-12-31", "10000-01-01", "+2013-01-01", "-0001-01-01", "2013-02-30"),
        *("2012-02-29", "2013-01-02 00:00", "2013-01-02T00:00:00", "infinity", "2013-13-01", "13-01-02"),
    ],
    C.TIMESTAMP: [
        *("2013-01-02", "2013-01-02 03:04", "2013-01-02 03", "2013-01-02T03:04:05Z", "2013-01-02 03:04:05.1"),
        *("2013-01-02 03:04:05.123456", "2013-01-02 03:04:05.1234567", "2013-01-02 03:04:05.123456999"),
        *("2013-01-02 03:04:05+05", "2013-01-02 03:04:05+05:30", "2013-01-02 03:04:05-0530"),
        *("2013-01-02 03:04:05 UTC", "2013-01-02 03:04:05z", "2013-01-02T03:04:05 Z", "2013-01-02 24:00:00"),
        *("2013-01-02 23:59:60", "0001-01-01 00:00:00", "0000-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
        *("10000-01-01 00:00:00", "2013-01-02 03:04:05 Europe/Berlin", "infinity", "epoch", "1356998400"),
        *("2013-01-02 03:04:05+99:99", "2013-01-02 03:04:05-14:00", "2013-01-02 03:04:05+24:00"),
        *("2013-1-2 3:4:5", "2013-01-02  03:04:05", "2013-01-02 03:04:05+05:30:15", " 2013-01-02 03:04 "),
    ],
}  # fmt: skip
OURS_ALONE = {
    (C.BIGINT, "\u00a01"), (C.INT, "\u00a01"), (C.DOUBLE, "\u00a01"), (C.BOOLEAN, " true "),
    (C.TIMESTAMP, "2013-01-02 03:04:05z"), (C.TIMESTAMP, "2013-01-02T03:04:05 Z"),
}  # fmt: skip
"""White space of any kind around a value is no part of it, and a zone may be written z, or apart."""
_SQL = {
    C.BIGINT: "try_cast({} AS BIGINT)", C.INT: "try_cast({} AS INTEGER)", C.DOUBLE: "try_cast({} AS DOUBLE)",
    C.BOOLEAN: "try_cast({} AS BOOLEAN)", C.TIMESTAMP: "epoch_us(try_cast({} AS TIMESTAMPTZ))",
    C.DATE: "date_diff('day', DATE '1970-01-01', try_cast({} AS DATE))", C.STRING: "{}",
}  # fmt: skip
CASES = [(kind, text) for kind, texts in TEXTS.items() for text in dict.fromkeys(texts)]


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    return made


def theirs(connection: duckdb.DuckDBPyConnection, text: str, kind: C) -> Any:
    try:
        row = connection.execute(f"SELECT {_SQL[kind].format('?')}", [text]).fetchone()
    except duckdb.Error:
        return None
    return row[0] if row else None


def ours(text: str, kind: C) -> Any:
    typed = parse_text(pl.DataFrame({"a": [text.encode()]}), (("a", kind),))
    assert (typed["@reason"][0] is None) != typed["a"].is_null()[0]
    return typed["a"].to_physical()[0]


def agree(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float) and math.isnan(found):
        return math.isnan(wanted)
    return repr(found) == repr(wanted)


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_text_is_read_as_duckdb_reads_it_or_not_at_all(
    connection: duckdb.DuckDBPyConnection, kind: C, text: str
) -> None:
    found, wanted = ours(text, kind), theirs(connection, text, kind)
    if (kind, text) in OURS_ALONE:
        assert found is not None
        assert wanted is None
    else:
        assert found is None or agree(found, wanted), (found, wanted)


numbers = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(repr),
    st.from_regex(r"[+-]?[0-9]{1,20}(\.[0-9]{0,20})?(e[+-]?[0-9]{1,3})?", fullmatch=True),
)
moments = st.one_of(
    st.datetimes().map(str),
    st.dates().map(str),
    st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}"
        r"(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?",
        fullmatch=True,
    ),
)


@settings(max_examples=400)
@given(st.sampled_from([C.BIGINT, C.INT, C.DOUBLE]), numbers)
def test_any_number(connection: duckdb.DuckDBPyConnection, kind: C, text: str) -> None:
    found = ours(text, kind)
    assert found is None or agree(found, theirs(connection, text, kind)), text


@settings(max_examples=400)
@given(st.sampled_from([C.TIMESTAMP, C.DATE]), moments)
def test_any_moment(connection: duckdb.DuckDBPyConnection, kind: C, text: str) -> None:
    found = ours(text, kind)
    assert found is None or agree(found, theirs(connection, text, kind)), text


JSON_VALUES: dict[C, list[str]] = {
    C.BIGINT: ["1", "-1", "1.0", "1e3", "1.5", str(2**63 - 1), str(2**63), "true", '"1"', "[]"],
    C.INT: ["2147483647", "2147483648", "1.0", "true", '"1"', "{}"],
    C.DOUBLE: ["1", "1.5", "1e400", "123456789012345678901", '"1.5"', "true", "0.1", "-0.0"],
    C.BOOLEAN: ["true", "false", "1", '"true"'],
    C.STRING: ['"x"', '""', '"\\u0000"', '"täxt"', '"\\ud83d\\ude00"', "1", "true", "[]"],
    C.DATE: ['"2013-01-02"', '"2013-1-2"', '"0000-01-01"', '"9999-12-31"', "1"],
    C.TIMESTAMP: [
        *('"2013-01-02T03:04:05Z"', '"2013-01-02"', '"2013-01-02 03:04:05.123456+05:30"'),
        *('"9999-12-31T23:59:59Z"', '"0001-01-01T00:00:00Z"', '"2013-01-02 24:00:00"', '"yesterday"'),
        *("1356998400", '"2013-01-02T03:04:05.1234567Z"'),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(k, text) for k, texts in JSON_VALUES.items() for text in texts])
def test_json_is_read_as_duckdb_reads_it_or_not_at_all(
    connection: duckdb.DuckDBPyConnection, kind: C, text: str
) -> None:
    table, kept, broken = parse_json([b'{"a": %s}' % text.encode()], (("a", kind),))
    assert len(kept) + len(broken) == 1
    if not kept:
        return
    found = pl.DataFrame(pl.from_arrow(table))["a"].to_physical()[0]
    value = f"json_extract_string('{json.dumps({'a': json.loads(text)})}', '$.a')"
    (wanted,) = connection.execute(f"SELECT {_SQL[kind].format(value)}").fetchone() or (None,)
    assert agree(found, wanted), (found, wanted)
