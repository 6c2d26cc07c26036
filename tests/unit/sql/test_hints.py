"""Hints at what a query keeps for ever without saying so: each bounds it when it is followed."""

from __future__ import annotations

import pytest

from optimizer.algebra.errors import InputError
from optimizer.logical.retention import retentions
from optimizer.sql import hints, parse_query
from tests.unit.sql.streams import CATALOG

ALL = "SELECT d.flight FROM departures AS d, weather AS w WHERE d.origin = w.origin"


def followed(text: str, hint: InputError) -> str:
    """The text as the editor has it after a click."""
    lines = text.split("\n")
    place = hint.place
    assert place.line is not None
    assert place.column is not None
    assert place.end_column is not None
    line = lines[place.line - 1]
    lines[place.line - 1] = line[: place.column - 1] + (hint.suggestion or "") + line[place.end_column - 1 :]
    return "\n".join(lines)


def unbounded(text: str) -> set[str]:
    kept = retentions(parse_query(text, "q", CATALOG), CATALOG)
    return {one.alias for one in kept if not one.window.is_bounded}


@pytest.mark.parametrize(
    ("text", "aliases"),
    [
        (ALL, {"d", "w"}),
        (ALL.replace("AS w", "[RANGE UNBOUNDED] AS w"), {"d"}),
        (ALL.replace("departures", "departures [RANGE 5 MINUTES]"), {"w"}),
        (ALL.replace("departures", '"departures"') + " -- the end\n;", {"d", "w"}),
        (ALL + " AND w.at <= d.at", {"w"}),
        (ALL + " AND w.at = d.at", set()),
        ("SELECT flight FROM departures", set()),
        ("SELECT d.flight FROM departures AS d CROSS JOIN weather AS w", {"d", "w"}),
        ("SELECT d.flight FROM departures AS d JOIN weather AS w USING (origin)", {"d", "w"}),
        ('SELECT d.day FROM departures d, weather w, Clicks AS "C" WHERE d.at = w.at AND d.seats = "C".seats',
         {"d", "w", "C"}),
        ("SELECT d.at FROM departures d, weather w, Clicks c WHERE d.day = w.day AND d.seats = c.seats",
         {"d", "w", "c"}),
    ],
)  # fmt: skip
def test_every_hint_bounds_what_it_is_about(text: str, aliases: set[str]) -> None:
    found = hints(text, CATALOG)
    assert {hint.found.split(" without")[0] for hint in found} == aliases
    assert len(found) == 2 * len(aliases)
    for hint in found:
        assert unbounded(followed(text, hint)) < unbounded(text)


def test_the_condition_is_one_that_can_be_inserted() -> None:
    condition = hints(ALL, CATALOG)[1]
    assert condition.code == "add-condition"
    assert followed(ALL, condition) == f"{ALL}\n  AND w.at <= d.at + INTERVAL '1' HOUR"


def test_nothing_is_added_to_an_or() -> None:
    found = hints(f"{ALL} OR d.delay > w.wind", CATALOG)
    assert [hint.code for hint in found] == ["unbounded", "unbounded"]


def test_conditions_that_exclude_each_other_are_helped_by_windows_alone() -> None:
    found = hints(f"{ALL} AND d.at < w.at AND w.at < d.at", CATALOG)
    assert [hint.code for hint in found] == ["unbounded", "unbounded"]


def test_what_means_nothing_gives_no_hints() -> None:
    assert hints("SELECT nothing FROM nowhere", CATALOG) == []
