"""A plan's cost split among its queries adds up, and nobody pays for what they do not need."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.estimate import Shares, loads, shares
from optimizer.explain.division import divide
from optimizer.planner.plan import Plan, plan
from optimizer.search.pricing import CORES
from optimizer.search.problem import CostUnit, Options
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload

DEMO = Path(__file__).resolve().parents[3] / "backend" / "demo"


def _planned(cost: CostUnit, *names: str) -> tuple[Plan, Shares]:
    workload = load_workload(DEMO)
    queries = [query for query in workload.queries if not names or query.name in names]
    statistics = statistics_of_workload(workload.catalog, workload.selectivities)
    made = plan(queries, workload.catalog, statistics, "greedy", Options(cost=cost))
    return made, shares(made.graph, made.statistics, made.options)


@pytest.mark.parametrize("cost", ["cores", "messages"])
def test_what_queries_pay_is_what_the_plan_costs(cost: CostUnit) -> None:
    made, found = _planned(cost)

    pricing = made.options.pricing
    assert found.total == pytest.approx(
        pricing.batches + loads(made.graph, made.statistics).cost(pricing), rel=1e-12
    )
    assert set(found.queries) == {query.name for query in made.graph.queries}
    assert all(found.queries[name] > found.answers[name] >= 0 for name in found.queries)
    # What retains everything keeps nothing here that no query needs.
    assert found.common == pytest.approx(pricing.batches)


def test_pages_divide_a_plan_as_the_planner_does() -> None:
    made, found = _planned("cores")
    divided, each = divide(made), found.common / len(found.queries)
    memory = made.options.pricing.memory * 1e9

    for name, paid in found.queries.items():
        share = divided.shares[name]
        # The planner adds memory to work, and leaves what is common to nobody.
        assert share.cores / CORES + share.gb * memory == pytest.approx(paid + each, rel=1e-9)


def test_a_query_alone_pays_for_everything() -> None:
    _, found = _planned("cores", "diverging_wind")

    assert found.queries["diverging_wind"] + found.common == pytest.approx(found.total)
    assert set(found.streams) == {"weather"}


def test_sharing_costs_nobody_more_than_being_alone() -> None:
    """A query that reads one stream pays for nothing of the others."""
    _, together = _planned("cores")
    _, alone = _planned("cores", "diverging_wind")

    assert set(together.streams) == {"arrivals", "departures", "weather"}
    assert 0 < together.queries["diverging_wind"] <= alone.queries["diverging_wind"]
