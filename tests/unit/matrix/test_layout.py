"""Graphs whose stores are grids: valid, right, and chosen where they cost least."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimizer.algebra.expression import Column
from optimizer.algebra.types import ColumnType
from optimizer.estimate import estimate
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.methods import METHODS
from optimizer.partitioning.matrix import keep_groups, with_groups
from optimizer.partitioning.matrix.groups import Cardinality, followed, grids_by_stream, rows_for
from optimizer.physical.elements import InvalidGraph
from optimizer.physical.graph import GraphStore, Grid, Grids, PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.physical.validate import validate
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics, SampleStatistics
from optimizer.statistics.skew import hash_skew
from tests.reference.interpret import interpret
from tests.unit.planning import workloads
from tests.unit.planning.workloads import Case, cases

COLUMNS = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.BIGINT), ("b", ColumnType.BIGINT))
CATALOG = Catalog(tuple(Stream(name, COLUMNS, "at") for name in "rst"))


def planned(
    condition: str,
    tasks: int = 4,
    options: Options | None = None,
    window: str = " [RANGE 1 SECOND]",
    **known: object,
) -> Plan:
    text = f"SELECT r.a AS x FROM r{window}, s{window} WHERE {condition}"
    statistics = FixedStatistics(**known)  # type: ignore[arg-type]
    query = parse_query(text, "q", CATALOG)
    return plan([query], CATALOG, statistics, "flat", options or Options(storage_weight=0.0), tasks=tasks)


def store_of(graph: PhysicalGraph, stream: str) -> GraphStore:
    (store,) = (s for s in graph.stores if s.inputs[0].stream == stream)
    return store


def rows(graph: PhysicalGraph) -> tuple[int, int]:
    return store_of(graph, "r").copies, store_of(graph, "s").copies


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"r": 100.0, "s": 100.0}, (2, 2)),
        ({"r": 100.0, "s": 1600.0}, (4, 1)),
        ({"r": 1600.0, "s": 100.0}, (1, 4)),
    ],
)
def test_a_theta_join_is_squalls_matrix(rates: dict[str, float], expected: tuple[int, int]) -> None:
    assert rows(planned("r.a < s.a", rates=rates).graph) == expected


def test_a_prime_number_of_tasks_is_several_grids() -> None:
    graph = planned("r.a < s.a", tasks=7, window="", rates={"r": 100.0, "s": 100.0}).graph
    validate(graph)
    store = store_of(graph, "r")
    assert store.partitioning == Grids((2, 2, 1))
    assert store.label == "r[2x2+1x2+1x1]"
    assert store.copies == pytest.approx((4 * 2 + 2 * 2 + 1) / 7)
    assert store.first_copy == {0, 1, 4, 6}
    assert PhysicalGraph.from_json(graph.to_json()) == graph
    # Where hardly anything is kept, copies in all tasks cost less than asking every one of several grids.
    assert rows(planned("r.a < s.a", tasks=7, window="", rates={"r": 1.0, "s": 10_000.0}).graph) == (7, 1)


def test_keeping_a_tuple_costs_what_storage_weighs() -> None:
    dear = planned("r.a < s.a", options=Options(storage_weight=10.0), rates={"r": 100.0, "s": 100.0})
    assert rows(dear.graph) == (1, 1)


@pytest.mark.parametrize(("share", "kind"), [(0.0, "hash"), (0.15, "hash"), (0.3, "matrix")])
def test_skew_decides_between_hash_and_matrix(share: float, kind: str) -> None:
    known = {"rates": {"r": 100.0, "s": 100.0}, "top_shares": {("r", "a"): share, ("s", "a"): share}}
    graph = planned("r.a = s.a", tasks=16, **known).graph
    hashed = all(isinstance(store.partitioning, Column) for store in graph.stores)
    assert hashed == (kind == "hash")
    assert hashed or rows(graph) == (4, 4)


def test_the_reported_cost_is_what_the_graph_sends_and_stores() -> None:
    options = Options(storage_weight=0.001)
    rates = {"r": 100.0, "s": 700.0}
    made = planned("r.a < s.a", options=options, rates=rates)
    assert rows(made.graph) != (1, 1)
    expected = estimate(made.graph, FixedStatistics(rates))
    assert made.cost.probe == pytest.approx(expected.probe)
    assert made.cost.storage == pytest.approx(0.001 * expected.stored)
    without = planned("r.a < s.a", options=replace(options, grids="off"), rates=rates)
    assert rows(without.graph) == (1, 1)
    assert made.cost.total < without.cost.total


def test_limits_are_kept_with_the_layouts_that_the_method_knows() -> None:
    options = Options(storage_weight=0.0, storage_budget=1e6)
    assert rows(planned("r.a < s.a", options=options, rates={"r": 1.0, "s": 1.0}).graph) == (1, 1)


@pytest.mark.parametrize("tasks", [4, 7])
def test_every_layout_of_a_plan_has_the_bound_that_none_undercuts(tasks: int) -> None:
    """Each tuple is sent once and kept once, whatever the layout: 800/s and a second's 800 tuples."""
    rates = {"r": 100.0, "s": 700.0}
    text = "SELECT r.a AS x FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a < s.a"
    query = parse_query(text, "q", CATALOG)
    costs = set()
    for seed in range(8):
        options = Options(storage_weight=0.01, grids="always", seed=seed)
        made = plan([query], CATALOG, FixedStatistics(rates), "ilp", options, tasks=tasks)
        if rows(made.graph) == (1, 1):
            continue
        assert made.bound == pytest.approx(808.0)
        assert made.gap == pytest.approx(1 - 808.0 / made.cost.total)
        costs.add(round(made.cost.total, 6))
    assert len(costs) > 2
    assert min(costs) > 808.0


