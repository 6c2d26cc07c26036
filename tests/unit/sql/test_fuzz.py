"""No text, whatever it is, raises anything but InputError; and what is accepted is well-formed."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from optimizer.algebra.errors import InputError
from optimizer.sql import (
    check,
    check_condition,
    format_query,
    hints,
    parse_predicate,
    parse_query,
    streams_read,
    to_duckdb,
)
from tests.unit.sql.streams import CATALOG, late, windy
from tests.unit.sql.unusable import UNUSABLE

VIEWS = {"late": late(), "windy": windy()}
WORDS = r"""
    SELECT FROM WHERE AND OR NOT JOIN LEFT CROSS ON USING AS BETWEEN IN LIKE IS NULL CASE WHEN THEN ELSE END
    RANGE MINUTES INTERVAL TRUE DISTINCT LIMIT GROUP BY ORDER WITH UNION CAST EXTRACT VALUES EXISTS ALL ANY
    departures weather Clicks late windy d w x at origin delay wind flight day seats number cancelled "AT" "d"
    upper count now substring coalesce round sliding TIMESTAMP DATE json int varchar
    ( ) [ ] { } , . ; : :: = <> < > <= >= + - * / // % ^ || | & ! ? $1 @ # ~ -> => 'a' '' '2013-01-01' 1 0 2.5
    1e9 1e400 99999999999999999999 ' " -- /* */ \ ` $$ E'x' x'0' N'x' 'sliding' '10' 'minutes'
""".split()  # noqa: SIM905 - words read better than a list of them
WORDS += ["\n", "\t", "\r"]
VALID = """
    SELECT d.flight AS f, w.wind * 2 + 1, upper(d.origin) || '!', CASE WHEN d.seats > 1 THEN 'x' ELSE NULL END
    FROM departures('sliding', '10', 'minutes') AS d JOIN weather [RANGE 1.5 HOURS] w USING (origin), late l
    WHERE d.at BETWEEN '2013-01-01' AND '2014-01-01' AND NOT (d.seats = 5 OR d.delay IN (1, 2, NULL))
    AND w.day <= d.at AND EXTRACT(hour FROM d.at) = 5 AND d.flight NOT LIKE 'a%' AND l.flight = d.flight
    AND d.at - w.at < INTERVAL '5 minutes' AND CAST(d.delay AS int) % 3 = 1 -- why
""".strip()

soup = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
glued = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
prefixed = soup.map("SELECT d.at FROM departures d WHERE ".__add__)
listed = soup.map(lambda words: f"SELECT {words} FROM departures d, weather w WHERE d.origin = w.origin")
sourced = soup.map("SELECT 1 FROM ".__add__)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid query with some stretches cut out, doubled or replaced."""
    text = VALID
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        inserted = draw(
            st.one_of(st.just(""), st.sampled_from(WORDS), st.text(max_size=3), st.just(text[start:end] * 2))
        )
        text = text[:start] + inserted + text[end:]
    return text


texts = st.one_of(st.text(max_size=60), soup, glued, prefixed, listed, sourced, mutated())


@settings(max_examples=200, deadline=None)
@given(texts)
@example("SELECT " + "(" * 2000)
@example("SELECT d.at FROM departures d WHERE " + "NOT " * 5000 + "TRUE")
@example("SELECT d.at FROM departures d WHERE " + " AND ".join(["d.delay > 1"] * 2000))
@example("SELECT d.at FROM departures d WHERE " + " OR ".join(f"d.delay > {n}" for n in range(500)))
@example("SELECT d.at FROM departures d WHERE " + "CASE WHEN TRUE THEN " * 100)
@example("SELECT " + ".".join(["a"] * 1000) + " FROM departures")
@example("SELECT d.at FROM departures d WHERE d.delay > " + "-" * 1001 + "1")
@example("' '")
def test_only_input_errors(text: str) -> None:
    errors = check(text, CATALOG, VIEWS)
    if errors:
        with pytest.raises(InputError) as caught:
            parse_query(text, "query", CATALOG, VIEWS)
        error = caught.value
        assert str(errors[0]) == str(error)
        assert error.place.line is not None
        assert error.found
        assert error.expected
        return
    query = parse_query(text, "query", CATALOG, VIEWS)
    assert to_duckdb(query, CATALOG)
    assert parse_query(format_query(text), "query", CATALOG, VIEWS) == query
    assert format_query(format_query(text)) == format_query(text)
    assert all(hint.suggestion for hint in hints(text, CATALOG, VIEWS))


@settings(max_examples=100, deadline=None)
@given(texts)
def test_other_readers_raise_only_input_errors(text: str) -> None:
    with contextlib.suppress(InputError):
        parse_query(text, "query", None)
    with contextlib.suppress(InputError):
        parse_predicate(text, CATALOG)
    with contextlib.suppress(InputError):
        check_condition(text)
    with contextlib.suppress(InputError):
        format_query(text)
    streams_read(text)


def test_valid_query_is_accepted() -> None:
    assert check(VALID, CATALOG, VIEWS) == []


def test_corpus_without_catalog_raises_only_input_errors() -> None:
    for text in UNUSABLE.values():
        with contextlib.suppress(InputError):
            parse_query(text, "query", None)
