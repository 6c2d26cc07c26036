"""A converted plan answers what the text answers, whatever stands between and around its joins."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from optimizer.conversion import Conversion, convert, draw, to_lines
from optimizer.conversion.binary.rendering import query_sql
from tests.reference.interpret import Row
from tests.unit.conversion.execution import execute, interpreted
from tests.unit.conversion.tables import CATALOG, tables

DATA = tables()
CASES = {
    "joins in parentheses": (
        "SELECT a.v, e.s FROM (a JOIN b ON a.k = b.k) JOIN (c JOIN e ON c.k = e.k) ON b.v = c.v",
        [4],
    ),
    "a projection between": (
        "SELECT t.z, c.s FROM (SELECT a.k + 1 AS z, b.v AS w FROM a JOIN b ON a.k = b.k) AS t "
        "JOIN c ON t.z = c.k WHERE t.w > 1",
        [3],
    ),
    "projections within projections": (
        "SELECT u.z2 FROM (SELECT t.z * 2 AS z2 FROM (SELECT a.k + 1 AS z FROM a WHERE a.x > 0.5) t "
        "JOIN b ON t.z = b.k) u JOIN c ON u.z2 = c.v JOIN e ON c.k = e.k",
        [4],
    ),
    "selections between": (
        "SELECT t.k, c.v FROM (SELECT * FROM a WHERE a.s = 'red') t, (SELECT k, v FROM b WHERE x < 3) u, c "
        "WHERE t.k = u.k AND u.v = c.v",
        [3],
    ),
    "an outer join as an input": (
        "SELECT a.v, b.v AS bv, c.x, e.s FROM a LEFT JOIN b ON a.k = b.k AND b.v > 2 "
        "JOIN c ON a.v = c.v JOIN e ON c.k = e.k AND coalesce(b.k, 1) = e.k",
        [3],
    ),
    "an outer join above": (
        "SELECT a.v, e.s FROM a JOIN b ON a.k = b.k JOIN c ON b.v = c.v LEFT JOIN e ON c.x = e.x",
        [3],
    ),
    "a group on the side that may be missing": (
        "SELECT e.k, t.v FROM e LEFT JOIN (SELECT a.v, c.x FROM a JOIN b ON a.k = b.k JOIN c ON b.v = c.v) t "
        "ON e.v = t.v AND t.x > 1",
        [3],
    ),
    "right and full joins around": (
        "SELECT t.v, e.k FROM (SELECT a.v FROM a, b, c WHERE a.k = b.k AND b.v = c.v) t "
        "FULL JOIN e ON t.v = e.v RIGHT JOIN b AS b2 ON e.k = b2.k",
        [3],
    ),
    "semi and anti joins as words": (
        "SELECT a.k, c.v FROM a JOIN b ON a.k = b.k JOIN c ON b.v = c.v SEMI JOIN e ON e.k = a.k "
        "ANTI JOIN e AS e2 ON e2.v = c.v AND e2.s = 'red'",
        [3],
    ),
    "EXISTS and NOT EXISTS": (
        "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.v = c.v AND EXISTS (SELECT * FROM e WHERE e.x = a.x) "
        "AND NOT EXISTS (SELECT 1 FROM e, a AS a2 WHERE e.k = a2.k AND a2.v = c.v "
        "AND e.s = 'blue' AND e.v > 3)",
        [3],
    ),
    "IN and NOT IN with NULLs": (
        "SELECT a.k, b.v FROM a, b, c WHERE a.k = b.k AND b.v = c.v AND a.v IN (SELECT v FROM e) "
        "AND b.x NOT IN (SELECT x FROM e WHERE x > 2)",
        [3],
    ),
    "a value of one row": (
        "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k WHERE b.v = (SELECT max(v) FROM c)",
        [3],
    ),
    "IN and NOT IN one row": (
        "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE a.v IN (SELECT max(v) FROM c) "
        "AND b.v NOT IN (SELECT min(v) - 1 FROM e WHERE x > 2)",
        [4],
    ),
    "a correlated value": (
        "SELECT a.k, c.v FROM a, b, c WHERE a.k = b.k AND b.v = c.v "
        "AND a.v >= (SELECT min(e.v) FROM e WHERE e.k = a.k)",
        [3],
    ),
    "subqueries under OR": (
        "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.v = c.v AND (a.v IN (SELECT v FROM e) OR a.s = 'red')",
        [3],
    ),
    "a subquery in a subquery's place": (
        "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.v = c.v "
        "AND (SELECT min(x) FROM e) IN (SELECT x FROM e) AND a.v IN ((SELECT v FROM e))",
        [3],
    ),
    "subqueries in parentheses": (
        "SELECT t.k FROM ((SELECT k, v FROM a) AS t) JOIN ((SELECT k, v FROM b) AS u JOIN c ON u.v = c.v) "
        "ON t.k = u.k",
        [3],
    ),
    "a subquery in SELECT": (
        "SELECT a.k, (SELECT count(*) FROM e WHERE e.k = c.k) AS n FROM a, b, c "
        "WHERE a.k = b.k AND b.v = c.v",
        [3],
    ),
    "aggregates as inputs": (
        "SELECT t.n, b.v, c.s FROM (SELECT k, sum(v) AS n FROM a GROUP BY k) t "
        "JOIN b ON t.k = b.k JOIN c ON t.n = c.v",
        [3],
    ),
    "groups within an input": (
        "SELECT t.n, a.v FROM a JOIN (SELECT a.k, count(*) AS n FROM a, b, c WHERE a.k = b.k AND b.v = c.v "
        "GROUP BY a.k HAVING count(*) > 1) t ON a.k = t.k JOIN e ON e.v = a.v",
        [3, 3],
    ),
    "a decimal as an input": (
        "SELECT a.k, t.n FROM a JOIN b ON a.k = b.k JOIN c ON b.v = c.v "
        "JOIN (SELECT k, max(v) * 0.5 AS n FROM e GROUP BY k) t ON t.k = c.k AND t.n > 1",
        [4],
    ),
    "what Millrace cannot say stays above": (
        "SELECT a.k, c.s FROM a, b, c WHERE a.k = b.k AND b.v = c.v AND regexp_matches(a.s, 'r.d') "
        "AND list_contains([a.v, b.v], 2)",
        [3],
    ),
    "a product that is meant": ("SELECT a.k, b.v, c.x FROM a CROSS JOIN b, c WHERE a.k = 1 AND b.v = 2", [3]),
    "no column is read": ("SELECT count(*) FROM a, b, c WHERE a.k = b.k AND b.v = c.v", [3]),
    "one stream three times": (
        "SELECT x.v, y.v, z.v FROM a x JOIN a y ON x.k = y.k JOIN a z ON y.v = z.v AND x.x < z.x",
        [3],
    ),
    "USING and stars": ("SELECT * FROM a JOIN b USING (k) JOIN c USING (k) WHERE a.v = 1", [3]),
    "natural joins": (
        "SELECT a.k FROM (SELECT k, v FROM a) a NATURAL JOIN b NATURAL JOIN (SELECT k FROM c) c",
        [3],
    ),
    "WITH, read twice": (
        "WITH t AS (SELECT a.k, b.v FROM a JOIN b ON a.k = b.k), u AS (SELECT * FROM t WHERE v > 1) "
        "SELECT t.k, u.v FROM t JOIN u ON t.k = u.k JOIN c ON u.v = c.v",
        [5],
    ),
    "a name of WITH hides a stream": (
        "WITH a AS (SELECT k, v FROM b WHERE v > 1) "
        "SELECT a.k FROM a JOIN b ON a.k = b.k JOIN c ON b.v = c.v",
        [3],
    ),
    "queries joined by UNION": (
        "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.v = c.v UNION ALL "
        "SELECT e.k FROM e WHERE e.v > 3 EXCEPT SELECT 2 FROM b ORDER BY 1 LIMIT 5",
        [3],
    ),
    "DISTINCT, ORDER BY, LIMIT": (
        "SELECT DISTINCT a.k, c.s AS colour FROM a, b, c WHERE a.k = b.k AND b.v = c.v "
        "ORDER BY colour NULLS LAST, a.k DESC NULLS LAST LIMIT 4 OFFSET 1",
        [3],
    ),
    "window functions above": (
        "SELECT a.k, c.v, row_number() OVER (PARTITION BY a.k ORDER BY a.v, b.v, c.v, a.at, b.at, c.at) AS n "
        "FROM a, b, c WHERE a.k = b.k AND b.v = c.v",
        [3],
    ),
    "constants of calendar time": (
        "SELECT a.k, a.d FROM a, b, c WHERE a.k = b.k AND b.v = c.v "
        "AND a.d >= DATE '2024-01-10' AND a.d < DATE '2024-01-10' + INTERVAL 1 MONTH",
        [3],
    ),
    "two inputs are no tree": ("SELECT a.k, b.v FROM a JOIN b ON a.k = b.k AND a.v > b.v", []),
}


def converted(text: str) -> tuple[Conversion, list[int]]:
    made = convert(text, CATALOG)
    return made, [len(joined.join.inputs) for joined in made.joins]


def answered(text: str) -> Counter[Row]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in DATA.items():
            connection.register(name, table)
        return Counter(connection.execute(text).fetchall())


@pytest.mark.parametrize("case", CASES)
def test_the_converted_plan_answers_what_the_text_answers(case: str) -> None:
    text, sizes = CASES[case]
    made, found = converted(text)
    answers = execute(made, CATALOG, DATA, interpreted("greedy"))

    assert found == sizes, "\n".join(to_lines(draw(made.after)))
    for join in answers.joins:
        assert join.found == join.expected, made.joins
    expected = answered(text)
    assert expected, "a case without results shows nothing"
    assert answered(query_sql(made.before)) == expected, query_sql(made.before)
    assert Counter(answers.whole) == expected, made.rest


def test_windows_of_nested_queries_become_windows_of_one_join() -> None:
    text = (
        "SELECT t.z, c.s FROM (SELECT a.k + 1 AS z "
        "FROM a [RANGE 10 SECONDS] JOIN b('sliding', '1', 'minutes') ON a.k = b.k) AS t JOIN c ON t.z = c.k"
    )
    made, _ = converted(text)
    (joined,) = made.joins
    assert [(i.alias, i.window.seconds) for i in joined.join.query.inputs] == [
        ("a", 10),
        ("b", 60),
        ("c", None),
    ]
    assert "scan a [RANGE 10 SECONDS]" in "\n".join(to_lines(draw(made.before)))
    (answer,) = execute(made, CATALOG, DATA, interpreted("greedy")).joins
    assert answer.found == answer.expected
    unbounded, _ = converted(text.replace(" [RANGE 10 SECONDS]", ""))
    (wider,) = execute(unbounded, CATALOG, DATA, interpreted("greedy")).joins
    assert 0 < answer.found.total() < wider.found.total()


def test_saved_queries_are_opened_like_subqueries() -> None:
    views = {"near": "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k", "unused": "no SQL at all"}
    text = "SELECT near.k, c.s FROM near JOIN c ON near.v = c.v"
    made = convert(text, CATALOG, views)

    assert [len(joined.join.inputs) for joined in made.joins] == [3]
    whole = Counter(execute(made, CATALOG, DATA, interpreted("greedy")).whole)
    assert whole == answered(f"WITH near AS ({views['near']}) {text}")
