"""Explanations agree with the plan, and one more query has its price."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from optimizer.algebra.expression import Expression
from optimizer.algebra.types import ColumnType
from optimizer.explain import Explanation, draw, explain, marginal_cost, to_json, to_text
from optimizer.explain.document import ExplainedStep
from optimizer.explain.orders import OrderSearch, Step
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import Interval, statistics_of_workload
from optimizer.workload import load_workload
from tests.unit.planning.clash import CATALOG, Q1, Q2, STATISTICS, queries


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(queries(), CATALOG, STATISTICS, "flat", Options(storage_weight=0.5, mirs=False), tasks=4)


def test_costs_by_store_add_up_to_the_plans(planned: Plan) -> None:
    explanation = explain(planned)

    assert sum(store.probe_cost for store in explanation.stores) == pytest.approx(planned.cost.probe)
    assert sum(store.storage_cost for store in explanation.stores) == pytest.approx(planned.cost.storage)
    assert json.loads(to_json(explanation))["cost"]["total"] == pytest.approx(planned.cost.total)


def test_every_store_and_step_names_who_needs_it(planned: Plan) -> None:
    explanation = explain(planned)

    users = {store.relation: store.queries for store in explanation.stores}
    assert users[("s",)] == ("q1", "q2")
    assert users[("u",)] == ("q2",)
    assert all(step.queries for tree in explanation.trees for step in tree.steps)


def test_a_query_that_runs_already_costs_nothing_more(planned: Plan) -> None:
    again = marginal_cost(planned, parse_query(Q1, "again", CATALOG))

    assert (again.probe, again.storage, again.new_stores) == (0.0, 0.0, ())
    assert again.reused_steps == again.steps
    assert again.most_like == "q1"


def test_a_new_stream_costs_its_store_and_its_probes() -> None:
    base = plan([parse_query(Q1, "q1", CATALOG)], CATALOG, STATISTICS, "flat", Options(mirs=False))

    added = marginal_cost(base, parse_query(Q2, "q2", CATALOG))

    assert added.new_stores == ("u",)
    assert added.storage == pytest.approx(100)
    assert 0 < added.probe <= 475
    assert str(added).startswith("+1 store, +")


GOLDEN = Path(__file__).parent / "golden"
WORKLOADS = ("clash", "flights", "random", "tpch", "windows")
STREAMS = tuple(f"s{number}" for number in range(12))
WIDE = Catalog(
    tuple(
        Stream(
            name,
            (("at", ColumnType.TIMESTAMP), *((column, ColumnType.BIGINT) for column in "abc")),
            "at",
            tuples_per_second=10.0,
        )
        for name in STREAMS
    )
)


def _any_query(name: str, chance: random.Random, size: int, streams: Sequence[str] = STREAMS) -> Query:
    chosen = chance.sample(streams, size)
    joins = [
        f"{chosen[n]}.{chance.choice('abc')} = {chosen[chance.randrange(n)]}.{chance.choice('abc')}"
        for n in range(1, size)
    ]
    window = chance.choice((10, 60))
    sources = ", ".join(f"{stream} [RANGE {window} SECONDS]" for stream in chosen)
    return parse_query(f"SELECT {chosen[0]}.a FROM {sources} WHERE {' AND '.join(joins)}", name, WIDE)


def _star(inputs: Sequence[str]) -> Query:
    """Everything joins the first input: as many sub-queries as there can be."""
    sources = ", ".join(f"{stream} [RANGE 10 SECONDS] AS a{n}" for n, stream in enumerate(inputs))
    joins = " AND ".join(f"a0.a = a{n}.b" for n in range(1, len(inputs)))
    return parse_query(f"SELECT a0.a FROM {sources} WHERE {joins}", "star", WIDE)


def test_a_price_takes_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a price costs on a plan of a hundred queries is measured by the optimizer's benchmark."""
    base = plan([_any_query("q", random.Random(7), 4)], WIDE, method="flat", tasks=4)
    priced: list[Step] = []
    price = OrderSearch.price

    def counted(search: OrderSearch, step: Step) -> float:
        priced.append(step)
        return price(search, step)

    monkeypatch.setattr(OrderSearch, "price", counted)
    for size in (6, 8, 10, 12):
        priced.clear()
        asked = marginal_cost(base, _star(STREAMS[:size]))
        assert asked.exact == (size == 6)
        assert 0 < len(priced) < 900 + size**3
    self_join = marginal_cost(base, _star(["s1"] * 6))
    assert self_join.exact


