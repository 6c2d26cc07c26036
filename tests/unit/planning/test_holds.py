"""Queries with outer, semi and anti joins: their branches, deadlines, and what a plan holds for them."""

from __future__ import annotations

import pytest

from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import waits
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.lower.text import query_text
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import DueRule, ProbeRule, SettleRule
from optimizer.physical.usage import users_of
from optimizer.planner.plan import plan
from optimizer.planner.plan_in_use import Running
from optimizer.sql import hints, parse_query

T = ColumnType
_COLUMNS = (("at", T.TIMESTAMP), ("k", T.INT), ("x", T.INT))
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at") for name in ("a", "b", "c"))
MINUTE = 60_000_000


def query(rest: str, outputs: str = "a.k, b.x") -> Query:
    return parse_query(f"SELECT {outputs} FROM {rest}", "q", CATALOG)


@pytest.mark.parametrize(
    ("rest", "branches"),
    [
        ("a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k", ["a, b", "a without b"]),
        ("b [RANGE 1 HOUR] RIGHT JOIN a [RANGE 1 HOUR] ON a.k = b.k", ["a, b", "a without b"]),
        (
            "a [RANGE 1 HOUR] FULL JOIN b [RANGE 1 HOUR] ON a.k = b.k",
            ["a, b", "a without b", "b without a"],
        ),
        # What asks for a column of b leaves no results without b.
        ("a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k WHERE b.x > 3", ["a, b"]),
        ("a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k WHERE b.k IS NULL", ["a, b", "a without b"]),
        (
            "a [RANGE 1 HOUR] LEFT JOIN b [RANGE 1 HOUR] ON a.k = b.k LEFT JOIN c ON b.x = c.x",
            ["a, b, c", "a, b without c", "a without b"],
        ),
        (
            "a [RANGE 1 HOUR] LEFT JOIN b [RANGE 1 HOUR] ON a.k = b.k LEFT JOIN c ON a.x = c.x",
            ["a, b, c", "a, c without b", "a, b without c", "a without b without c"],
        ),
        (
            "a [RANGE 1 HOUR] LEFT JOIN (b JOIN c [RANGE 1 HOUR] ON b.x = c.x) ON a.k = b.k",
            ["a, b, c", "a without b, c"],
        ),
    ],
)
def test_branches(rest: str, branches: list[str]) -> None:
    assert [branch.text for branch in query(rest).branches] == branches


def test_columns_of_what_is_missing_are_null_and_folded() -> None:
    found = query(
        "a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k", "COALESCE(b.x, 7) AS x, b.k IS NULL AS n, b.x + 1 AS y"
    )
    values = [output.expression.value for output in found.branches[1].outputs]  # type: ignore[union-attr]
    assert values == [7, True, None]
    assert [output.expression.type for output in found.branches[1].outputs] == [T.INT, T.BOOLEAN, T.INT]


@pytest.mark.parametrize(
    ("conditions", "until", "back_us"),
    [
        ("b.at BETWEEN a.at - INTERVAL 5 MINUTES AND a.at + INTERVAL 30 MINUTES", 30, 5 * MINUTE),
        ("b.at BETWEEN a.at AND a.at + INTERVAL 30 MINUTES", 30, 0),
        ("b.at <= a.at", 0, None),
    ],
)
def test_a_deadline_follows_from_conditions(conditions: str, until: int, back_us: int | None) -> None:
    found = query(f"a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND {conditions})", "a.k")
    (branch,) = found.branches
    (wait,) = waits(branch, branch.absences[0], CATALOG)
    assert (wait.until, wait.back_us) == ((("a", until * MINUTE),), back_us)


def test_without_an_end_the_error_names_a_condition() -> None:
    with pytest.raises(InputError, match=r"no end to the wait for b.*b\.at <= a\.at \+ INTERVAL 1 HOUR"):
        query("a LEFT JOIN b ON a.k = b.k")


def test_the_editor_says_when_results_appear() -> None:
    text = "SELECT a.k FROM a [RANGE 30 MINUTES] LEFT JOIN b [RANGE 0 SECONDS] ON a.k = b.k"
    assert [(one.code, one.found, one.expected) for one in hints(text, CATALOG)] == [
        ("deadline", "results of a without b", "30 minutes after a.at")
    ]


def test_stores_of_partners_are_kept_as_much_longer_as_combinations_wait() -> None:
    found = query(
        "a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k"
        " AND b.at BETWEEN a.at - INTERVAL 5 MINUTES AND a.at + INTERVAL 30 MINUTES)",
        "a.k",
    )
    graph = plan([found], CATALOG, method="greedy").graph
    assert [s.retention[0].reach_us for s in graph.stores if s.inputs[0].stream == "b"] == [35 * MINUTE]
    assert PhysicalGraph.from_json(graph.to_json()) == graph
    assert users_of(graph).stores == {store.id: frozenset({"q"}) for store in graph.stores}


def test_a_condition_of_the_combination_alone_bounds_where_partners_are_looked_for() -> None:
    # c is as new as a, and b is too: only the first of the two is a condition of the subquery.
    asked = query(
        "a, b WHERE a.at = b.at AND a.k IN (SELECT c.k FROM c WHERE c.at = a.at)", outputs="a.k, b.x"
    )
    graph = plan([asked], CATALOG, method="flat").graph
    looked_into = {look.store for hold in graph.holds for look in hold.looks}
    retentions = {store.id: store.retention[0] for store in graph.stores}
    probes = [r for r in graph.rules if isinstance(r, ProbeRule) and r.store in looked_into]
    assert [rule for rule in probes if rule.stored_window.is_bounded] == probes
    assert all(retentions[rule.store].covers(rule.stored_window) for rule in probes)


def test_the_store_of_an_inner_branch_serves_the_other_one() -> None:
    graph = plan([query("a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k")], CATALOG, method="greedy").graph
    (hold,) = graph.holds
    (look,) = hold.looks
    assert [s.id for s in graph.stores if s.inputs[0].stream == "b"] == [look.store]
    assert [s.id for s in graph.stores if s.inputs[0].stream == "a"] != []


def test_the_part_that_works_at_once_has_no_holds() -> None:
    graph = plan([query("a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k")], CATALOG, method="greedy").graph
    left = at_once(graph)
    assert not [rule for rule in left.rules if isinstance(rule, DueRule | SettleRule)]
    assert sum(isinstance(rule, ProbeRule) for rule in graph.rules) == 3
    assert sum(isinstance(rule, ProbeRule) for rule in left.rules) == 2
    assert {edge.target for edge in left.edges} == {store.id for store in left.stores}


def test_plans_without_holds_keep_their_bytes() -> None:
    graph = plan([query("a [RANGE 1 HOUR], b WHERE a.k = b.k")], CATALOG, method="greedy").graph
    assert "holds" not in graph.to_json()


def test_a_plan_in_use_is_left_alone_by_queries_of_branches() -> None:
    asked = query("a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k")
    first = plan([asked], CATALOG, method="greedy")
    running = Running.from_json(first.running.to_json(), [asked])
    assert plan([asked], CATALOG, method="greedy", running=running).graph == first.graph


def test_the_text_of_a_query_of_branches_reads_back() -> None:
    asked = query("a [RANGE 1 HOUR] LEFT JOIN b ON a.k = b.k")
    assert parse_query(query_text(asked), "q", CATALOG) == asked
    assert plan([asked], CATALOG, method="greedy").alone[0].query == "q"
