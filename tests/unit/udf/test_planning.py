"""Expensive predicates in plans: they cost per pair, come last, and mean what DuckDB says."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl
import pytest

from optimizer.algebra.types import ColumnType
from optimizer.algebra.udf_names import calls_user_function
from optimizer.estimate import estimate
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.methods import METHODS
from optimizer.methods.solution.costs import cost_of
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.planner.plan import Plan, plan
from optimizer.search.cost_model import CostModel
from optimizer.search.problem import JoinPredicate, Options, Problem, Relation
from optimizer.sql import parse_predicate, parse_query, to_duckdb
from optimizer.statistics import DefaultStatistics, FixedStatistics, LayeredStatistics
from optimizer.udf.duckdb import register
from optimizer.udf.pair_cost import TUPLE_US, pair_cost
from optimizer.udf.registry import FunctionRegistry, UserFunction
from tests.reference.interpret import interpret
from tests.unit.udf.counting import NEAR, ODD_SUM

T = ColumnType
COLUMNS = (("at", T.TIMESTAMP), ("k", T.BIGINT), ("b", T.BIGINT))
TRIANGLE = (
    "SELECT r.b, s.b AS sb, t.b AS tb FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS], t [RANGE 10 SECONDS] "
    "WHERE r.k = t.k AND s.k = t.k AND near(r.b, s.b)"
)
ROUTABLE = (
    "SELECT r.b, s.b AS sb, t.b AS tb FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS], t [RANGE 10 SECONDS] "
    "WHERE r.k = s.k AND near(r.b, s.b) AND s.b = t.b"
)
PAIR = (
    "SELECT r.b, s.b AS sb FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS] "
    "WHERE near(r.b, s.b) AND odd_sum(r.b, s.b) AND r.k < s.k"
)


def catalog(*functions: UserFunction) -> Catalog:
    return Catalog.of([Stream(name, COLUMNS, "at") for name in "rst"], FunctionRegistry(functions))


def planned(text: str, *functions: UserFunction, method: str = "ilp") -> Plan:
    known = catalog(*functions)
    return plan([parse_query(text, "q", known)], known, method=method, tasks=3)


def first_partner(graph: PhysicalGraph, start: str) -> str:
    """The stream that new tuples of a stream meet first."""
    sources = {rule.id for rule in graph.rules if rule.kind == "source"}
    edges = {edge.id: edge.origin for edge in graph.edges}
    (rule,) = [
        rule
        for rule in graph.rules
        if isinstance(rule, ProbeRule) and rule.start == start and edges[rule.edge] in sources
    ]
    return rule.renames[0][1]


def test_evaluation_counts_the_pairs_that_cheaper_predicates_leave() -> None:
    relations = tuple(Relation(name, name, 10.0, 6.0) for name in "RS")
    cheap = JoinPredicate("c", frozenset("RS"), 0.01)
    fast = JoinPredicate("f", frozenset("RS"), 0.5, pair_cost=1.0)
    slow = JoinPredicate("s", frozenset("RS"), 0.5, pair_cost=4.0)
    model = CostModel(Problem(relations, (cheap, fast, slow), ()))
    names = frozenset("cfs")
    # 10 tuples per second meet 60; a hundredth of the 600 pairs is left, and half of it behind `fast`.
    assert model.evaluation("R", frozenset("RS"), names, names) == pytest.approx(6.0 * 1.0 + 3.0 * 4.0)


def test_an_equality_of_keys_costs_nothing_per_pair() -> None:
    inverse = UserFunction("of", "tests.unit.udf.counting:inverse", (T.BIGINT,), T.DOUBLE, 7.0)
    known = catalog(inverse, NEAR)
    costs = {"of": 7.0, "near": 50.0}
    assert pair_cost(parse_predicate("of(r.b) = of(s.b)", known), costs) == 0.0
    assert pair_cost(parse_predicate("of(r.b) < of(s.b)", known), costs) == pytest.approx(14.0 / TUPLE_US)
    assert pair_cost(parse_predicate("near(r.b, s.b) = (s.k > 1)", known), costs) == 50.0 / TUPLE_US


@pytest.mark.parametrize("method", ["ilp", "greedy", "flat", "left-deep", "tree"])
def test_plans_avoid_expensive_pairs(method: str) -> None:
    dear = planned(TRIANGLE, NEAR, method=method)
    assert first_partner(dear.graph, "r") == "t"
    assert first_partner(dear.graph, "s") == "t"


def test_the_cost_of_functions_is_part_of_a_plans_cost() -> None:
    free = UserFunction(NEAR.name, NEAR.path, NEAR.arguments, NEAR.returns, 0.0, NEAR.symmetric)
    assert planned(TRIANGLE, NEAR).cost.probe > planned(TRIANGLE, free).cost.probe


def test_expensive_predicates_are_listed_in_the_order_of_evaluation() -> None:
    graph = planned(PAIR, NEAR, ODD_SUM).graph
    for rule in graph.rules:
        if isinstance(rule, ProbeRule):
            called = [calls_user_function(predicate) for predicate in rule.predicates]
            assert called == [False, True, True]
            assert "odd_sum" in repr(rule.predicates[1])
    assert [(f.name, f.cost_us) for f in graph.functions] == [("near", 50.0), ("odd_sum", 2.0)]
    assert PhysicalGraph.from_json(graph.to_json()) == graph


@pytest.mark.parametrize("text", [PAIR, TRIANGLE])
def test_a_graph_is_estimated_as_its_plan_was(text: str) -> None:
    made = planned(text, NEAR, ODD_SUM)
    assert estimate(made.graph, DefaultStatistics()).probe == pytest.approx(made.cost.probe)


@pytest.mark.parametrize("method", ["ilp", "greedy", "flat", "left-deep", "tree"])
def test_pairs_are_evaluated_once_whatever_a_step_is_sent_to(method: str) -> None:
    """`s` has one partitioning and most tuples come from `t`, so tuples of `r` go to all tasks of `s`, where
    an equality could have routed them. The tasks share the pairs out."""
    known, rates = catalog(NEAR), FixedStatistics({"r": 1.0, "s": 1.0, "t": 1000.0})
    query = parse_query(ROUTABLE, "q", known)
    options = Options(single_copy=True, storage_weight=0.0, mirs=False)
    made = plan([query], known, rates, method, options, tasks=3)
    (broadcast,) = (
        s for o in made.solution.orders if o.start.startswith("r") for s in o.steps if s.broadcast
    )
    problem = made.context.translate([query]).problem
    expensive = next(p for p in problem.predicates if p.pair_cost)
    # A tuple per second meets ten, a hundredth of which has the same key.
    assert (broadcast.tuples_per_second, broadcast.store.tasks) == (1.0, 3)
    evaluated = 1.0 * 10.0 * 0.01 * expensive.pair_cost
    free = replace(problem, predicates=tuple(replace(p, pair_cost=0.0) for p in problem.predicates))
    orders = [order for order in made.solution.orders if order.start.startswith("r")]
    found, sent = (cost_of(one, options, orders, made.solution.stores).probe for one in (problem, free))
    assert found - sent == pytest.approx(evaluated)
    assert METHODS[method].solve(problem, options).cost.probe == pytest.approx(made.cost.probe)
    whole = estimate(made.graph, LayeredStatistics((rates, DefaultStatistics())))
    assert whole.probe == pytest.approx(made.cost.probe)


@pytest.mark.parametrize("text", [PAIR, TRIANGLE])
def test_the_interpreter_answers_as_duckdb(text: str) -> None:
    chance = random.Random(3)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    tables = {
        name: pl.DataFrame(
            {
                "at": [start + timedelta(seconds=chance.randrange(40)) for _ in range(60)],
                "k": [chance.choice([0, 1, 2, None]) for _ in range(60)],
                "b": [chance.choice([*range(9), None]) for _ in range(60)],
            },
            schema={"at": pl.Datetime("us", "UTC"), "k": pl.Int64, "b": pl.Int64},
        )
        for name in "rst"
    }
    known = catalog(NEAR, ODD_SUM)
    batches = [{name: t[i : i + 20].to_arrow() for name, t in tables.items()} for i in (0, 20, 40)]
    found = interpret(planned(text, NEAR, ODD_SUM).graph, batches, known.functions)["q"]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        register(connection, known.functions)
        for name, table in tables.items():
            connection.register(name, table.to_arrow())
        expected = connection.sql(to_duckdb(parse_query(text, "q", known), known)).fetchall()
    assert len(expected) > 10
    assert Counter(found) == Counter(expected)