def test_the_same_relations_by_another_predicate_are_another_step() -> None:
    def joined(name: str, column: str) -> Query:
        text = f"SELECT s0.a FROM s0 [RANGE 9 SECONDS], s1 [RANGE 9 SECONDS] WHERE s0.{column} = s1.{column}"
        return parse_query(text, name, WIDE)

    base = plan([joined("one", "a")], WIDE, method="flat")

    assert marginal_cost(base, joined("same", "a")).probe == 0
    other = marginal_cost(base, joined("other", "b"))
    assert (other.probe, other.reused_steps) == (20.0, 0)


def test_a_price_that_is_only_a_bound_is_never_below_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    base = plan([_any_query("q", random.Random(1), 5)], WIDE, method="flat", tasks=4)
    query = _star(STREAMS[:6])

    exact = marginal_cost(base, query)
    monkeypatch.setattr("optimizer.explain.orders._MOST_PRICED", 40)
    bound = marginal_cost(base, query)

    assert bound.probe >= exact.probe > 0
    assert bound.steps > 0
    assert (exact.exact, bound.exact) == (True, False)
    assert "at most +" in str(bound)


def test_second_best_orders_cost_more_where_the_plan_is_optimal() -> None:
    made = plan(queries()[:1], CATALOG, STATISTICS, "ilp", Options(storage_weight=0.0, mirs=False))

    others = explain(made, second_best=True).alternatives

    (middle,) = (other for other in others if other.start == "s")
    assert (middle.chosen, middle.instead) == (("r", "t"), ("t", "r"))
    assert middle.extra_cost == pytest.approx(25)
    assert all(other.extra_cost >= 0 for other in others)


def test_what_keeps_queries_apart_is_named() -> None:
    long = parse_query(Q2.replace("1 SECOND", "1000 SECONDS"), "long", CATALOG)
    made = plan([queries()[0], long], CATALOG, STATISTICS, "flat", Options(storage_weight=0.0))

    (reason,) = explain(made).apart

    assert reason.queries == ("long", "q1")
    assert reason.reason.startswith("s is kept 1000s and 1s")


def test_a_result_is_worth_what_the_plan_would_cost_more_without_it() -> None:
    options = Options(storage_weight=0.0)
    made = plan(queries(), CATALOG, STATISTICS, "ilp", options, tasks=4)
    flat = plan(queries(), CATALOG, STATISTICS, "ilp", Options(storage_weight=0.0, mirs=False), tasks=4)

    (result,) = explain(made, second_best=True).without_results

    assert result.relation == ("s", "t")
    assert result.extra_cost == pytest.approx(flat.cost.total - made.cost.total)


def test_the_second_best_partitioning_is_no_better() -> None:
    made = plan(queries(), CATALOG, STATISTICS, "ilp", Options(storage_weight=1.0, mirs=False), tasks=4)

    others = explain(made, second_best=True).other_partitionings

    assert {other.relation for other in others} == {("s",), ("t",)}
    assert all(other.extra_cost >= 0 and other.instead != other.chosen for other in others)


def test_an_option_that_costs_something_is_named() -> None:
    tight = Options(storage_weight=0.0, mirs=False, single_copy=True)

    hindering = explain(plan(queries(), CATALOG, STATISTICS, "ilp", tight, tasks=4), second_best=True).limits

    assert {limit.option for limit in hindering} == {"--no-mir", "--single-copy"}
    assert all(limit.saving > 0 for limit in hindering)


def test_a_drawing_connects_every_start_with_every_query() -> None:
    explanation = explain(plan(queries(), CATALOG, STATISTICS, "ilp", tasks=4))
    drawing = draw(explanation)
    nodes = {node.id: node for node in drawing.nodes}
    behind: dict[str, set[str]] = {}
    for edge in drawing.edges:
        assert {edge.origin, edge.target} <= set(nodes)
        behind.setdefault(edge.origin, set()).add(edge.target)

    def reached(start: str) -> set[str]:
        found, pending = {start}, [start]
        while pending:
            fresh = behind.get(pending.pop(), set()) - found
            found |= fresh
            pending += sorted(fresh)
        return found

    sources = [node for node in drawing.nodes if node.kind == "source"]
    assert len(nodes) == len(drawing.nodes)
    assert all({f"query:{name}" for name in node.queries} <= reached(node.id) for node in sources)
    assert sum(node.cost for node in drawing.nodes) == pytest.approx(explanation.cost.total)


