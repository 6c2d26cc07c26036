"""Fixtures are read with their places; what cannot be is named by line, found and expected."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from jobs.verification.setups import in_order, shuffled
from optimizer.algebra.errors import InputError
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.sql import parse_query
from optimizer.workload import read_streams
from optimizer.workload.fixtures import FixturesDocument, GivenTuple

STREAMS = """
streams:
  r: {event_time: at, lateness: 1 minute, columns: {at: timestamp, a: int, d: double, day: date, b: boolean}}
  j: {event_time: at, late: join, columns: {at: timestamp, a: int}}
  t: {event_time: at, kind: table, key: a, columns: {at: timestamp, a: int}}
"""
CATALOG, _ = read_streams(STREAMS, "streams.yaml")
QUERY = parse_query(
    "SELECT r.a, r.d, r.day, r.at FROM r [RANGE 1 HOUR], j [RANGE 1 HOUR] WHERE r.a = j.a", "q", CATALOG
)


def read(text: str, query: Query = QUERY, catalog: Catalog = CATALOG) -> Sequence[object]:
    return FixturesDocument("q.test.yaml", query, catalog).read(text)


def test_values_have_the_types_of_their_columns() -> None:
    (case,) = read(
        """
one:
  given:
    r: [{at: 2013-01-01 10:00, a: -3, d: .inf, day: 2013-01-02, b: True}]
  expect: [{a: 1_0, d: 1e3, day: null}]
"""
    )
    assert case.given[0].row == {  # type: ignore[attr-defined]
        "at": datetime(2013, 1, 1, 10, tzinfo=UTC),
        "a": -3,
        "d": float("inf"),
        "day": datetime(2013, 1, 2).date(),  # noqa: DTZ001
        "b": True,
    }
    assert case.expect == ({"a": 10, "d": 1000.0, "day": None, "at": None},)  # type: ignore[attr-defined]


def test_decimals_keep_their_digits() -> None:
    catalog, _ = read_streams(
        "streams: {r: {event_time: at, columns: {at: timestamp, p: 'decimal(20,2)'}}}", "streams.yaml"
    )
    query = parse_query("SELECT r.p, r.p * 2.5 AS q FROM r", "q", catalog)
    tuples = "{at: 2013-01-01, p: 123456789012345678.9}, {at: 2013-01-01, p: '-0.010'}"
    (case,) = read(f"one: {{given: {{r: [{tuples}]}}, expect: [{{p: 1_0, q: null}}]}}", query, catalog)
    found = [str(one.row["p"]) for one in case.given]  # type: ignore[attr-defined]
    assert found == ["123456789012345678.90", "-0.01"]
    assert case.expect == ({"p": Decimal(10), "q": None},)  # type: ignore[attr-defined]
    for text in ("0.001", "1000000000000000000", "nan", "1e3"):
        with pytest.raises(
            InputError, match=r"found .*, expected digits that a decimal\(20,2\) has, or null"
        ):
            read(f"one: {{given: {{r: [{{at: 2013-01-01, p: {text}}}]}}, expect: []}}", query, catalog)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "q.test.yaml:1:1: found nothing, expected at least one case"),
        ("- 1", "q.test.yaml:1:1: found a list, expected key: value entries"),
        ("x: {given: {}}", "q.test.yaml:1:4: x: found no expect, expected expect: a list of results"),
        ("x: {given: {s: []}, expect: []}", "x.given.s: found stream s, expected a stream that"),
        ("x: {giv: {}, expect: []}", "did you mean given?"),
        ("x: {given: {r: [{c: 1}]}, expect: []}", "x.given.r.0.c: found c, expected a column of r: at, a"),
        ("x: {given: {r: [{a: 3000000000}]}, expect: []}", "expected a whole number of 32 bits, or null"),
        ("x: {given: {r: [{a: 1.5}]}, expect: []}", "q.test.yaml:1:21: x.given.r.0.a: found 1.5"),
        ("x: {given: {r: [{at: noon}]}, expect: []}", "expected a time such as 2013-01-01T10:00:00Z"),
        ("x: {given: {r: [{b: maybe}]}, expect: []}", "found maybe, expected true or false"),
        ("x: {expect: [{e: 1}]}", "x.expect.0.e: found e, expected a output of the query: a, d, day, at"),
        ("x: {expect: 3}", "x.expect: found 3, expected a list"),
        (
            "x:\n  given: {r: [{at: 2013-01-01 10:00}]}\n  late: {r: [{at: 2013-01-01 09:59}]}\n  expect: []",
            "q.test.yaml:3:14: x.late.r.0: found 2013-01-01T09:59:00+00:00 for a late tuple of r, expected "
            "a time before 2013-01-01T09:59:00+00:00",
        ),
        ("x:\n  late: {r: [{at: 2013-01-01}]}\n  expect: []", "expected tuples of it that are given before"),
        ("x:\n  late: {j: [{at: 2013-01-01}]}\n  expect: []", "expected one that drops late tuples"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read(text)
    assert said in str(raised.value)


@pytest.mark.parametrize("seed", range(40))
def test_in_a_shuffled_order_nothing_is_late_however_it_is_cut(seed: int) -> None:
    """Checked against the meaning of lateness with every tuple a batch of its own, the strictest cut."""
    chance = random.Random(seed)
    start = datetime(2013, 1, 1, tzinfo=UTC)
    given = tuple(
        GivenTuple(
            stream,
            {"at": start + timedelta(seconds=chance.randint(0, 200)), "a": n},
            None,  # type: ignore[arg-type]
        )
        for n, stream in enumerate(chance.choices("rjt", k=30))
    )
    for order in (shuffled(given, CATALOG, chance), in_order(given, CATALOG)):
        assert sorted(map(id, order)) == sorted(map(id, given))
        newest: dict[str, datetime] = {}
        for one in order:
            time = one.row["at"]
            assert isinstance(time, datetime)
            if one.stream == "t":
                marks = [newest[name] - CATALOG[name].lateness for name in "rj" if name in newest]
                assert len(marks) < 2 or time >= min(marks)
            elif one.stream in newest:
                assert time >= newest[one.stream] - CATALOG[one.stream].lateness
            newest[one.stream] = max(time, newest.get(one.stream, time))
    orders = {tuple(one.row["a"] for one in shuffled(given, CATALOG, chance)) for _ in range(5)}
    assert len(orders) > 1
