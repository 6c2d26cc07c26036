"""Bounds that need no finished solver: weak duality, and what a better point must be."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.methods import METHODS
from optimizer.methods.heuristic.greedy import first_plan
from optimizer.methods.ilp import large_neighbourhood as neighbourhood
from optimizer.methods.ilp.effort import Effort
from optimizer.methods.ilp.flow_program import FlowProgram
from optimizer.methods.ilp.large_neighbourhood import Neighbourhoods
from optimizer.methods.ilp.layout_bound import least_cost
from optimizer.methods.ilp.program import Program
from optimizer.methods.ilp.solve import Ilp
from optimizer.methods.ilp.solvers import Resolver, decided, dual_bound, relax, solve_program
from optimizer.search.problem import Options, Status
from optimizer.search.state_graph import StateGraph
from tests.reference.instances import instance


def flow(seed: int, varied: bool) -> FlowProgram:
    problem = instance(4, 3, 6, seed=seed, varied=varied, tasks=2)
    graph = StateGraph(problem, Options())
    return FlowProgram(graph, graph.required)


def optimum(program: Program) -> float:
    answer = solve_program(program, "highs", 10.0)
    assert answer.proven
    assert answer.values is not None
    return float(np.dot(program.cost, answer.values))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), scale=st.sampled_from([0.1, 1.0, 100.0]), varied=st.booleans())
def test_no_row_prices_bound_more_than_the_optimum(seed: int, scale: float, varied: bool) -> None:
    program = flow(seed % 7, varied).program
    duals = np.random.default_rng(seed).normal(0.0, scale, len(program.row_lower))
    assert dual_bound(program, duals)[0] <= optimum(program) + 1e-6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("storage_weight", [0.0, 1.0])
def test_what_no_layout_undercuts_is_nearly_the_optimum_over_single_tasks(
    seed: int, storage_weight: float
) -> None:
    options = Options(storage_weight=storage_weight)
    single = METHODS["ilp"].solve(instance(4, 3, 6, seed=seed, varied=True, tasks=1), options)
    assert single.status is Status.OPTIMAL
    least = least_cost([instance(4, 3, 6, seed=seed, varied=True, tasks=5)], options, 10.0)
    assert 0.95 * single.cost.total <= least <= single.cost.total * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("varied", [False, True])
def test_what_a_relaxation_excludes_is_in_no_better_point(seed: int, varied: bool) -> None:
    """Turning any one column into what is excluded costs what it is said to cost, or cannot be done."""
    program = flow(seed, varied).program
    best, relaxed = optimum(program), relax(program, 10.0)
    zeros, ones = decided(program, relaxed, best + 1e-6)
    assert len(zeros) > 0
    for value, columns in ((1.0, zeros[::7]), (0.0, ones)):
        for column in columns:
            other = deepcopy(program)
            other.add_row([int(column)], [1.0], value, value)
            answer = solve_program(other, "highs", 10.0)
            assert answer.infeasible or (answer.bound is not None and answer.bound > best)
    cut = solve_program(program, "highs", 10.0, below=best + 1.0, relaxed=relaxed)
    assert cut.values is not None
    assert float(np.dot(program.cost, cut.values)) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(3))
def test_a_plan_that_agrees_with_the_relaxation_is_no_worse(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With everything open it is the optimum, with nothing open the plan before."""
    problem = instance(6, 4, 8, seed=seed, tasks=2)
    graph = StateGraph(problem, Options())
    made = FlowProgram(graph, graph.required)
    first, least = first_plan(graph), optimum(made.program) + made.fixed_storage()
    away = [0.5] * len(made.program.cost)
    assert Neighbourhoods(made, first).agree(away, inf) is first
    monkeypatch.setattr(neighbourhood, "OPEN_SHARE", 1.0)
    found = Neighbourhoods(made, first).agree(away, inf)
    assert found.total == pytest.approx(least)
    assert found.total < first.total


@pytest.mark.parametrize("seed", range(4))
def test_solving_again_with_nothing_held_reaches_the_optimum(seed: int) -> None:
    made = flow(seed, varied=True)
    graph_plan = first_plan(made.graph, targets=made.targets)
    start = np.array(made.columns.point(graph_plan))
    found = Resolver(made.program).solve(start, np.array([], dtype=np.int64), 10.0)
    reached = start if found is None else np.array(found)
    assert float(np.dot(made.program.cost, reached)) == pytest.approx(optimum(made.program))


@pytest.mark.parametrize("seed", range(4))
def test_solving_again_changes_nothing_that_is_held(seed: int) -> None:
    made = flow(seed, varied=True)
    start = np.array(made.columns.point(first_plan(made.graph, targets=made.targets)))
    loose = made.columns.of_target(made.targets[0])
    held = np.setdiff1d(np.arange(len(start)), loose)
    found = Resolver(made.program).solve(start, held, 10.0)
    if found is not None:
        assert np.array_equal(np.array(found)[held], start[held])
        assert made.columns.draft(found).total < made.columns.draft(start.tolist()).total
    every = {column for target in made.targets for column in made.columns.of_target(target)}
    assert every == set(range(len(start)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_neighbourhoods_end_between_the_optimum_and_where_they_began(seed: int, weight: float) -> None:
    """And a search that is continued ends where one that was not interrupted does."""
    problem = instance(8, 4, 8, seed=seed, tasks=2)
    graph = StateGraph(problem, Options(storage_weight=weight))
    made = FlowProgram(graph, graph.required)
    first = first_plan(graph)
    least = optimum(made.program) + made.fixed_storage()
    whole = Neighbourhoods(made, first).search(0.0, rounds=12, deadline=inf)
    parted = Neighbourhoods(made, first)
    for _ in range(4):
        parted.search(0.0, rounds=3, deadline=inf)
    assert least - 1e-6 <= whole.total < first.total
    assert parted.best.total == whole.total


@pytest.mark.parametrize(
    ("costs", "value", "expected"),
    [([100.0, 300.0], 700.0, 600.1), ([2.0, 0.5], 3.0, 2.5005), ([0.3, 0.7], 1.0, None)],
)
def test_better_means_a_step_better(costs: list[float], value: float, expected: float | None) -> None:
    program = Program()
    for cost in costs:
        program.add_column(cost, integer=True, name="x")
    assert program.below(value) == (None if expected is None else pytest.approx(expected, rel=1e-12))


def test_time_that_neighbourhoods_leave_is_used_for_a_proof() -> None:
    """Programs with ties go to neighbourhoods before they branch; where those end, there may be time."""
    problem, options = instance(20, 5, 10, seed=2), Options(time_limit_s=200.0)
    effort = Effort(small_program=0, tied_gap=-1.0, rounds_per_second=0.05)

    proven = Ilp(effort).solve(problem, options)
    open_still = Ilp(replace(effort, branching_worth=1e9)).solve(problem, options)

    assert open_still.status is Status.FEASIBLE
    assert proven.status is Status.OPTIMAL
    assert proven.cost.total <= open_still.cost.total
    assert open_still.bound is not None
    assert open_still.bound < proven.cost.total
