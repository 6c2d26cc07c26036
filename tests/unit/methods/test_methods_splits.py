"""Plans in which all starts join the same two parts, and proofs that nothing better exists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.methods.ilp.flow_program import FlowProgram
from optimizer.methods.ilp.solve import Ilp
from optimizer.methods.ilp.solvers import solve_program
from optimizer.methods.ilp.split_program import SplitProgram
from optimizer.search.problem import Options, Problem
from optimizer.search.state_graph import StateGraph
from tests.reference.instances import instance
from tests.reference.literal import brute_force
from tests.reference.solution_faults import faults
from tests.unit.methods.method_problems import option_sets, small_problems

EXAMPLES = settings(max_examples=30, deadline=None, derandomize=True)


def best_split(graph: StateGraph) -> float | None:
    """The cost of the best plan over splits; None if some query has no split of two storable parts."""
    flow = FlowProgram(graph, graph.required)
    choices = frozenset(site for site in graph.sites if flow.has_choice(site))
    split = SplitProgram(graph, graph.required, choices)
    answer = solve_program(split.program, "highs", 20.0)
    return None if answer.values is None else split.draft(answer.values).total


@EXAMPLES
@given(small_problems(largest=3, most_queries=2), option_sets())
def test_a_plan_over_splits_is_a_plan(problem: Problem, options: Options) -> None:
    found = best_split(StateGraph(problem, options))
    if found is not None:
        assert found >= brute_force(problem, options) * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_splits_are_optimal_for_few_queries_at_equal_rates(seed: int) -> None:
    """Ten uniform queries at free copies: nothing beats joining the same two parts."""
    problem = instance(10, 5, 10, seed=seed)
    options = Options(storage_weight=0.0)
    solution = Ilp().solve(problem, options)
    assert faults(problem, options, solution) == []
    assert best_split(StateGraph(problem, options)) == pytest.approx(solution.cost.total)


@EXAMPLES
@given(small_problems(largest=3, most_queries=2), option_sets(), st.sampled_from([0.5, 0.999, 1.001, 1.5]))
def test_a_search_below_a_value_finds_what_is_there(
    problem: Problem, options: Options, factor: float
) -> None:
    """Just above the optimum it is found, just below it there is proof that nothing is."""
    graph = StateGraph(problem, options)
    flow = FlowProgram(graph, graph.required)
    optimum = brute_force(problem, options) - flow.fixed_storage()
    if optimum <= 1e-6:
        return
    answer = solve_program(flow.program, "highs", 20.0, below=optimum * factor)
    if factor < 1:
        assert answer.values is None
        assert answer.infeasible
        assert answer.bound == pytest.approx(optimum * factor)
    else:
        assert answer.values is not None
        assert float(np.dot(flow.program.cost, answer.values)) == pytest.approx(optimum, rel=1e-6)
