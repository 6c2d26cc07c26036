"""Parameters: a text with them means what the text with their values means."""

from __future__ import annotations

import pytest

from optimizer.algebra.errors import InputError
from optimizer.sql import check, format_query, parse_query
from tests.unit.sql.streams import CATALOG, parse

WITH = """-- Late and windy.
-- :late = 30
--:Hours=1.5
-- :place = 'JFK''s'
-- :low = -5
SELECT d.delay - :late AS over FROM departures [RANGE :hours HOURS] AS d
WHERE d.delay > :late AND d.delay > :LOW AND d.origin <> :place AND d.at > d.at - INTERVAL :late MINUTES
"""
WITHOUT = """SELECT d.delay - 30 AS over FROM departures [RANGE 1.5 HOURS] AS d
WHERE d.delay > 30 AND d.delay > -5 AND d.origin <> 'JFK''s' AND d.at > d.at - INTERVAL 30 MINUTES
"""


def test_a_text_with_parameters_means_what_it_means_with_their_values() -> None:
    assert parse(WITH) == parse(WITHOUT)


def test_formatting_keeps_parameters_and_their_declarations() -> None:
    formatted = format_query(WITH)
    assert parse(formatted) == parse(WITHOUT)
    for line in ("-- :late = 30", "--:Hours=1.5", "-- :place = 'JFK''s'"):
        assert line in formatted
    assert "d.delay > :late" in formatted
    assert "[RANGE :hours HOURS]" in formatted
    assert format_query(formatted) == formatted


@pytest.mark.parametrize(
    ("head", "condition", "code", "found", "suggestion", "marked"),
    [
        ("-- :late = 30", "d.delay > :lat", "unknown-parameter", "parameter :lat", ":late", ":lat"),
        ("-- nothing", "d.delay > :late", "unknown-parameter", "parameter :late", None, ":late"),
        ("-- :late = JFK", "d.origin = :late", "bad-parameter", "JFK", "'JFK'", "JFK"),
        ("-- :late =", "d.delay > :late", "bad-parameter", "no value for :late", None, ":late"),
        (
            "-- :late = 1\n-- :LATE = 2",
            "d.delay > :late",
            "duplicate-parameter",
            "parameter :LATE twice",
            None,
            ":LATE",
        ),
    ],
)
def test_what_is_wrong_with_a_parameter_is_said_at_its_place(
    head: str, condition: str, code: str, found: str, suggestion: str | None, marked: str
) -> None:
    text = f"{head}\nSELECT d.at FROM departures [RANGE 1 MINUTE] AS d WHERE   {condition}"
    (error,) = check(text, CATALOG)
    assert (error.code, error.found, error.suggestion) == (code, found, suggestion)
    line = text.splitlines()[(error.place.line or 0) - 1]
    assert line[(error.place.column or 0) - 1 : (error.place.end_column or 0) - 1] == marked


def test_errors_behind_a_parameter_stand_where_the_text_has_them() -> None:
    text = "-- :late = 12345678\nSELECT d.at FROM departures AS d WHERE d.delay > :late AND d.orign = 'JFK'"
    (error,) = check(text, CATALOG)
    column = text.splitlines()[1].index("d.orign") + 1
    assert (error.place.line, error.place.column, error.suggestion) == (2, column, "d.origin")


def test_a_text_in_place_of_a_number_is_refused_at_the_parameter() -> None:
    text = "-- :late = 'x'\nSELECT d.at FROM departures AS d WHERE ABS(:late) > d.delay"
    with pytest.raises(InputError) as raised:
        parse_query(text, "q", CATALOG)
    assert raised.value.place.line == 2


def test_a_line_behind_select_declares_nothing() -> None:
    text = "SELECT d.at FROM departures AS d\n-- :late = 30\nWHERE d.delay > :late"
    (error,) = check(text, CATALOG)
    assert error.code == "unknown-parameter"
