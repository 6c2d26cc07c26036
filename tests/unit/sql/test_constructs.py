"""What each construct of the language means, as inputs, predicates and outputs.

A case is a text and its meaning, written with `to_sql`; `=` of two queries is checked where
two ways of writing mean the same.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from optimizer.algebra.types import ColumnType as T
from optimizer.logical.query import Query
from optimizer.sql import parse_query, to_sql
from tests.unit.sql.streams import CATALOG, late, parse, windy


def predicates(query: Query) -> list[str]:
    return sorted(to_sql(predicate) for predicate in query.predicates)


def outputs(query: Query) -> dict[str, str]:
    return {output.name: to_sql(output.expression) for output in query.outputs}


def windows(query: Query) -> dict[str, timedelta | None]:
    reaches = {item.alias: item.window.reach_us for item in query.inputs}
    return {alias: None if us is None else timedelta(microseconds=us) for alias, us in reaches.items()}


WINDOWS = {
    "('sliding', '10', 'minutes')": timedelta(minutes=10),
    "('sliding','10','minute')": timedelta(minutes=10),
    "( 'SLIDING' , 10 , 'MINUTES' )": timedelta(minutes=10),
    "('sliding', '0.5', 'hours')": timedelta(minutes=30),
    "('sliding', '250', 'milliseconds')": timedelta(milliseconds=250),
    "('sliding', '0', 'seconds')": timedelta(0),
    " [RANGE 10 MINUTES]": timedelta(minutes=10),
    "[range 1 minute]": timedelta(minutes=1),
    " [RANGE '10' MINUTES]": timedelta(minutes=10),
    " [RANGE 1.5 HOURS]": timedelta(minutes=90),
    " [RANGE .5 DAYS]": timedelta(hours=12),
    " [RANGE 1e1 s]": timedelta(seconds=10),
    " [RANGE 1_000 ms]": timedelta(seconds=1),
    " [RANGE 2 WEEKS]": timedelta(days=14),
    " [RANGE 7 microseconds]": timedelta(microseconds=7),
    " [RANGE 0 SECONDS]": timedelta(0),
    " [RANGE UNBOUNDED]": None,
    "": None,
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("alias", ["", " d", " AS d"])
def test_window(window: str, alias: str) -> None:
    query = parse(f"SELECT delay FROM departures{window}{alias}")
    assert list(windows(query).values()) == [WINDOWS[window]]


def test_window_behind_the_alias() -> None:
    assert parse("SELECT d.at FROM departures d [RANGE 5 SECONDS]") == parse(
        "SELECT d.at FROM departures [RANGE 5 SECONDS] d"
    )


def test_streams_that_are_called_like_keywords_of_functions() -> None:
    query = parse_query("SELECT left.a, date.a FROM \"left\"('sliding', '1', 'hour'), date [RANGE 1 HOUR] "
                        "WHERE left.a = date.a", "q", None)  # fmt: skip
    assert windows(query) == {"left": timedelta(hours=1), "date": timedelta(hours=1)}


SAME = {
    "comma and join": [
        "SELECT d.at FROM departures d, weather w WHERE d.origin = w.origin AND wind > 5",
        "SELECT d.at FROM departures d JOIN weather w ON d.origin = w.origin WHERE w.wind > 5",
        "SELECT d.at FROM weather w INNER JOIN departures d ON w.wind > 5 AND (w.origin = d.origin)",
        "SELECT d.at FROM departures AS d JOIN weather AS w USING (origin) WHERE 5 < w.wind;",
        "select D.AT from DEPARTURES d, Weather W where ((d.Origin = w.ORIGIN)) and w.wind > 5 -- done",
        "SELECT d.at FROM departures d CROSS JOIN weather w WHERE w.origin = d.origin AND NOT w.wind <= 5",
        "SELECT d.at FROM departures d, weather w WHERE d.origin = w.origin "
        "AND w.wind > 5 AND w.wind > 5 AND 1 = 1",
        'SELECT "d"."at" FROM departures "d", weather w WHERE d.origin = w.origin AND w.wind > 2 + 3',
    ],
    "mirrored comparisons": [
        "SELECT a.at FROM departures a, departures b WHERE a.delay < b.delay",
        "SELECT a.at FROM departures a, departures b WHERE b.delay > a.delay",
        "SELECT a.at FROM departures a, departures b WHERE NOT a.delay >= b.delay",
    ],
    "between": [
        "SELECT at FROM departures WHERE delay BETWEEN 1 AND 5",
        "SELECT at FROM departures WHERE delay >= 1 AND delay <= 5",
        "SELECT at FROM departures WHERE NOT (delay < 1 OR 5 < delay)",
    ],
    "in": [
        "SELECT at FROM departures WHERE flight IN ('a', 'b')",
        "SELECT at FROM departures WHERE flight IN ('b', 'a', 'b')",
    ],
    "in one": [
        "SELECT at FROM departures WHERE flight IN ('a')",
        "SELECT at FROM departures WHERE 'a' = flight",
    ],
    "or": [
        "SELECT at FROM departures WHERE delay > 5 OR cancelled OR seats = 1",
        "SELECT at FROM departures WHERE (seats = 1 OR cancelled) OR delay > 5",
    ],
    "constants": [
        "SELECT at FROM departures WHERE delay > 3600",
        "SELECT at FROM departures WHERE delay > 60 * 60",
        "SELECT at FROM departures WHERE delay > CAST('3600' AS int) AND (TRUE OR cancelled)",
    ],
    "moments": [
        "SELECT at FROM departures WHERE at > TIMESTAMP '2013-01-01 00:00:00'",
        "SELECT at FROM departures WHERE at > '2013-01-01'",
        "SELECT at FROM departures WHERE at > DATE '2013-01-01'",
        "SELECT at FROM departures WHERE at > '2013-01-01T01:00:00+01:00'",
        "SELECT at FROM departures WHERE at > CAST('2012-12-31' AS date) + 1",
    ],
    "intervals": [
        "SELECT a.at FROM departures a, weather b WHERE a.at - b.at < INTERVAL 5 MINUTES",
        "SELECT a.at FROM departures a, weather b WHERE a.at - b.at < INTERVAL '5' MINUTE",
        "SELECT a.at FROM departures a, weather b WHERE a.at - b.at < INTERVAL '5 minutes'",
        "SELECT a.at FROM departures a, weather b WHERE a.at - b.at < INTERVAL '4 minutes 60 seconds'",
        "SELECT a.at FROM departures a, weather b WHERE a.at - b.at < 5 * INTERVAL 1 MINUTE",
    ],
    "parts": [
        "SELECT hour(at) AS h FROM departures",
        "SELECT EXTRACT(HOUR FROM at) AS h FROM departures",
        "SELECT date_part('hour', at) AS h FROM departures",
    ],
    "conditional": [
        "SELECT CASE WHEN cancelled THEN 1 ELSE 2 END AS c FROM departures",
        "SELECT if(cancelled, 1, 2) AS c FROM departures",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_ways_of_writing_the_same(name: str) -> None:
    first, *others = (parse(text) for text in SAME[name])
    for other in others:
        assert other == first


def test_conjunction_is_split_and_disjunction_kept() -> None:
    query = parse("SELECT at FROM departures WHERE (delay > 5 AND cancelled) AND (seats = 1 OR seats = 2)")
    assert predicates(query) == [
        "departures.cancelled",
        "departures.delay > 5",
        "departures.seats = 1 OR departures.seats = 2",
    ]


def test_predicate_over_three_streams_connects_them() -> None:
    query = parse("SELECT a.at FROM departures a, departures b, weather w WHERE a.delay + b.delay > w.wind")
    assert predicates(query) == ["w.wind < a.delay + b.delay"]
    assert not query.cross_join


def test_self_join() -> None:
    query = parse(
        "SELECT a.at, b.at FROM departures a, departures [RANGE 1 HOUR] b WHERE a.flight = b.flight"
    )
    assert [(i.alias, i.stream) for i in query.inputs] == [("a", "departures"), ("b", "departures")]


def test_cross_join_is_kept_only_where_it_is_meant() -> None:
    assert parse("SELECT d.at FROM departures d CROSS JOIN weather w").cross_join
    assert not parse(
        "SELECT d.at FROM departures d CROSS JOIN weather w WHERE d.origin = w.origin"
    ).cross_join
    three = parse("SELECT d.at FROM departures d CROSS JOIN weather w JOIN clicks c ON c.seats = d.seats")
    assert three.cross_join


def test_star_repeats_names_as_duckdb_tables_do() -> None:
    query = parse(
        "SELECT * FROM weather w, clicks c, weather x WHERE w.origin = c.user AND x.origin = c.user"
    )
    assert list(outputs(query)) == [
        "at", "origin", "wind", "day", "Time", "User", "seats", "at_1", "origin_1", "wind_1", "day_1",
    ]  # fmt: skip


def test_star_of_an_alias_and_merged_columns() -> None:
    query = parse("SELECT w.*, d.at FROM weather w, departures d WHERE w.origin = d.origin")
    assert list(outputs(query)) == ["at", "origin", "wind", "day", "at_1"]
    query = parse("SELECT *, origin FROM weather w JOIN departures d USING (origin, at)")
    assert outputs(query)["origin"] == "w.origin"
    assert list(outputs(query)).count("origin") == 1
    assert list(outputs(query))[-1] == "origin_1"
    assert outputs(query)["day_1"] == "d.day"


def test_chosen_names_win_over_repeated_columns() -> None:
    query = parse("SELECT d.at, d.delay AS at, w.at FROM departures d, weather w WHERE d.origin = w.origin")
    assert outputs(query) == {"at_1": "d.at", "at": "d.delay", "at_2": "w.at"}


def test_unnamed_expressions_are_called_as_in_duckdb() -> None:
    query = parse('SELECT delay+1, upper(flight), "User" FROM departures JOIN clicks USING (seats)')
    assert list(outputs(query)) == ["(delay + 1)", "upper(flight)", "User"]


def test_names_keep_the_case_of_their_declaration() -> None:
    query = parse("SELECT USER, c.TIME FROM CLICKS c")
    assert outputs(query) == {"User": 'c."User"', "Time": 'c."Time"'}


def test_types_of_outputs() -> None:
    query = parse(
        "SELECT seats + number AS big, seats / 2 AS half, at - INTERVAL 1 DAY AS before, day - day AS days, "
        "flight || seats AS text, coalesce(seats, 1.5) AS some, raw AS bytes, NULL AS nothing FROM departures"
    )
    assert {o.name: o.expression.type for o in query.outputs} == {
        "big": T.BIGINT,
        "half": T.DOUBLE,
        "before": T.TIMESTAMP,
        "days": T.BIGINT,
        "text": T.STRING,
        "some": T.decimal(11, 1),
        "bytes": T.BINARY,
        "nothing": T.BOOLEAN,
    }


def test_view_is_flattened() -> None:
    query = parse(
        "SELECT l.airport, l.hours * 2 AS double, w.wind FROM late l, weather [RANGE 1 HOUR] w "
        "WHERE l.airport = w.origin AND l.hours > 3",
        {"late": late()},
    )
    assert [(i.alias, i.stream) for i in query.inputs] == [("l", "departures"), ("w", "weather")]
    assert windows(query) == {"l": timedelta(minutes=30), "w": timedelta(hours=1)}
    assert predicates(query) == ["l.delay / 60 > 3", "l.delay > 60", "l.origin = w.origin"]
    assert outputs(query)["double"] == "l.delay / 60 * 2"


def test_windows_of_views_compose_to_the_narrower() -> None:
    views = {"late": late(), "windy": windy()}
    assert windows(parse("SELECT flight FROM late [RANGE 2 MINUTES]", views)) == {
        "late": timedelta(minutes=2)
    }
    assert windows(parse("SELECT flight FROM late [RANGE 2 HOURS]", views)) == {"late": timedelta(minutes=30)}
    assert windows(parse("SELECT flight FROM windy v [RANGE 20 MINUTES]", views)) == {
        "v_d": timedelta(minutes=10),
        "v_w": timedelta(minutes=20),
    }


def test_view_twice_and_aliases_that_collide() -> None:
    query = parse(
        "SELECT v_d.at, v.flight FROM departures v_d, windy v, windy u "
        "WHERE v_d.flight = v.flight AND u.flight = v.flight",
        {"windy": windy()},
    )
    assert sorted(i.alias for i in query.inputs) == ["u_d", "u_w", "v_d", "v_d_2", "v_w"]
    assert "v_d.flight = v_d_2.flight" in predicates(query)


def test_views_of_views() -> None:
    views = {"windy": windy()}
    views["stormy"] = parse_query("SELECT flight FROM windy WHERE wind > 50", "stormy", CATALOG, views)
    query = parse("SELECT s.flight FROM stormy s, departures d WHERE s.flight = d.flight", views)
    assert "s_windy_w.wind > 50" in predicates(query)
    assert len(query.inputs) == 3


def test_predicate_over_the_columns_of_one_view_may_become_constant() -> None:
    views = {"v": parse_query("SELECT flight, 1 AS one FROM departures", "v", CATALOG)}
    assert predicates(parse("SELECT flight FROM v WHERE one = 1", views)) == []


def test_subqueries_beside_each_other_may_read_one_stream_under_one_name() -> None:
    query = parse(
        "SELECT d.flight FROM departures [RANGE 1 HOUR] d "
        "WHERE EXISTS (SELECT 1 FROM weather w WHERE w.origin = d.origin AND w.wind > 20) "
        "AND NOT EXISTS (SELECT 1 FROM weather w WHERE w.origin = d.origin AND w.wind > 40)"
    )
    assert [(i.alias, i.stream) for i in query.inputs] == [
        ("d", "departures"),
        ("w", "weather"),
        ("w_2", "weather"),
    ]
    (branch,) = query.branches
    assert [([i.alias for i in absence.inputs], absence.present) for absence in branch.absences] == [
        (["w"], True),
        (["w_2"], False),
    ]
