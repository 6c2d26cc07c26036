"""A memory limit is the budget of a plan, and the price of memory its dual."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.planner.memory_price import DISK_SECONDS, IDLE_PRICE
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import MEMORY_PRICE, Options
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload

TPCH = Path(__file__).parent / "golden" / "tpch"
METHODS = ("greedy", "ilp")


def planned(method: str, limit: float | None, **options: float) -> Plan:
    workload = load_workload(TPCH)
    known = statistics_of_workload(workload.catalog, workload.selectivities)
    asked = Options(cost="cores", memory_limit=limit, time_limit_s=30.0, **options)  # type: ignore[arg-type]
    return plan(workload.queries, workload.catalog, known, method, asked, tasks=2)


def held(made: Plan) -> float:
    return made.cost.storage / made.options.pricing.memory


def work(made: Plan) -> float:
    return made.cost.probe


@pytest.mark.parametrize("method", METHODS)
def test_within_the_limit_the_plan_of_least_work_is_taken(method: str) -> None:
    free = planned(method, None, storage_weight=IDLE_PRICE / MEMORY_PRICE)
    made = planned(method, 2 * held(free))
    assert made.memory is not None
    assert (made.memory.price, made.memory.saved_cores) == (IDLE_PRICE, 0.0)
    assert made.memory.held_bytes == pytest.approx(held(free))
    assert made.graph.to_json() == free.graph.to_json()


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_that_needs_more_gives_way_to_one_that_fits(method: str) -> None:
    free = planned(method, None, storage_weight=IDLE_PRICE / MEMORY_PRICE)
    limit = 0.6 * held(free)
    made = planned(method, limit)
    budget = made.memory
    assert budget is not None
    assert held(made) == pytest.approx(budget.held_bytes)
    assert held(made) <= limit
    assert IDLE_PRICE < budget.price < DISK_SECONDS / made.options.batch_s
    # What it says of more memory is true.
    more = planned(method, limit + budget.more_bytes)
    assert work(made) - work(more) == pytest.approx(budget.saved_cores * 1e6)


def test_a_little_on_disk_is_taken_where_that_is_less_work_than_fitting() -> None:
    free = planned("greedy", None, storage_weight=IDLE_PRICE / MEMORY_PRICE)
    made = planned("greedy", 0.5 * held(free))
    assert made.memory is not None
    on_disk = held(made) - made.memory.limit_bytes
    fits = planned("greedy", None, storage_weight=DISK_SECONDS / made.options.batch_s / MEMORY_PRICE)
    assert 0 < on_disk < held(free) - made.memory.limit_bytes
    assert held(fits) < made.memory.limit_bytes
    price = DISK_SECONDS / made.options.batch_s / 1e9
    assert work(made) / 1e6 + price * on_disk < work(fits) / 1e6


def test_what_fits_nowhere_is_on_disk() -> None:
    made = planned("greedy", 1e6)
    assert made.memory is not None
    assert made.memory.price == DISK_SECONDS / made.options.batch_s
    assert made.memory.held_bytes > 1e6
    assert "on disk" in str(made.memory)


def test_a_plan_in_use_is_one_under_any_limit() -> None:
    """Operators change limits, and what runs stays where it can."""
    before = planned("greedy", None)
    workload = load_workload(TPCH)
    known = statistics_of_workload(workload.catalog, workload.selectivities)
    asked = Options(cost="cores", memory_limit=2 * held(before), time_limit_s=30.0)
    again = plan(workload.queries, workload.catalog, known, "greedy", asked, tasks=2, running=before.running)
    assert again.running.key == before.running.key