def test_uncertain_statistics_give_a_range_of_states() -> None:
    exact = explain(plan(queries(), CATALOG, STATISTICS), second_best=True)
    unknown = explain(plan(queries(), CATALOG), second_best=True)

    assert exact.state.low == exact.state.expected == exact.state.high
    assert exact.robustness is None
    assert unknown.state.low < unknown.state.expected < unknown.state.high
    assert unknown.robustness is not None
    assert min(unknown.robustness.low, unknown.robustness.high) >= 1
    assert str(unknown.robustness) in to_text(unknown)


def test_a_plan_that_is_bad_at_one_end_is_called_so() -> None:
    """r may be a hundred times as fast as expected; then probing it first is a mistake."""

    class Wide:
        def rate(self, stream: str) -> Interval:
            return Interval(1.0, 10.0, 100_000.0) if stream == "r" else Interval.exactly(100.0)

        def selectivity(self, predicate: Expression) -> Interval:
            return Interval.exactly(0.01)

    made = plan([queries()[0]], CATALOG, Wide(), options=Options(storage_weight=0.0, mirs=False))

    found = explain(made, second_best=True).robustness

    assert found is not None
    assert not found.is_robust
    assert found.high > 1.1
    assert found.most_uncertain == "r"
    assert "if all statistics are high" in str(found)


def _steps(steps: Sequence[ExplainedStep]) -> Iterator[ExplainedStep]:
    for step in steps:
        yield step
        yield from _steps(step.steps)


@cache
def _workload(case: str) -> Explanation:
    """A golden workload, or ten random queries with different windows over the same streams."""
    if case == "random":
        chance = random.Random(11)
        asked = [_any_query(f"q{n}", chance, chance.choice((2, 3, 3, 4)), STREAMS[:6]) for n in range(10)]
        return explain(plan(asked, WIDE, tasks=4), second_best=True)
    found = load_workload(GOLDEN / case)
    known = statistics_of_workload(found.catalog, found.selectivities)
    return explain(plan(found.queries, found.catalog, known, tasks=4), second_best=True)


@pytest.mark.parametrize("case", WORKLOADS)
def test_every_number_of_an_explanation_adds_up(case: str) -> None:
    shown = _workload(case)
    steps = [step for tree in shown.trees for step in _steps(tree.steps)]
    cost = shown.cost

    assert cost.total == pytest.approx(cost.probe + cost.storage + cost.latency)
    assert sum(step.probe_cost for step in steps) == pytest.approx(cost.probe)
    assert sum(store.probe_cost for store in shown.stores) == pytest.approx(cost.probe)
    assert sum(store.storage_cost for store in shown.stores) == pytest.approx(cost.storage)
    assert sum(node.cost for node in draw(shown).nodes) == pytest.approx(cost.probe + cost.storage)
    assert sum(store.tuples for store in shown.stores) == pytest.approx(shown.state.expected)
    assert sum(query.alone_cost for query in shown.queries) == pytest.approx(shown.individual_cost)
    assert shown.bound is not None
    assert shown.bound <= cost.total * (1 + 1e-9)
    assert shown.gap == pytest.approx(max(0.0, 1 - shown.bound / cost.total))
    for query in shown.queries:
        mine = [step for step in steps if query.name in step.queries]
        assert (query.steps, query.shares_steps) == (len(mine), sum(len(s.queries) > 1 for s in mine))
    for step in steps:
        behind = sum(following.arriving_tuples_per_second for following in step.steps)
        assert behind == pytest.approx(len(step.steps) * step.leaving_tuples_per_second)


@pytest.mark.parametrize("case", WORKLOADS)
def test_no_second_best_is_better(case: str) -> None:
    shown = _workload(case)
    slack = -1e-9 * shown.cost.total

    assert all(other.extra_cost >= slack for other in shown.alternatives)
    assert all(other.extra_cost >= slack for other in shown.without_results)
    assert all(other.extra_cost >= slack for other in shown.other_partitionings)
    assert all(limit.saving >= 0 for limit in shown.limits)
