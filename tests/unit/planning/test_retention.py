"""How long tuples are needed: what follows from predicates and windows, and that it changes no result."""

from __future__ import annotations

from random import Random

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.retention import retentions, with_retentions
from optimizer.logical.stream import Stream
from optimizer.sql import null_where_it_errs, parse_query, to_duckdb

COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    ("k", ColumnType.INT),
    ("begun", ColumnType.TIMESTAMP),
    ("day", ColumnType.DATE),
)
CATALOG = Catalog.of(Stream(name, COLUMNS, "at") for name in "abcd")
SECOND, HOUR = 1_000_000, 3_600_000_000
MONTH = 31 * 24 * HOUR
BEGUN = "b.begun = a.at AND b.at >= b.begun AND b.at <= b.begun + INTERVAL 1 HOUR"


def query(sources: str, *conditions: str) -> Query:
    return parse_query(f"SELECT a.k FROM {sources} WHERE {' AND '.join(conditions)}", "q", CATALOG)


@pytest.mark.parametrize(
    ("sources", "conditions", "expected"),
    [
        # Without conditions on times, windows are what they are.
        ("a, b", "a.k = b.k", {"a": None, "b": None}),
        ("a [RANGE 1 HOUR], b", "a.k = b.k", {"a": HOUR, "b": None}),
        ("a", "a.at < a.begun", {"a": None}),
        # Whatever is never newer need not be waited for.
        ("a, b", "b.at >= a.at", {"a": None, "b": 0}),
        ("a, b", "b.at > a.at + INTERVAL 1 HOUR", {"a": None, "b": 0}),
        ("a, b", "b.at = a.at", {"a": 0, "b": 0}),
        (
            "a, b",
            "b.at BETWEEN a.at - INTERVAL 5 MINUTES AND a.at + INTERVAL 1 HOUR",
            {"a": HOUR, "b": HOUR // 12},
        ),
        ("a, b", "a.at < b.at + INTERVAL 1 HOUR", {"a": None, "b": HOUR}),
        ("a, b", "NOT (a.at >= b.at + INTERVAL 1 HOUR)", {"a": None, "b": HOUR}),
        ("a, b", "a.at - b.at <= INTERVAL 1 HOUR", {"a": None, "b": HOUR}),
        ("a, b", "-(b.at - a.at) <= INTERVAL 30 MINUTES * 2", {"a": None, "b": HOUR}),
        ("a, b", "a.at + INTERVAL 1 HOUR >= b.at + INTERVAL 2 HOURS", {"a": 0, "b": None}),
        # The tighter of window and condition; the looser one says nothing.
        ("a [RANGE 2 HOURS], b", "b.at <= a.at + INTERVAL 1 HOUR", {"a": HOUR, "b": None}),
        ("a [RANGE 1 HOUR], b", "b.at <= a.at + INTERVAL 2 HOURS", {"a": HOUR, "b": None}),
        ("a [RANGE UNBOUNDED], b", "b.at <= a.at + INTERVAL 1 HOUR", {"a": HOUR, "b": None}),
        # Chains, and a window that reaches through one.
        (
            "a, b, c",
            "b.at <= a.at + INTERVAL 1 HOUR AND c.at < b.at - INTERVAL 10 MINUTES",
            {"a": HOUR, "b": None, "c": None},
        ),
        (
            "a, b [RANGE 1 HOUR] CROSS JOIN c",
            "b.at <= a.at - INTERVAL 10 MINUTES",
            {"a": 50 * 60 * SECOND, "b": HOUR, "c": None},
        ),
        (
            "a, b, c, d",
            "b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR AND c.at BETWEEN b.at AND b.at + INTERVAL 1 HOUR"
            " AND d.at BETWEEN c.at AND c.at + INTERVAL 1 HOUR",
            {"a": 3 * HOUR, "b": 2 * HOUR, "c": HOUR, "d": 0},
        ),
        # Through other columns, truncation and dates.
        ("a, b", BEGUN, {"a": HOUR, "b": 0}),
        ("a, b", "DATE_TRUNC('hour', a.at) = DATE_TRUNC('hour', b.at)", {"a": HOUR, "b": HOUR}),
        ("a, b", "DATE_TRUNC('hour', a.at) < DATE_TRUNC('hour', b.at)", {"a": None, "b": 0}),
        ("a, b", "DATE_TRUNC('hour', a.at) <= DATE_TRUNC('minute', b.at)", {"a": None, "b": HOUR}),
        ("a, b", "CAST(a.at AS DATE) = CAST(b.at AS DATE)", {"a": 24 * HOUR, "b": 24 * HOUR}),
        ("a, b", "b.day = DATE_TRUNC('day', a.at) AND b.at >= b.day", {"a": None, "b": 24 * HOUR}),
        ("a, b", "DATE_TRUNC('month', a.at) = DATE_TRUNC('month', b.at)", {"a": MONTH, "b": MONTH}),
        # Nothing of this kind.
        ("a, b", "a.at <> b.at", {"a": None, "b": None}),
        ("a, b", "a.at <= b.at OR a.k = 1", {"a": None, "b": None}),
        ("a, b", "a.at <= b.at + INTERVAL 1 SECOND * b.k", {"a": None, "b": None}),
        ("a, b", "(a.at - b.at) + (a.at - b.at) <= INTERVAL 1 HOUR", {"a": None, "b": None}),
        # Conditions that exclude each other narrow nothing.
        ("a [RANGE 1 HOUR], b", "a.at < b.at AND b.at < a.at", {"a": HOUR, "b": None}),
    ],
)  # fmt: skip
def test_what_is_needed_follows(sources: str, conditions: str, expected: dict[str, int | None]) -> None:
    found = retentions(query(sources, conditions), CATALOG)
    assert {one.alias: one.window.reach_us for one in found} == expected


def test_the_reason_is_what_was_written() -> None:
    asked = query("a, b, c [RANGE 5 MINUTES]", BEGUN, "c.at >= b.at")
    assert {one.alias: one.because for one in retentions(asked, CATALOG)} == {
        "a": (),
        "b": (),
        "c": ("b.at <= c.at", "b.at >= b.begun", "a.at = b.begun"),
    }
    asked = query("a, b, c [RANGE 5 MINUTES]", BEGUN, "c.at <= b.at")
    assert {one.alias: one.because for one in retentions(asked, CATALOG)} == {
        "a": ("a.at = b.begun", "b.at <= b.begun + INTERVAL '1' HOUR"),
        "b": ("b.at >= b.begun", "a.at = b.begun"),
        "c": ("c [RANGE 5 MINUTES]",),
    }


MOMENTS = ("{}.at", "{}.begun", "{}.day", "DATE_TRUNC('{unit}', {}.at)", "CAST({}.at AS DATE)",
           "DATE_TRUNC('{unit}', {}.begun + INTERVAL '90' MINUTE)")  # fmt: skip
OFFSETS = ("", " + INTERVAL '1' HOUR", " - INTERVAL '30' MINUTE", " + INTERVAL '1' DAY",
           " - INTERVAL '1' MICROSECOND")  # fmt: skip
UNITS = ("millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
SOURCES = ("{0} AS {0}", "{0} [RANGE 40 MINUTES] AS {0}", "{0} [RANGE 0 SECONDS] AS {0}")
AROUND = ("2024-02-29 23:00:00", "1969-12-29 00:00:00", "2023-12-31 23:59:59.999999", "0001-01-01 00:00:00")
EXTREME = ("infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806")


@st.composite
def conditions(draw: st.DrawFn, aliases: str) -> str:
    sides = []
    for alias in draw(st.permutations(aliases))[:2]:
        moment = draw(st.sampled_from(MOMENTS)).replace("{unit}", draw(st.sampled_from(UNITS)))
        sides.append(moment.replace("{}", alias) + draw(st.sampled_from(OFFSETS)))
    comparison = draw(st.sampled_from(("<", "<=", "=", ">", ">=")))
    if draw(st.integers(0, 4)) == 0:
        length = draw(st.sampled_from(("-INTERVAL '1' MINUTE", "INTERVAL '1' HOUR", "INTERVAL '0' SECOND")))
        timestamps = [f"({side} + INTERVAL '0' SECOND)" for side in sides]
        return f"{timestamps[0]} - {timestamps[1]} {comparison} {length}"
    return f"{sides[0]} {comparison} {sides[1]}"


def times(random: Random) -> list[str]:
    """Moments near each other, for columns of one tuple, and a few at the ends of time."""
    around = random.choice(AROUND) if random.random() < 0.9 else random.choice(EXTREME[2:])
    found = []
    for _ in range(3):
        step = random.choice((1, 1_000, SECOND, 60 * SECOND, HOUR, 24 * HOUR)) * random.randint(-2, 2)
        moved = f"TIMESTAMP '{around}' + INTERVAL ({step}) MICROSECOND"
        found.append(f"coalesce(TRY({moved}), TIMESTAMP '{around}')")
    extreme = [f"TIMESTAMP '{random.choice(EXTREME)}'" for _ in range(2)]
    return [
        found[0],
        *(e if random.random() < 0.1 else one for one, e in zip(found[1:], extreme, strict=True)),
    ]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_no_result_needs_a_tuple_for_longer(data: st.DataObject, seed: int) -> None:
    aliases = data.draw(st.sampled_from(("ab", "abc", "abcd")))
    sources = [data.draw(st.sampled_from(SOURCES)).format(alias) for alias in aliases]
    said = data.draw(st.lists(conditions(aliases), min_size=len(aliases) - 1, max_size=len(aliases) + 2))
    asked = query(" CROSS JOIN ".join(sources), *said)
    needed = {one.alias: one.window.reach_us for one in retentions(asked, CATALOG)}
    assert [i.window for i in with_retentions(asked, CATALOG).inputs] == [
        one.window for one in retentions(asked, CATALOG)
    ]
    random = Random(seed)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for alias in aliases:
            rows = [times(random) for _ in range(12)]
            values = ", ".join(f"({at}, 1, {begun}, CAST({day} AS DATE))" for at, begun, day in rows)
            connection.execute(
                f'CREATE TABLE {alias} AS SELECT * FROM (VALUES {values}) AS rows ("at", k, begun, "day")'
            )
        moments = ", ".join(f'epoch_us({alias}."at")' for alias in aliases)
        text = to_duckdb(asked, CATALOG, beside=(moments,), around=null_where_it_errs)
        for row in connection.execute(text).fetchall():
            found = dict(zip(aliases, row[1:], strict=True))
            for alias, reach_us in needed.items():
                assert reach_us is None or max(found.values()) - found[alias] <= reach_us, (text, row)
