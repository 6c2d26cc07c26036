"""The façade: golden costs through SQL, determinism, names that must not matter."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from optimizer.algebra.expression import inputs_of
from optimizer.logical.query import Input, Query
from optimizer.logical.window import UNBOUNDED, sliding
from optimizer.methods import METHODS
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload
from tests.unit.planning.clash import CATALOG, Q1, STATISTICS, queries


def _planned(method: str, tasks: int, **options: object) -> Plan:
    chosen = Options(**{"storage_weight": 0.0, **options})  # type: ignore[arg-type]
    return plan(queries(), CATALOG, STATISTICS, method, chosen, tasks=tasks)


@pytest.mark.parametrize(
    ("method", "options", "tasks", "alone", "joint"),
    [
        ("ilp", {"mirs": False}, 1, 950, 800),
        ("ilp", {}, 1, 800, 700),
        ("ilp", {}, 4, 800, 700),
        ("ilp", {"single_copy": True}, 2, 800, 800),
        ("ilp", {"single_copy": True}, 4, 800, 1000),
        ("individual", {}, 1, 800, 800),
    ],
)
def test_costs_are_those_of_the_dissertations_example(
    method: str, options: dict[str, object], tasks: int, alone: float, joint: float
) -> None:
    made = _planned(method, tasks, **options)

    assert made.cost.total == pytest.approx(joint)
    assert made.individual_cost == pytest.approx(alone)


def test_a_graph_survives_its_document() -> None:
    graph = _planned("ilp", 4).graph

    assert PhysicalGraph.from_json(graph.to_json()) == graph


def test_order_and_names_of_queries_do_not_change_the_graph() -> None:
    first, second = queries()
    renamed = [replace(second, name="a"), replace(first, name="b")]

    graph = plan(queries(), CATALOG, STATISTICS, tasks=4).graph
    other = plan(renamed, CATALOG, STATISTICS, tasks=4).graph

    assert {store.id for store in graph.stores} == {store.id for store in other.stores}
    assert {rule.id for rule in graph.rules} == {rule.id for rule in other.rules}
    assert {edge.id for edge in graph.edges} == {edge.id for edge in other.edges}


def test_alias_names_do_not_change_the_graph_of_a_self_join() -> None:
    text = "SELECT {x}.b FROM s [RANGE 1 SECOND] AS {x}, s [RANGE 1 SECOND] AS {y} WHERE {x}.b = {y}.c"
    graphs = [
        plan([parse_query(text.format(x=x, y=y), "q", CATALOG)], CATALOG).graph
        for x, y in (("a", "b"), ("b", "a"))
    ]

    assert [rule.id for rule in graphs[0].rules] == [rule.id for rule in graphs[1].rules]


def test_nothing_is_shared_in_an_individual_plan() -> None:
    twins = [parse_query(Q1, name, CATALOG) for name in ("one", "two")]

    apart = plan(twins, CATALOG, STATISTICS, "individual").graph
    shared = plan(twins, CATALOG, STATISTICS, "ilp").graph

    assert len(apart.stores) == 2 * len(shared.stores)
    assert len(apart.rules) == 2 * len(shared.rules)


def test_an_individual_plan_names_the_inputs_of_a_self_join_query_by_query() -> None:
    """The other query's filter on `s` decides which alias is `s` in the joint plan, not alone."""
    texts = (
        "SELECT a.b FROM s [RANGE 1 SECOND] AS a, s [RANGE 9 SECONDS] AS z "
        "WHERE a.b < z.b AND NOT a.c = 2 AND z.b IS NOT NULL",
        "SELECT r.b FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.b = s.b AND NOT s.c = 2",
        "SELECT t.c FROM t [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE t.c = s.c AND s.b IS NOT NULL",
    )
    for chosen in (texts[:2], texts[::2]):
        asked = [parse_query(text, f"q{n}", CATALOG) for n, text in enumerate(chosen)]

        graph = plan(asked, CATALOG, method="individual").graph

        assert {query.name for query in graph.queries} == {"q0", "q1"}


def test_every_method_routes_by_a_key_that_the_sender_has() -> None:
    graph = _planned("ilp", 4).graph
    edges = {edge.id: edge for edge in graph.edges}

    for rule in graph.rules:
        if isinstance(rule, ProbeRule):
            edge = edges[rule.edge]
            assert edge.key is None or edge.key.input in rule.bound
            assert all(inputs_of(equality.probe) <= set(rule.bound) for equality in rule.equalities)


def test_a_single_stream_is_answered_at_its_source() -> None:
    query = parse_query("SELECT s.b FROM s WHERE s.c > 3", "q", CATALOG)

    graph = plan([query], CATALOG).graph

    assert (graph.stores, graph.edges, graph.depth) == ((), (), 0)
    assert [emit.query for rule in graph.rules for emit in getattr(rule, "emits", ())] == ["q"]


