"""The cost in cores: one objective for methods, bounds, topologies and graphs."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from optimizer.estimate import loads
from optimizer.formulate.source_load import source_load
from optimizer.methods import METHODS
from optimizer.methods.solution.costs import cost_of
from optimizer.planner.plan import Plan, plan
from optimizer.search.coefficients import COEFFICIENTS, Coefficients
from optimizer.search.pricing import Processor
from optimizer.search.problem import Options
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload
from tests.reference.instances import instance
from tests.unit.planning.test_golden import GOLDEN

CORES = Options(cost="cores")


@pytest.mark.parametrize("method", ["ilp", "greedy", "flat", "left-deep"])
def test_methods_find_what_their_orders_and_stores_cost(method: str) -> None:
    problem = instance(6, 4, 5, seed=3, varied=True)

    found = METHODS[method].solve(problem, CORES)

    assert found.cost == cost_of(problem, CORES, found.orders, found.stores)
    best = METHODS["ilp"].solve(problem, CORES)
    assert best.bound is not None
    assert best.bound <= found.cost.total * (1 + 1e-9)


def test_each_coefficient_makes_some_plan_dearer() -> None:
    made = _planned("clash", tasks=4)
    does = loads(made.graph, made.statistics)

    for field in fields(Coefficients):
        one = Processor(replace(Coefficients(), **{field.name: 1.0}), 0.5, 0.0)
        # No result is kept, nothing but keys is checked.
        without = field.name in ("keep", "keep_run", "check")
        assert (does.cost(one) + one.batches > 0) != without, field.name


def test_a_graph_costs_what_its_plan_was_chosen_by() -> None:
    made = _planned("clash", tasks=1)

    pricing = made.options.pricing
    assert pricing.batches + loads(made.graph, made.statistics).cost(pricing) == pytest.approx(
        made.cost.total, rel=0.02
    )
    assert source_load(made.translation).results == pytest.approx(
        loads(made.graph, made.statistics).source.results
    )


def test_fixed_parts_are_paid_as_often_as_batches_have_something_to_do() -> None:
    pricing = Processor(Coefficients(), batch_s=0.5, memory=0.0)

    assert pricing.task_batches(0.0, 4) == 0.0
    assert pricing.task_batches(0.001, 4) == pytest.approx(0.001, rel=1e-3)
    assert pricing.task_batches(1e6, 4) == pytest.approx(8.0)


def test_longer_batches_cost_fewer_cores() -> None:
    workload = load_workload(GOLDEN / "clash")
    costs = [
        plan(workload.queries, workload.catalog, options=CORES, batch_s=seconds).cost.total
        for seconds in (0.1, 1.0, 10.0)
    ]

    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 3 * costs[2]


def test_a_result_is_kept_where_that_is_less_work() -> None:
    """Messages keep the result of s and t, which four more runs per second are not worth."""
    workload = load_workload(GOLDEN / "clash")
    known = statistics_of_workload(workload.catalog, workload.selectivities)
    cheap = replace(COEFFICIENTS, store=0.0, keep_run=0.0, keep=0.0, insert_byte=0.0)

    kept = []
    for options in (CORES, replace(CORES, coefficients=cheap, storage_weight=0.0)):
        made = plan(workload.queries, workload.catalog, known, "ilp", options)
        kept.append(sum(not store.is_base for store in made.graph.stores))

    assert kept[0] == 0 < kept[1]


def _planned(case: str, tasks: int) -> Plan:
    workload = load_workload(GOLDEN / case)
    known = statistics_of_workload(workload.catalog, workload.selectivities)
    return plan(workload.queries, workload.catalog, known, options=CORES, tasks=tasks)
