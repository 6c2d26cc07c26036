"""Explanations agree with the plan, and one more query has its price."""

from __future__ import annotations

import json
from time import process_time

import pytest

from optimizer.explain import explain, marginal_cost, to_json
from optimizer.plan import Plan, plan
from optimizer.problem import Options
from optimizer.sql import parse_query
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


def test_the_price_is_known_within_fifty_milliseconds(planned: Plan) -> None:
    query = parse_query(Q2, "more", CATALOG)
    began = process_time()

    marginal_cost(planned, query)

    assert process_time() - began < 0.05


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
