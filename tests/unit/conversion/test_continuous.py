"""A batch query as one query over streams answers like DuckDB, and what stands in its way is told.

`tpch/continuous/` holds the TPC-H queries as they become, or what they cannot become. To accept new ones:
`python -m tests.unit.conversion.test_continuous`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.algebra.errors import InputError
from optimizer.conversion import continuous, window_of
from optimizer.conversion.continuous.query import ContinuousQuery
from optimizer.sql import parse_query
from optimizer.workload import read_streams
from tests.unit.conversion.streaming import streamed
from tests.unit.conversion.tables import CATALOG, tables
from tests.unit.conversion.test_answers import CASES, answered
from tests.unit.conversion.test_golden import QUERIES, TPCH
from tests.unit.conversion.test_random import NestedQueries

DATA = tables()
HOUR = window_of("1 HOUR")
REFUSED = {
    "right and full joins around": ["a join that is kept whole beside a side with an outer or as-of join"],
    "semi and anti joins as words": ["SEMI JOIN", "ANTI JOIN"],
    "a value of one row": ["a subquery"],
    "IN and NOT IN one row": ["aggregate max", "aggregate min"],
    "a correlated value": ["a subquery"],
    "subqueries under OR": ["a subquery"],
    "a subquery in a subquery's place": ["a subquery"],
    "a subquery in SELECT": ["a subquery"],
    "what Millrace cannot say stays above": ["function list_contains"],
    "a product that is meant": ["no predicate between (a, b) and (c)"],
    "natural joins": ["NATURAL JOIN", "NATURAL JOIN"],
    "a name of WITH hides a stream": ["the name a, which a stream or a query has"],
    "queries joined by UNION": ["EXCEPT"],
    "DISTINCT, ORDER BY, LIMIT": ["OFFSET"],
    "window functions above": ["a window function"],
}
"""Of the cases of `test_answers` those that our SQL cannot express, with what is found in each."""
GROUPS = {
    "groups of everything": "SELECT a.k, count(*) AS n, sum(b.v) AS v FROM a, b WHERE a.k = b.k GROUP BY a.k",
    "one row of everything": "SELECT count(*) AS n, max(a.x) AS x, avg(b.v) AS v FROM a, b WHERE a.k = b.k",
    "a key that is no output": "SELECT count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k",
    "groups that are joined": (
        "SELECT t.k, t.n, u.v FROM (SELECT k, count(*) AS n FROM a GROUP BY k) t "
        "JOIN (SELECT k, max(v) AS v FROM b GROUP BY k) u ON t.k = u.k"
    ),
    "groups of groups": (
        "SELECT t.n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM a GROUP BY k) t GROUP BY t.n"
    ),
    "groups of groups that are joined": (
        "SELECT t.k, b.v, u.most FROM (SELECT k, sum(v) AS n FROM a GROUP BY k) t JOIN b ON t.k = b.k "
        "JOIN (SELECT s.w, max(s.n) AS most FROM (SELECT k, v AS w, count(*) AS n FROM e GROUP BY k, v) s "
        "GROUP BY s.w) u ON u.w = b.v"
    ),
    "groups of WITH, read twice": (
        "WITH t AS (SELECT k, count(*) AS n FROM a GROUP BY k) "
        "SELECT x.k, y.k AS other FROM t x JOIN t y ON x.n <= y.n AND x.k < y.k"
    ),
    "groups on the side that may be missing": (
        "SELECT e.k, e.s, t.n FROM e LEFT JOIN (SELECT v, count(*) AS n FROM a GROUP BY v) t "
        "ON e.k = t.v AND t.n > 1"
    ),
    "IN of groups": (
        "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k "
        "WHERE a.v IN (SELECT v FROM e GROUP BY v HAVING count(*) > 1)"
    ),
    "NOT EXISTS beside EXISTS of one stream": (
        "SELECT a.k, a.v FROM a WHERE EXISTS (SELECT 1 FROM e WHERE e.k = a.k AND e.v > 1) "
        "AND NOT EXISTS (SELECT 1 FROM e WHERE e.k = a.k AND e.s = 'red')"
    ),
    "DISTINCT outside": "SELECT DISTINCT a.k, b.s FROM a JOIN b ON a.k = b.k",
    "DISTINCT inside": (
        "SELECT t.k, b.v FROM (SELECT DISTINCT k, s FROM a WHERE v > 0) t JOIN b ON t.k = b.k AND t.s = b.s"
    ),
    "DISTINCT that is asked": "SELECT a.k FROM a WHERE a.v IN (SELECT DISTINCT v FROM e)",
    "the first groups": (
        "SELECT a.k, a.s, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k, a.s "
        "ORDER BY n DESC, a.k, a.s LIMIT 3"
    ),
    "the first groups of a subquery": (
        "SELECT t.k, e.v FROM (SELECT k, count(*) AS n FROM a WHERE k IS NOT NULL GROUP BY k "
        "ORDER BY n DESC, k LIMIT 2) t JOIN e ON t.k = e.k"
    ),
    "an order that only arranges": (
        "SELECT t.k FROM (SELECT k, v FROM a ORDER BY v) t JOIN b ON t.k = b.k ORDER BY t.k"
    ),
    "UNION ALL of groups": (
        "SELECT k, count(*) AS n FROM a GROUP BY k UNION ALL SELECT k, count(*) AS n FROM b GROUP BY k"
    ),
    "HAVING above a derived query": (
        "SELECT t.w, count(*) AS n FROM (SELECT a.k, coalesce(b.v, -1) AS w FROM a LEFT JOIN b "
        "ON a.k = b.k AND b.v > 3) t GROUP BY t.w HAVING count(*) > 1"
    ),
}


@pytest.mark.parametrize("case", [*(case for case in CASES if case not in REFUSED), *GROUPS])
def test_the_query_over_streams_answers_what_the_text_answers(case: str, tmp_path: Path) -> None:
    text = GROUPS[case] if case in GROUPS else CASES[case][0]
    made = continuous(text, CATALOG, HOUR)
    assert made.problems == ()
    assert made.sql is not None
    expected = answered(text)
    assert expected, "a case without results shows nothing"
    assert streamed(made.sql, CATALOG, DATA, tmp_path) == expected, made.sql


@pytest.mark.parametrize("seed", range(40))
def test_a_random_query_answers_the_same_or_is_refused(seed: int, tmp_path: Path) -> None:
    text = NestedQueries(seed).query()
    made = continuous(text, CATALOG, HOUR)
    if made.sql is not None:
        assert streamed(made.sql, CATALOG, DATA, tmp_path, "flat") == answered(text), made.sql


def test_most_random_queries_are_expressed() -> None:
    made = [continuous(NestedQueries(seed).query(), CATALOG, HOUR) for seed in range(40)]
    assert sum(one.sql is not None for one in made) >= 20


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_in_the_way_is_told_at_its_place(case: str) -> None:
    text = CASES[case][0]
    made = continuous(text, CATALOG, HOUR)
    assert made.sql is None
    assert [found.startswith(words) for found, words in _pairs(made, REFUSED[case])] == [True] * len(
        REFUSED[case]
    ), made.problems


def _pairs(made: ContinuousQuery, expected: list[str]) -> list[tuple[str, str]]:
    return list(zip((problem.found for problem in made.problems), expected, strict=True))


def test_places_are_those_of_the_text_that_was_given() -> None:
    """Windows before it, and a line that lost its ORDER BY, move nothing."""
    text = (
        "SELECT t.k FROM (SELECT k FROM a ORDER BY k\n) AS t JOIN b ON t.k = b.k\n"
        "JOIN c ON c.k = b.k AND c.v = (SELECT max(v) FROM e)\nLIMIT 3"
    )
    problems = continuous(text, CATALOG, HOUR).problems
    assert [(one.place.line, one.place.column, one.found) for one in problems] == [
        (3, 39, "a subquery"),
        (4, 1, "LIMIT"),
    ]


def test_what_was_chosen_is_said() -> None:
    made = continuous("SELECT k, count(*) FROM a GROUP BY k ORDER BY k", CATALOG, HOUR)
    assert made.chosen == (
        "Streams, and queries in FROM, without a window have one of 1 HOUR.",
        "Groups have no end: a result takes the place of the row with its keys, or of the only row.",
    )
    assert [str(one) for one in made.left_out] == [
        "query:1:38: found ORDER BY, which is left out, expected results in the order in which they are found"
    ]


@pytest.mark.parametrize(
    ("condition", "becomes"),
    [
        ("a.d < DATE '2024-01-31' + INTERVAL 1 MONTH", "a.d < CAST('2024-02-29 00:00:00' AS TIMESTAMP)"),
        ("a.d < DATE '2024-01-31' + INTERVAL 1 DAY", "a.d < DATE '2024-01-31' + INTERVAL 1 DAY"),
    ],
)
def test_months_between_constants_are_computed(condition: str, becomes: str) -> None:
    made = continuous(f"SELECT a.k FROM a WHERE {condition} ORDER BY a.d", CATALOG, HOUR)
    assert made.sql == f"SELECT a.k FROM a [RANGE 1 HOUR] WHERE {becomes}"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.k FROM a WHERE a.d < (DATE '2024-01-31' + INTERVAL 1 MONTH) + INTERVAL 1 YEAR",
        "FROM a",
        "WITH t (x) AS (SELECT k FROM a) SELECT x FROM t",
        "(SELECT k FROM a)",
    ],
)
def test_what_is_not_read_is_refused(text: str) -> None:
    made = continuous(text, CATALOG, HOUR)
    assert made.sql is None
    assert made.problems


def test_an_order_goes_with_all_that_is_in_it() -> None:
    made = continuous("SELECT k FROM a ORDER BY d > DATE '2024-01-31' + INTERVAL 1 MONTH;", CATALOG, HOUR)
    assert made.sql == "SELECT k FROM a [RANGE 1 HOUR];"


def test_windows_that_are_written_stay() -> None:
    made = continuous("SELECT a.k FROM a [RANGE 5 MINUTES] JOIN b AS x ON a.k = x.k", CATALOG, HOUR)
    assert made.sql == "SELECT a.k FROM a [RANGE 5 MINUTES] JOIN b [RANGE 1 HOUR] AS x ON a.k = x.k"


def test_saved_queries_are_read_by_name() -> None:
    views = {"busy": parse_query("SELECT k, count(*) AS n, at FROM a GROUP BY k, at", "busy", CATALOG)}
    made = continuous("SELECT b.v, busy.n FROM b JOIN busy ON b.k = busy.k", CATALOG, HOUR, views)
    assert made.sql == "SELECT b.v, busy.n FROM b [RANGE 1 HOUR] JOIN busy [RANGE 1 HOUR] ON b.k = busy.k"


@pytest.mark.parametrize("text", ["", "soon", "0 hours", "-1 hour", "1 month", "1e30 days"])
def test_a_window_is_a_length(text: str) -> None:
    with pytest.raises(InputError) as refused:
        window_of(text)
    assert str(refused.value) == (
        f"query: window: found {text or 'nothing'}, expected a length such as 1 HOUR or 90 MINUTES"
    )


def _shown(query: str) -> str:
    catalog, _ = read_streams((TPCH / "streams.yaml").read_text(), "streams.yaml")
    made = continuous((TPCH / "queries" / f"{query}.sql").read_text(), catalog, HOUR, source=query)
    told = [
        *(f"-- {line}" for line in made.chosen),
        *(f"-- {one}" for one in (*made.left_out, *made.problems)),
    ]
    return "\n".join([*told, *([made.sql.rstrip()] if made.sql is not None else [])]) + "\n"


@pytest.mark.parametrize("query", QUERIES)
def test_queries_of_tpch_become_the_golden_ones(query: str) -> None:
    assert _shown(query) == (TPCH / "continuous" / f"{query}.sql").read_text()


if __name__ == "__main__":
    for name in QUERIES:
        (TPCH / "continuous" / f"{name}.sql").write_text(_shown(name))