def test_retaining_everything_stores_whole_streams() -> None:
    text = "SELECT r.b FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.b = s.b AND s.c > 3"
    query = parse_query(text, "q", CATALOG)

    needed = plan([query], CATALOG, retain="needed").graph
    whole = plan([query], CATALOG, retain="everything").graph

    def columns(graph: PhysicalGraph) -> dict[str, tuple[str, ...]]:
        return {store.inputs[0].stream: store.inputs[0].columns for store in graph.stores}

    def filters(graph: PhysicalGraph) -> int:
        stored = {edge.origin for edge in graph.edges if any(k.edge == edge.id for k in _kept(graph))}
        return sum(getattr(rule, "filter", None) is not None for rule in graph.rules if rule.id in stored)

    assert columns(needed) == {"r": ("at", "b"), "s": ("at", "b")}
    assert columns(whole) == {"r": ("at", "b"), "s": ("at", "b", "c")}
    assert (filters(needed), filters(whole)) == (1, 0)


def _kept(graph: PhysicalGraph) -> list[object]:
    return [rule for rule in graph.rules if rule.kind == "store"]


def test_differing_windows_share_one_prefix_where_that_is_cheaper() -> None:
    text = (
        "SELECT r.b FROM r [RANGE {w} SECONDS], s [RANGE {w} SECONDS], t [RANGE {w} SECONDS] "
        "WHERE r.b = s.b AND s.c = t.c"
    )
    twins = [parse_query(text.format(w=w), f"q{w}", CATALOG) for w in (10, 11)]

    graph = plan(twins, CATALOG, STATISTICS, "ilp", Options(storage_weight=0.0, mirs=False)).graph

    emits = [emit for rule in graph.rules for emit in getattr(rule, "emits", ())]
    assert sum(isinstance(rule, ProbeRule) for rule in graph.rules) == 6
    assert {emit.query for emit in emits if emit.windows} == {"q10"}


def test_differing_windows_stay_apart_where_the_wider_one_is_dear() -> None:
    first, second = queries()
    long = Query(
        "q2",
        tuple(replace(item, window=sliding(timedelta(seconds=1000))) for item in second.inputs),
        second.predicates,
        second.outputs,
    )

    graph = plan([first, long], CATALOG, STATISTICS, "ilp", Options(storage_weight=0.0, mirs=False)).graph

    emits = [emit for rule in graph.rules for emit in getattr(rule, "emits", ())]
    assert not any(emit.windows for emit in emits)


def test_query_names_must_differ() -> None:
    with pytest.raises(ValueError, match="query names repeat"):
        plan([queries()[0], queries()[0]], CATALOG)


def test_equal_bytes_whatever_the_hash_seed() -> None:
    program = (
        "from tests.unit.planning.clash import *; from optimizer.planner.plan import plan; "
        "print(plan(queries(), CATALOG, STATISTICS, tasks=4).graph.to_json())"
    )

    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }

    assert len(outputs) == 1


def test_unbounded_and_bounded_windows_mix() -> None:
    one = Query(
        "q",
        (Input("r", "r"), Input("s", "s")),
        parse_query("SELECT r.b FROM r, s WHERE r.b = s.b", "q", CATALOG).predicates,
        parse_query("SELECT r.b FROM r, s WHERE r.b = s.b", "q", CATALOG).outputs,
    )

    graph = plan([one], CATALOG).graph

    assert all(store.retention == (UNBOUNDED,) for store in graph.stores)


def test_the_integer_program_is_never_dearer_than_the_heuristics() -> None:
    """Also where queries with other filters and windows share stores, which no program sees."""
    workload = load_workload(Path(__file__).parent / "golden" / "flights")
    known = statistics_of_workload(workload.catalog, workload.selectivities)

    costs = {
        method: plan(workload.queries, workload.catalog, known, method, tasks=3).cost.total
        for method in METHODS
    }

    assert costs["ilp"] <= min(costs.values()) * (1 + 1e-9)
    assert costs["ilp"] < costs["individual"]


def test_a_running_plan_is_a_start_for_other_queries() -> None:
    first, second = queries()

    running = plan([first], CATALOG, STATISTICS, tasks=4)
    grown = plan([first, second], CATALOG, STATISTICS, tasks=4, running=running.running)
    shrunk = plan([second], CATALOG, STATISTICS, tasks=4, running=grown.running)

    assert {query.name for query in grown.graph.queries} == {"q1", "q2"}
    assert {query.name for query in shrunk.graph.queries} == {"q2"}


def test_no_queries_need_no_plan() -> None:
    made = plan([], CATALOG)

    assert (made.cost.total, made.graph.rules, made.individual_cost) == (0, (), 0)
