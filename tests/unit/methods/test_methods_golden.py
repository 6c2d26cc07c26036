"""The golden values of the joint optimizer: the dissertation's example, every variant."""

from __future__ import annotations

import pytest

from optimizer.methods import METHODS
from optimizer.search.problem import Attribute, Options, Problem, Status
from optimizer.search.state_graph import StateGraph
from tests.reference.literal import all_paths, brute_force, literal_program, solve_literal
from tests.reference.solution_faults import faults
from tests.unit.methods.method_problems import golden_problem

NONE = Options(mirs=False, storage_weight=0.0)
FREE = Options(storage_weight=0.0)
SINGLE = Options(storage_weight=0.0, single_copy=True)
SINGLE_NONE = Options(storage_weight=0.0, single_copy=True, mirs=False)
PAID = Options(storage_weight=1.0)
CHEAP = Options(storage_weight=0.1)

JOINT = [
    *[pytest.param(golden_problem(1), NONE, 800.0, id="no MIRs, N=1")],
    *[pytest.param(golden_problem(n), FREE, 700.0, id=f"MIRs free, N={n}") for n in (1, 2, 4, 10)],
    *[
        pytest.param(golden_problem(n), SINGLE, cost, id=f"one copy, N={n}")
        for n, cost in ((2, 800.0), (4, 1000.0), (5, 1100.0), (10, 1600.0))
    ],
    *[
        pytest.param(golden_problem(n), SINGLE_NONE, cost, id=f"one copy, no MIRs, N={n}")
        for n, cost in ((2, 1000.0), (4, 1400.0), (5, 1600.0), (10, 2600.0))
    ],
    *[
        pytest.param(golden_problem(n, sizes=True), PAID, cost, id=f"weight 1, N={n}")
        for n, cost in ((1, 1200.0), (2, 1350.0), (4, 1400.0))
    ],
    *[
        pytest.param(golden_problem(n, sizes=True), CHEAP, cost, id=f"weight 0.1, N={n}")
        for n, cost in ((1, 755.0), (2, 770.0), (4, 770.0), (10, 770.0))
    ],
    pytest.param(golden_problem(1, st_size=100.0), FREE, 600.0, id="all 100, free"),
    pytest.param(golden_problem(1, st_size=100.0), NONE, 700.0, id="all 100, no MIRs"),
]

ALONE = [
    *[(1, False, NONE, 475.0)],
    *[(n, False, FREE, 400.0) for n in (1, 2, 4, 10)],
    *[(n, False, SINGLE, 400.0) for n in (2, 4, 5, 10)],
    *[(n, True, PAID, cost) for n, cost in ((1, 775.0), (2, 800.0), (4, 800.0))],
    *[(n, True, CHEAP, 440.0) for n in (1, 2, 4, 10)],
]


@pytest.mark.parametrize("solver", ["highs", "highs-pulp", "cbc"])
@pytest.mark.parametrize(("problem", "options", "cost"), JOINT)
def test_joint_optimum(problem: Problem, options: Options, cost: float, solver: str) -> None:
    from dataclasses import replace

    solution = METHODS["ilp"].solve(problem, replace(options, solver=solver))
    assert solution.cost.total == pytest.approx(cost, abs=1e-9)
    assert solution.status is Status.OPTIMAL
    assert solution.gap == pytest.approx(0.0, abs=1e-9)
    assert faults(problem, options, solution) == []


@pytest.mark.parametrize(("problem", "options", "cost"), JOINT)
def test_oracles_agree(problem: Problem, options: Options, cost: float) -> None:
    answer, literal = solve_literal(problem, options)
    assert answer.values is not None
    total = sum(c * v for c, v in zip(literal.program.cost, answer.values, strict=True))
    assert total == pytest.approx(cost)
    assert brute_force(problem, options) == pytest.approx(cost)


@pytest.mark.parametrize("query", ["q1", "q2"])
@pytest.mark.parametrize(("tasks", "sizes", "options", "cost"), ALONE)
def test_each_query_alone(query: str, tasks: int, sizes: bool, options: Options, cost: float) -> None:
    problem = golden_problem(tasks, (query,), sizes=sizes)
    assert METHODS["ilp"].solve(problem, options).cost.total == pytest.approx(cost, abs=1e-9)
    both = METHODS["individual"].solve(golden_problem(tasks, sizes=sizes), options)
    assert both.cost.total == pytest.approx(2 * cost, abs=1e-9)
    assert both.status is Status.OPTIMAL


def test_joint_plan_sends_s_to_t_first_although_that_is_worse_for_q1_alone() -> None:
    solution = METHODS["ilp"].solve(golden_problem(), NONE)
    order = next(o for o in solution.orders if o.start == "S" and "q1" in o.queries)
    assert [sorted(step.store.relations) for step in order.steps] == [["T"], ["R"]]


def test_candidates_of_figure_7_1() -> None:
    graph = StateGraph(golden_problem(2), FREE)
    candidates = {
        "".join(sorted(graph.names(site.state)[0])): [
            f"{p.relation}.{p.name}" for p in site.partitionings if isinstance(p, Attribute)
        ]
        for site in graph.sites.values()
    }
    assert candidates == {
        "R": ["R.b"],
        "S": ["S.b", "S.c"],
        "T": ["T.c", "T.d"],
        "U": ["U.d"],
        "RS": ["S.c"],
        "ST": ["S.b", "T.d"],
        "TU": ["T.c"],
    }


def test_sizes_of_the_literal_program() -> None:
    graph = StateGraph(golden_problem(2), FREE)
    literal = literal_program(graph)
    assert (literal.orders, literal.steps) == (36, 36)
    orders = [
        path
        for target in graph.targets
        for start in graph.states[target].members
        for path in all_paths(graph, target, start)
    ]
    prefixes = {path[:length] for path in orders for length in range(1, len(path) + 1)}
    assert (len(orders), len(prefixes)) == (18, 18)