def test_two_copies_that_become_the_same_grid_become_one() -> None:
    texts = ("r.a = s.a", "r.b = t.b")
    queries = [
        parse_query(
            f"SELECT r.a AS x FROM r [RANGE 1 SECOND], {t[6]} [RANGE 1 SECOND] WHERE {t}", t[6], CATALOG
        )
        for t in texts
    ]
    graph = plan(queries, CATALOG, method="ilp", options=Options(storage_weight=0.0), tasks=4).graph
    copies = [store for store in graph.stores if store.inputs[0].stream == "r"]
    assert len(copies) == 2, "one by each column"
    laid = with_groups(graph, {store.id: (2,) for store in copies})
    validate(laid)
    assert store_of(laid, "r").partitioning == Grid(2)


def test_a_layout_has_one_identity_however_it_came_about() -> None:
    graph = planned("r.a < s.a", options=Options(grids="off")).graph
    two = with_groups(graph, {store_of(graph, "r").id: (2,)})
    four = with_groups(two, {store_of(two, "r").id: (4,)})
    assert four.stores == with_groups(graph, {store_of(graph, "r").id: (4,)}).stores
    assert with_groups(graph, {}) is graph
    with pytest.raises(ValueError, match="cannot make up 3 equal rows"):
        with_groups(graph, {store_of(graph, "r").id: (3,)})


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(case=cases(), tasks=st.sampled_from((2, 3, 4, 6, 7)), seed=st.integers(0, 99), whole=st.booleans())
def test_a_graph_of_grids_answers_like_duckdb(
    method: str, case: Case, tasks: int, seed: int, whole: bool
) -> None:
    options = Options(storage_weight=0.01, time_limit_s=2.0, grids="always", seed=seed)
    retain = "everything" if whole else "needed"
    made = plan(case.queries, workloads.CATALOG, None, method, options, retain, tasks=tasks)  # type: ignore[arg-type]
    assert PhysicalGraph.from_json(made.graph.to_json()) == made.graph
    assert made.bound is not None or method not in ("ilp", "individual")
    assert made.bound is None or made.bound <= made.cost.total
    results = interpret(made.graph, case.batches)
    for query in case.queries:
        assert Counter(map(repr, results[query.name])) == Counter(map(repr, case.expected(query)))


@pytest.fixture(scope="module")
def grids() -> PhysicalGraph:
    made = planned("r.a < s.a", rates={"r": 100.0, "s": 100.0}).graph
    validate(made)
    return made


