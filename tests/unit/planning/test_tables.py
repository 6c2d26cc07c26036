"""Look-ups of tables: what they mean, and what a plan keeps for them."""

from __future__ import annotations

import pytest

from optimizer.algebra.render import to_sql
from optimizer.algebra.types import ColumnType as T
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import needed_windows, waits
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import PhysicalGraph, Slices
from optimizer.physical.rules import ProbeRule
from optimizer.planner.plan import plan
from optimizer.sql import hints, parse_query

_COLUMNS = (("at", T.TIMESTAMP), ("k", T.INT), ("x", T.INT), ("gone", T.BOOLEAN))
CATALOG = Catalog.of(
    [
        *(Stream(name, _COLUMNS, "at") for name in ("a", "c")),
        Stream("t", _COLUMNS, "at", kind="table", key=("k",)),
        Stream("u", _COLUMNS, "at", kind="table", key=("k", "x"), deleted="gone"),
    ]
)
MINUTE = 60_000_000
ON = "ON a.k = t.k"


def query(rest: str, outputs: str = "a.k, t.x") -> Query:
    return parse_query(f"SELECT {outputs} FROM {rest}", "q", CATALOG)


@pytest.mark.parametrize(
    "written",
    [
        f"a ASOF JOIN t {ON} AND a.at >= t.at",
        f"a ASOF JOIN t {ON} AND t.at <= a.at",
        "a ASOF JOIN t USING (k, at)",
        "a JOIN t FOR SYSTEM_TIME AS OF a.at USING (k)",
        f"a JOIN t AS t FOR SYSTEM_TIME AS OF a.at {ON}",
    ],
)
def test_forms_that_mean_the_same(written: str) -> None:
    assert query(written).branches == query(f"a JOIN t FOR SYSTEM_TIME AS OF a.at {ON}").branches


def test_what_on_says_beside_the_key_is_asked_of_the_version() -> None:
    on = "ON u.k = a.k AND u.x = 3 AND u.x < a.x"
    (inner,) = query(f"a JOIN u FOR SYSTEM_TIME AS OF a.at {on} WHERE a.x > 1", "u.at").branches
    assert [to_sql(one) for one in inner.absences[0].predicates] == ["a.k = u.k", "u.x = 3", "a.at >= u.at"]
    assert [to_sql(one) for one in inner.residuals] == ["a.x > u.x", "NOT COALESCE(u.gone, FALSE)"]
    assert [to_sql(one) for one in inner.predicates] == ["a.x > 1"]
    (left,) = query(f"a LEFT JOIN u FOR SYSTEM_TIME AS OF a.at {on}", "a.k, u.at").branches
    assert not left.residuals
    assert to_sql(left.outputs[1].expression).startswith("CASE WHEN a.x > u.x AND NOT COALESCE(u.gone")


@pytest.mark.parametrize(
    ("rest", "back"),
    [
        ("a JOIN t FOR SYSTEM_TIME AS OF a.at ON a.k = t.k", 0),
        ("a [RANGE 5 MINUTES] JOIN c [RANGE 1 MINUTE] ON a.k = c.k JOIN t FOR SYSTEM_TIME AS OF a.at {}", 5),
        ("a [RANGE 5 MINUTES] JOIN c [RANGE 1 MINUTE] ON a.k = c.k JOIN t FOR SYSTEM_TIME AS OF c.at {}", 1),
        ("a JOIN c ON a.k = c.k JOIN t FOR SYSTEM_TIME AS OF c.at {}", None),
    ],
)
def test_versions_are_needed_as_long_as_look_ups_lie_back(rest: str, back: int | None) -> None:
    found = query(rest.format(ON))
    (branch,) = found.branches
    (wait,) = waits(branch, branch.absences[0], CATALOG)
    assert wait.back_us == (None if back is None else back * MINUTE)
    (window,) = (item.window for item in needed_windows(found, CATALOG) if item.alias == "t")
    assert not window.is_bounded


def test_a_plan_keeps_versions_by_key_in_one_store_for_all_queries() -> None:
    beside = "a [RANGE 5 MINUTES] JOIN c [RANGE 1 MINUTE] ON a.k = c.k LEFT JOIN t FOR SYSTEM_TIME AS OF a.at"
    queries = [
        query(f"a JOIN t FOR SYSTEM_TIME AS OF a.at {ON}"),
        parse_query(f"SELECT c.x FROM {beside} {ON}", "p", CATALOG),
    ]
    graph = plan(queries, CATALOG, method="flat").graph
    (store,) = (store for store in graph.stores if store.key)
    assert (store.key, store.label, store.retention[0].reach_us) == (("k",), "t[k]", 5 * MINUTE)
    assert store.inputs[0].columns == ("at", "gone", "k", "x")
    probes = [rule for rule in graph.rules if isinstance(rule, ProbeRule) and rule.store == store.id]
    assert [column.name for column in probes[0].newest] == ["at", "k", "x", "gone"]
    assert graph.tables == {"t"}
    assert PhysicalGraph.from_json(graph.to_json()) == graph


def test_versions_are_not_cut_into_slices_of_event_time() -> None:
    beside = "a [RANGE 5 MINUTES] JOIN c [RANGE 1 MINUTE] ON a.k < c.k JOIN t FOR SYSTEM_TIME AS OF a.at"
    made = plan([query(f"{beside} {ON}")], CATALOG, method="flat", tasks=3).graph
    store = next(store for store in made.stores if store.key)
    sliced = slice_all(made, Slices(3))
    cut = {one.inputs[0].stream for one in sliced.stores if isinstance(one.partitioning, Slices)}
    assert cut == {"a", "c"}
    assert store in sliced.stores


def test_plans_without_tables_do_not_know_of_them() -> None:
    joined = parse_query("SELECT a.k FROM a [RANGE 1 HOUR], c [RANGE 1 HOUR] WHERE a.k = c.k", "q", CATALOG)
    graph = plan([joined], CATALOG, method="flat").graph
    assert not graph.tables
    assert '"key": []' not in graph.to_json()


def test_the_editor_says_which_version_and_when() -> None:
    text = f"SELECT a.k, t.x FROM a LEFT JOIN t FOR SYSTEM_TIME AS OF a.at {ON}"
    assert [(one.code, one.found, one.expected) for one in hints(text, CATALOG)] == [
        ("deadline", "results of a as of t", "once event time has passed a.at, with the version of t at a.at")
    ]
