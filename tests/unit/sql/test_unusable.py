"""Every unusable query is answered with one line that names the place and what is expected.

The lines are in golden/unusable.txt; run `python -m tests.unit.sql.test_unusable` to write it anew
after a change that is meant.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.algebra.errors import InputError
from optimizer.sql import check, parse_query
from tests.unit.sql.streams import CATALOG
from tests.unit.sql.unusable import UNUSABLE

GOLDEN = Path(__file__).parent / "golden" / "unusable.txt"


def answer(text: str) -> str:
    """The one-line error, with the last underlined column and the code."""
    with pytest.raises(InputError) as caught:
        parse_query(text, "q", CATALOG)
    error = caught.value
    return f"[{error.code} to {error.place.end_column}] {error}"


def golden() -> dict[str, str]:
    return dict(line.split(" => ", 1) for line in GOLDEN.read_text("utf-8").splitlines())


@pytest.mark.parametrize("name", UNUSABLE)
def test_error_line(name: str) -> None:
    line = answer(UNUSABLE[name])
    assert "\n" not in line
    assert line == golden()[name]


@pytest.mark.parametrize("name", UNUSABLE)
def test_check_finds_the_same_first_error(name: str) -> None:
    first = check(UNUSABLE[name], CATALOG)[0]
    with pytest.raises(InputError) as caught:
        parse_query(UNUSABLE[name], "query", CATALOG)
    assert str(first) == str(caught.value)


@pytest.mark.parametrize("name", UNUSABLE)
def test_underlined_text_lies_within_the_line(name: str) -> None:
    lines = UNUSABLE[name].split("\n")
    for error in check(UNUSABLE[name], CATALOG):
        place = error.place
        assert place.line is not None
        assert place.column is not None
        assert place.end_column is not None
        assert 1 <= place.line <= len(lines)
        assert 1 <= place.column < place.end_column <= len(lines[place.line - 1]) + 2


def test_check_finds_all_errors() -> None:
    text = "SELECT d.orign, uper(d.flight)\nFROM departures d\nWHERE d.delay > 'x'\n  AND d.nope = 1\nLIMIT 5"
    found = [(e.code, e.place.line) for e in check(text, CATALOG)]
    assert found == [
        ("unknown-column", 1),
        ("unknown-function", 1),
        ("type-mismatch", 3),
        ("unknown-column", 4),
        ("unsupported", 5),
    ]


def test_names_of_an_unreadable_stream_are_not_reported() -> None:
    assert [
        e.code for e in check("SELECT x.a, d.at FROM departures d, nope x WHERE x.b = d.at", CATALOG)
    ] == ["unknown-stream"]


def test_error_in_line_33_of_40() -> None:
    lines = [f"  AND d.delay > {n}" for n in range(40)]
    lines[0:3] = ["SELECT d.at", "FROM departures d", "WHERE d.delay > 0"]
    lines[32] = "  AND d.delai > 5"
    with pytest.raises(InputError) as caught:
        parse_query("\n".join(lines), "q", CATALOG, source="q.sql")
    place = caught.value.place
    assert (place.line, place.column, place.end_column) == (33, 7, 14)
    assert str(caught.value).startswith("q.sql:33:7: found column d.delai, expected a column of departures")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_count_alike_whatever_ends_them(end: str) -> None:
    text = end.join(
        ["SELECT d.at", "-- a comment", "FROM departures [RANGE 5 MINUTES] d", "WHERE d.nope = 1"]
    )
    place = check(text, CATALOG)[0].place
    assert (place.line, place.column) == (4, 7)


if __name__ == "__main__":
    GOLDEN.write_text("".join(f"{name} => {answer(text)}\n" for name, text in UNUSABLE.items()), "utf-8")
