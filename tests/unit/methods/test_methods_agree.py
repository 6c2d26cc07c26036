"""Brute force = literal program = flow program <= greedy, on random small problems."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.methods import METHODS
from optimizer.search.problem import Options, Problem, Status
from tests.reference.instances import instance
from tests.reference.literal import brute_force, solve_literal
from tests.reference.solution_faults import faults
from tests.unit.methods.method_problems import option_sets, small_problems

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)


@EXAMPLES
@given(small_problems(largest=3, most_queries=2), option_sets())
def test_brute_force_equals_literal_equals_flow(problem: Problem, options: Options) -> None:
    expected = brute_force(problem, options)
    answer, literal = solve_literal(problem, options)
    assert answer.values is not None
    printed = sum(c * v for c, v in zip(literal.program.cost, answer.values, strict=True))
    solution = METHODS["ilp"].solve(problem, options)
    assert printed == pytest.approx(expected, rel=1e-6)
    assert solution.cost.total == pytest.approx(expected, rel=1e-6)
    assert solution.status is Status.OPTIMAL


@settings(EXAMPLES, max_examples=25)
@given(small_problems(largest=4), option_sets())
def test_flow_equals_literal_and_bounds_greedy(problem: Problem, options: Options) -> None:
    solution = METHODS["ilp"].solve(problem, options)
    answer, literal = solve_literal(problem, options)
    assert answer.values is not None
    printed = sum(c * v for c, v in zip(literal.program.cost, answer.values, strict=True))
    assert solution.cost.total == pytest.approx(printed, rel=1e-6)
    greedy = METHODS["greedy"].solve(problem, options)
    assert solution.cost.total <= greedy.cost.total * (1 + 1e-9)


@EXAMPLES
@given(small_problems(), option_sets(), st.sampled_from(sorted(METHODS)))
def test_every_method_answers_every_query(problem: Problem, options: Options, name: str) -> None:
    solution = METHODS[name].solve(problem, options)
    assert faults(problem, options, solution, shared=name != "individual") == []


@pytest.mark.parametrize("varied", [False, True])
def test_methods_are_ordered_by_what_they_know(varied: bool) -> None:
    problem = instance(8, 4, 8, seed=3, varied=varied)
    costs = {name: method.solve(problem, Options()).cost.total for name, method in METHODS.items()}
    assert costs["ilp"] <= costs["greedy"] <= costs["individual"]
    assert costs["ilp"] < costs["flat"]


def test_greedy_strictly_loses() -> None:
    """Local search adds MIRs one by one; here only several together pay."""
    problem = instance(100, 3, 100, seed=0)
    options = Options(storage_weight=0.0)
    joint = METHODS["ilp"].solve(problem, options)
    greedy = METHODS["greedy"].solve(problem, options)
    assert joint.status is Status.OPTIMAL
    assert joint.cost.total < greedy.cost.total
