"""Tables that are no streams, with the columns and types that follow from a text."""

from __future__ import annotations

import pytest

from optimizer.algebra.errors import InputError
from optimizer.conversion import UnregisteredTable, unregistered
from tests.unit.conversion.tables import CATALOG
from tests.unit.conversion.test_answers import CASES

CASES_OF_USE = {
    "nothing is missing": ("SELECT a.k FROM a JOIN b ON a.k = b.k", "-"),
    "equal to a stream's column": (
        "SELECT 1 FROM a JOIN o ON a.k = o.key AND o.at >= a.at",
        "o(at timestamp, key int)",
    ),
    "beside literals": (
        "SELECT 1 FROM o WHERE n = 3 AND x < 1.5 AND s IN ('a') AND d > DATE '2024-01-01' AND b = TRUE",
        "o(b boolean, d date, n bigint, s string, x double)",
    ),
    "between": ("SELECT 1 FROM o WHERE o.n BETWEEN 1 AND 5", "o(n bigint)"),
    "in functions": (
        "SELECT lower(u) FROM o WHERE s LIKE 'a%' AND extract(year FROM t) = 2024 AND z + INTERVAL 1 DAY > t",
        "o(s string, t timestamp, u string, z timestamp)",
    ),
    "through other columns": (
        "SELECT 1 FROM o JOIN p ON o.x = p.y JOIN a ON p.y = a.s",
        "o(x string), p(y string)",
    ),
    "what is only shown": ("SELECT o.total, sum(o.n) FROM o", "o(n ?, total ?)"),
    "USING": ("SELECT s FROM a JOIN o USING (k)", "o(k int)"),
    "in a subquery around": (
        "SELECT 1 FROM o WHERE EXISTS (SELECT 1 FROM a WHERE a.k = o.k AND v = w)",
        "o(k int, w bigint)",
    ),
    "names of WITH and of subqueries": (
        "WITH t (m) AS (SELECT max(w) FROM o) SELECT m, u.n FROM t, (SELECT count(*) AS n FROM p) AS u",
        "o(w ?), p()",
    ),
    "in the order of the text": ("SELECT 1 FROM zebra JOIN ant ON zebra.i = ant.j", "zebra(i ?), ant(j ?)"),
    "twice under two names": (
        "SELECT x.i FROM o AS x JOIN O AS y ON x.i = y.j AND y.j = 4",
        "o(i bigint, j bigint)",
    ),
    "quoted": ('SELECT "Total Sum", Plain FROM "My Orders"', "My Orders(plain ?, Total Sum ?)"),
}


def _told(text: str) -> str:
    return ", ".join(map(_shown, unregistered(text, CATALOG, ()).tables)) or "-"


def _shown(table: UnregisteredTable) -> str:
    columns = (f"{one.name} {'?' if one.type is None else one.type.value}" for one in table.columns)
    return f"{table.name}({', '.join(columns)})"


@pytest.mark.parametrize("case", CASES_OF_USE)
def test_columns_and_types_follow_from_their_use(case: str) -> None:
    text, expected = CASES_OF_USE[case]
    assert _told(text) == expected


def test_a_column_that_several_may_have_is_undecided() -> None:
    found = unregistered("SELECT total, k, o.n FROM o, p, a WHERE o.i = p.i", CATALOG, ())
    assert [[one.name for one in table.columns] for table in found.tables] == [["i", "n"], ["i"]]
    assert found.undecided == ("total",)


def test_saved_queries_are_not_missing() -> None:
    assert (
        unregistered("SELECT busy.n, o.k FROM busy JOIN o ON busy.k = o.k", CATALOG, ("busy",)).tables[0].name
        == "o"
    )


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_missing_in_what_is_converted(case: str) -> None:
    assert unregistered(CASES[case][0], CATALOG, ()).tables == ()


@pytest.mark.parametrize("text", ["", "SELECT (", "SELECT " + "(" * 30])
def test_what_is_no_query_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        unregistered(text, CATALOG, ())
