"""As-of joins: their branches and deadlines, what a plan holds for them, and their text for DuckDB."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest

from optimizer.algebra.digest import digest
from optimizer.algebra.errors import InputError
from optimizer.algebra.render import to_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import group_wait_us, waits
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, SettleRule
from optimizer.planner.plan import plan
from optimizer.sql import hints, parse_query, to_duckdb

T = ColumnType
_COLUMNS = (("at", T.TIMESTAMP), ("k", T.INT), ("x", T.INT), ("y", T.DOUBLE))
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at") for name in ("a", "b", "c"))
MINUTE = 60_000_000
ON = "ON a.k = b.k AND a.at >= b.at"
BOUNDED = "b [RANGE 5 MINUTES]"


def query(rest: str, outputs: str = "a.k, b.x") -> Query:
    return parse_query(f"SELECT {outputs} FROM {rest}", "q", CATALOG)


@pytest.mark.parametrize(
    ("rest", "branches"),
    [
        (f"a ASOF JOIN {BOUNDED} {ON}", ["a as of b"]),
        (f"a ASOF LEFT JOIN {BOUNDED} {ON} WHERE b.x > 3", ["a as of b"]),
        (
            f"a [RANGE 1 HOUR], c [RANGE 1 HOUR] ASOF JOIN {BOUNDED} ON c.at > b.at WHERE a.k = c.k",
            ["a, c as of b"],
        ),
        (
            f"a [RANGE 1 HOUR] LEFT JOIN c ON a.k = c.k ASOF JOIN {BOUNDED} {ON}",
            ["a, c as of b", "a without c as of b"],
        ),
        # Beside a row without c there is no partner: it goes, or stays without one.
        (
            f"a [RANGE 1 HOUR] LEFT JOIN c ON a.k = c.k ASOF JOIN {BOUNDED} ON c.at >= b.at",
            ["a, c as of b"],
        ),
        (
            f"a [RANGE 1 HOUR] LEFT JOIN c ON a.k = c.k ASOF LEFT JOIN {BOUNDED} ON c.at >= b.at",
            ["a, c as of b", "a without c"],
        ),
        (
            f"a ASOF JOIN {BOUNDED} {ON} WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = a.k AND c.at = a.at)",
            ["a as of b without c"],
        ),
    ],
)
def test_branches(rest: str, branches: list[str]) -> None:
    assert [branch.text for branch in query(rest).branches] == branches


@pytest.mark.parametrize(
    "written",
    [
        f"a ASOF JOIN {BOUNDED} ON b.at <= a.at AND b.k = a.k",
        f"a ASOF INNER JOIN {BOUNDED} {ON}",
        f"a JOIN {BOUNDED} FOR SYSTEM_TIME AS OF a.at ON a.k = b.k",
        "a JOIN b FOR SYSTEM_TIME AS OF a.at AS b [RANGE 5 MINUTES] ON a.k = b.k",
        f"a ASOF JOIN {BOUNDED} USING (k, at)",
        f"a ASOF JOIN (SELECT * FROM {BOUNDED}) AS b {ON}",
    ],
)
def test_forms_that_mean_the_same(written: str) -> None:
    assert query(written).branches == query(f"a ASOF JOIN {BOUNDED} {ON}").branches


def test_conditions_of_where_are_asked_of_results() -> None:
    (branch,) = query(f"a ASOF JOIN {BOUNDED} {ON} AND b.y > 1 WHERE b.x > 3 AND a.x > 4").branches
    assert [to_sql(one) for one in branch.predicates] == ["a.x > 4"]
    assert [to_sql(one) for one in branch.residuals] == ["b.x > 3"]
    assert len(branch.absences[0].predicates) == 3


@pytest.mark.parametrize(
    ("bound", "back"),
    [(f"{BOUNDED} {ON}", 5), (f"b {ON} AND a.at - b.at <= INTERVAL 3 MINUTES", 3)],
)
def test_a_combination_waits_for_its_own_time(bound: str, back: int) -> None:
    (branch,) = query(f"a ASOF JOIN {bound}").branches
    (wait,) = waits(branch, branch.absences[0], CATALOG)
    assert (wait.until, wait.back_us) == ((("a", 0),), back * MINUTE)


@pytest.mark.parametrize("window", ["RANGE 5 MINUTES", "RANGE UNBOUNDED"])
def test_a_window_inside_a_subquery_is_a_stated_one(window: str) -> None:
    joined = f"ON a.k = b.k AND a.at >= b.at JOIN c [{window}] ON c.k = a.k"
    inside = query(f"a [{window}] ASOF JOIN (SELECT * FROM b [{window}]) AS b {joined}")
    assert inside.branches == query(f"a [{window}] ASOF JOIN b [{window}] {joined}").branches
    with pytest.raises(InputError, match="found ASOF JOIN of b without a window"):
        query(f"a ASOF JOIN (SELECT * FROM b) AS b {joined}")


def test_the_editor_says_when_results_appear() -> None:
    text = f"SELECT a.k, b.x FROM a ASOF LEFT JOIN {BOUNDED} {ON}"
    assert [(one.code, one.found, one.expected) for one in hints(text, CATALOG)] == [
        ("deadline", "results of a as of b", "once event time has passed a.at")
    ]


def test_a_plan_sends_the_newest_partner_alone_with_what_is_read() -> None:
    graph = plan([query(f"a ASOF LEFT JOIN {BOUNDED} {ON} WHERE b.y > 1")], CATALOG, method="flat").graph
    (probe,) = (rule for rule in graph.rules if isinstance(rule, ProbeRule))
    (settle,) = (rule for rule in graph.rules if isinstance(rule, SettleRule))
    (store,) = (store for store in graph.stores if store.id == probe.store)
    assert [column.name for column in probe.newest] == ["at", "x", "y"]
    assert settle.found[0].newest == probe.newest
    assert (settle.found[0].present, len(settle.emits[0].residuals)) == (False, 1)
    assert (store.inputs[0].columns, store.retention[0].reach_us) == (("at", "k", "x", "y"), 5 * MINUTE)
    assert PhysicalGraph.from_json(graph.to_json()) == graph


def test_a_store_of_partners_serves_other_queries() -> None:
    joined = parse_query(f"SELECT c.k FROM c [RANGE 1 HOUR], {BOUNDED} WHERE b.k = c.k", "p", CATALOG)
    graph = plan([query(f"a ASOF JOIN {BOUNDED} {ON}"), joined], CATALOG, method="greedy").graph
    assert len([store for store in graph.stores if store.inputs[0].stream == "b"]) == 1


def test_identities_without_as_of_joins_do_not_know_of_them() -> None:
    (_, branch) = query("a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k").branches
    (absence,) = branch.absences
    assert digest("X", absence) != digest("X", replace(absence, newest=True))
    assert digest("X", absence) == "X-b3195aa85a"


def test_a_group_waits_no_longer_than_what_it_counts() -> None:
    text = f"a ASOF LEFT JOIN {BOUNDED} {ON} GROUP BY t"
    grouped = query(text, "TUMBLE(RESULT_TIME(), INTERVAL 1 HOUR) AS t, MAX(b.x) AS m")
    assert group_wait_us(grouped, CATALOG) == (0, "b")


@pytest.mark.parametrize("kind", ["ASOF", "ASOF LEFT"])
@pytest.mark.parametrize("on", [ON, "ON a.at > b.at", "ON a.k = b.k AND a.at >= b.at AND b.x + a.x <> 4"])
def test_the_text_for_duckdb_is_its_own_as_of_join(kind: str, on: str) -> None:
    with duckdb.connect() as connection:
        for name, step in (("a", 7), ("b", 5)):
            connection.execute(
                f"CREATE TABLE {name} AS SELECT make_timestamp(i * {step} * 1000000) AS at, "
                "(i % 3)::INT AS k, (i % 4)::INT AS x, i::DOUBLE AS y FROM range(40) AS t(i)"
            )
        asked = f"SELECT a.y, b.y FROM a {kind} JOIN b {{}} {on} WHERE b.x IS DISTINCT FROM 2"
        found = parse_query(asked.format("[RANGE UNBOUNDED]"), "q", CATALOG)
        ours = connection.sql(to_duckdb(found, CATALOG)).fetchall()
        assert sorted(ours, key=repr) == sorted(connection.sql(asked.format("")).fetchall(), key=repr)
        assert ours
