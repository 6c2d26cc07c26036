"""Bounds that need no finished solver: weak duality, and what a better point must be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.instances import instance
from optimizer.methods.flow import FlowProgram
from optimizer.methods.greedy import first_plan
from optimizer.methods.program import Program
from optimizer.methods.solvers import Resolver, dual_bound, solve_program
from optimizer.problem import Options
from optimizer.states import StateGraph


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
    assert dual_bound(program, duals) <= optimum(program) + 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_solving_again_with_nothing_held_reaches_the_optimum(seed: int) -> None:
    made = flow(seed, varied=True)
    graph_plan = first_plan(made.graph, targets=made.targets)
    start = np.array(made.point(graph_plan))
    found = Resolver(made.program).solve(start, np.array([], dtype=np.int64), 10.0)
    reached = start if found is None else np.array(found)
    assert float(np.dot(made.program.cost, reached)) == pytest.approx(optimum(made.program))