def test_a_probe_of_every_row_is_refused(grids: PhysicalGraph) -> None:
    probes = {rule.edge for rule in grids.rules if isinstance(rule, ProbeRule)}
    edges = tuple(replace(e, kind="all") if e.id in probes else e for e in grids.edges)
    with pytest.raises(InvalidGraph, match="does not ask one row"):
        validate(replace(grids, edges=edges))


def test_rows_of_unequal_length_are_refused(grids: PhysicalGraph) -> None:
    stores = tuple(replace(store, tasks=3) for store in grids.stores)
    with pytest.raises(InvalidGraph, match="equal rows"):
        validate(replace(grids, stores=stores))


@pytest.mark.parametrize("tasks", [5, 8])
def test_grids_of_other_sizes_than_the_tasks_powers_of_two_are_refused(tasks: int) -> None:
    graph = planned("r.a < s.a", tasks=7, window="", rates={"r": 100.0, "s": 100.0}).graph
    stores = tuple(replace(store, tasks=tasks) for store in graph.stores)
    with pytest.raises(InvalidGraph, match=f"{tasks} tasks cannot make up 2 \\+ 2 \\+ 1 equal rows"):
        validate(replace(graph, stores=stores))


@pytest.mark.parametrize("rows", [(2,), (1, 1), (0, 2), ()])
def test_grids_that_another_layout_is_are_refused(rows: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="not those of several grids"):
        Grids(rows)


def test_a_grid_fed_in_one_copy_is_refused(grids: PhysicalGraph) -> None:
    probes = {rule.edge for rule in grids.rules if isinstance(rule, ProbeRule)}
    edges = tuple(e if e.id in probes else replace(e, kind="shuffle") for e in grids.edges)
    with pytest.raises(InvalidGraph, match="does not place tuples"):
        validate(replace(grids, edges=edges))


def test_the_policy_changes_running_shapes_and_planning_again_keeps_them() -> None:
    running = planned("r.a < s.a", rates={"r": 100.0, "s": 100.0}).graph
    even = Cardinality(100.0, 100.0)
    assert rows_for(running, {}, {"r": even, "s": even}) == {}
    policies = followed(running, {}, {"r": even, "s": even})
    more = Cardinality(140.0, 140.0)
    assert rows_for(running, policies, {"r": Cardinality(160.0, 1600.0), "s": more}) == {
        store_of(running, "r").id: (4,)
    }
    after = with_groups(running, {store_of(running, "r").id: (4,)})
    validate(after)
    # By its estimates the candidate would go back.
    candidate = keep_groups(running, after)
    assert rows(candidate) == rows(after) == (4, 2)
    assert {s: g.id for s, g in grids_by_stream(candidate).items()} == {
        s: g.id for s, g in grids_by_stream(after).items()
    }


def test_a_samples_most_frequent_value_is_skew() -> None:
    frame = pl.DataFrame({"a": [1] * 501 + list(range(2, 501)), "b": list(range(1000))})
    sample = SampleStatistics({"r": frame})
    assert sample.top_share("r", "a") == pytest.approx(500 / 999)
    assert sample.top_share("r", "b") == 0.0
    assert sample.top_share("s", "a") is None
    hashed = replace(store_of(planned("r.a = s.a").graph, "r"), tasks=4)
    assert hash_skew(hashed, sample) == pytest.approx(1 + 3 * 500 / 999)


def test_the_policy_changes_the_rows_of_each_of_several_grids() -> None:
    running = planned("r.a < s.a", tasks=7, window="", rates={"r": 100.0, "s": 100.0}).graph
    even, store = Cardinality(100.0, 100.0), store_of(running, "r").id
    assert rows(running) == (13 / 7, 13 / 7)
    policies = followed(running, {}, {"r": even, "s": even})
    chosen = rows_for(running, policies, {"r": Cardinality(150.0, 1600.0), "s": even})
    assert chosen == {store: (7,)}
    validate(with_groups(running, chosen))
    chosen = rows_for(running, policies, {"r": Cardinality(150.0, 280.0), "s": even})
    assert chosen == {store: (4, 2, 1)}
    after = with_groups(running, chosen)
    validate(after)
    assert store_of(keep_groups(running, after), "r") == store_of(after, "r")
