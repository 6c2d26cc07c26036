"""Plans as they are after each phase of planning."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.planner.plan import STAGES, Plan, plan
from optimizer.search.problem import Options
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload

DEMO = load_workload(Path(__file__).parents[3] / "backend" / "demo")


def planned(method: str, stage: str | None) -> Plan:
    known = statistics_of_workload(DEMO.catalog, DEMO.selectivities)
    options = Options(grids="always")
    return plan(DEMO.queries, DEMO.catalog, known, method, options, tasks=4, batch_s=5.0, stage=stage)


@pytest.mark.parametrize("method", ["greedy", "individual"])
def test_every_phase_leaves_a_valid_plan_and_the_last_one_the_plan(method: str) -> None:
    after = {stage: planned(method, stage) for stage in STAGES}
    assert after[STAGES[-1]].graph == planned(method, None).graph
    assert all(made.queries == after["solve"].queries for made in after.values())
    assert after["slice-stores"].graph != after["lay-out-grids"].graph


def test_copies_that_relations_share_cost_otherwise_than_the_method_counted() -> None:
    solved, chosen = planned("flat", "solve"), planned("flat", "choose-store-copies")
    assert solved.cost.probe < chosen.cost.probe
    assert {store.id for store in chosen.graph.stores} < {store.id for store in solved.graph.stores}


def test_no_phase_has_another_name() -> None:
    with pytest.raises(KeyError, match="settle"):
        planned("flat", "settle")
