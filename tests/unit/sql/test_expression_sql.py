"""`to_sql` writes an expression that parses back into itself, with no more parentheses than needed."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings

from optimizer.algebra.expression import Call, Column, Literal
from optimizer.algebra.render import quote_if_needed, to_duckdb_sql, to_sql
from optimizer.algebra.types import ColumnType as T
from tests.unit.sql.streams import parse
from tests.unit.sql.test_duckdb import EXPRESSIONS, conditions

READABLE = {
    "delay>60 and (seats=1 or cancelled)": (
        "departures.delay > 60 AND (departures.cancelled OR departures.seats = 1)"
    ),
    "not (seats in (1,2))": "departures.seats NOT IN (1, 2)",
    "flight not like 'a%'": "departures.flight NOT LIKE 'a%'",
    "flight is not null": "departures.flight IS NOT NULL",
    "(seats - 1) - (2 - number)": "departures.seats - 1 - (2 - departures.number)",
    "(seats + 1) * 2": "(departures.seats + 1) * 2",
    "-(-seats)": "-(-departures.seats)",
    "at - interval '90 seconds'": "departures.at - INTERVAL '90' SECOND",
    "at > '2013-01-01 10:00'": "departures.at > TIMESTAMP '2013-01-01 10:00:00'",
    "case when cancelled then 'it''s' end": "CASE WHEN departures.cancelled THEN 'it''s' ELSE NULL END",
    "delay < 0.5": "departures.delay < 0.5",
    "cast(delay as int) % 3": "CAST(departures.delay AS INT) % 3",
}
OF_DAY = "cast(at as date) + cast(at as time)"


@pytest.mark.parametrize("text", READABLE)
def test_readable(text: str) -> None:
    assert to_sql(parse(f"SELECT {text} AS x FROM departures").outputs[0].expression) == READABLE[text]


@pytest.mark.parametrize("text", [*EXPRESSIONS, "seats = 1 + NULL + number", "seats + NULL::bigint", OF_DAY])
def test_reading_back(text: str) -> None:
    expression = parse(f"SELECT {text} AS x FROM departures").outputs[0].expression
    assert parse(f"SELECT {to_sql(expression)} AS x FROM departures").outputs[0].expression == expression


@settings(max_examples=100, deadline=None)
@given(conditions)
def test_random_conditions_read_back(condition: str) -> None:
    expression = parse(f"SELECT {condition} AS x FROM departures").outputs[0].expression
    assert parse(f"SELECT {to_sql(expression)} AS x FROM departures").outputs[0].expression == expression


def test_names_are_quoted_only_where_needed() -> None:
    assert [quote_if_needed(name) for name in ("a", "a_1", "A", "1a", "a b", 'a"b', "")] == [
        "a", "a_1", '"A"', '"1a"', '"a b"', '"a""b"', '""',
    ]  # fmt: skip


def test_duckdb_text_has_exact_types() -> None:
    half = Call("lt", (Column("d", "x", T.INT), Literal(0.5, T.DOUBLE)), T.BOOLEAN)
    assert to_duckdb_sql(half) == '"d"."x" < 0.5e0'
    assert to_duckdb_sql(Literal(5, T.BIGINT)) == "CAST(5 AS BIGINT)"
    assert to_duckdb_sql(Literal(None, T.DATE)) == "CAST(NULL AS DATE)"
    assert to_duckdb_sql(Literal("ab", T.BINARY)) == "from_hex('ab')"


@pytest.mark.parametrize("us", [1, -1, 2**53, 2**53 + 1, -(2**53) - 1, -252_071_827_199_999_999, 2**63 - 1])
def test_an_interval_is_every_one_of_its_microseconds_in_duckdb(us: int) -> None:
    text = to_duckdb_sql(Literal(us, T.INTERVAL))
    # A result that is not read to its end keeps the connection, which all tests share, from other work.
    assert duckdb.sql(f"SELECT epoch_us({text})").fetchall() == [(us,)]


def test_a_constant_of_long_intervals_is_folded_exactly() -> None:
    query = parse(
        "SELECT EPOCH_US(TIMESTAMP '1971-10-03 00:00:00' + "
        "(TIMESTAMP '9999-12-30 23:59:59.999999' - TIMESTAMP '2012-02-29 00:00:00')) AS y FROM departures"
    )
    # One microsecond was lost: intervals in quotes are read as doubles.
    assert query.outputs[0].expression == Literal(252_127_123_199_999_999 - 86_400_000_000, T.BIGINT)
