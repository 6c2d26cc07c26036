"""Budgets, capacities, what cannot be connected, running plans, and equal bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from optimizer.algebra.errors import Infeasible, InputError
from optimizer.methods import METHODS
from optimizer.methods.ilp.flow_program import FlowProgram
from optimizer.methods.ilp.solve import Ilp, components
from optimizer.methods.ilp.solvers import SOLVERS, solve_program
from optimizer.methods.solution.costs import task_loads
from optimizer.search.cost_model import CostModel
from optimizer.search.problem import (
    Attribute,
    JoinPredicate,
    JoinQuery,
    Options,
    Problem,
    Relation,
    Solution,
    Status,
)
from optimizer.search.state_graph import StateGraph
from tests.reference.instances import instance
from tests.reference.solution_faults import faults
from tests.unit.methods.method_problems import golden_problem

BUDGETED = ["ilp", "greedy", "left-deep", "tree", "flat"]


@pytest.mark.parametrize("name", BUDGETED)
@pytest.mark.parametrize("budget", [400.0, 450.0, 500.0, 550.0, 700.0])
def test_budget_is_kept(name: str, budget: float) -> None:
    problem = golden_problem(4, sizes=True)
    options = Options(storage_weight=0.0, storage_budget=budget, single_copy=name == "flat")
    solution = METHODS[name].solve(problem, options)
    assert sum(store.tuples for store in solution.stores) <= budget
    assert faults(problem, options, solution) == []


def test_a_larger_budget_never_costs_more() -> None:
    problem = instance(6, 4, 8, seed=2, varied=True)
    least = sum(
        r.tuples_per_second for r in problem.relations if any(r.id in q.relations for q in problem.queries)
    )
    costs = [
        METHODS["ilp"].solve(problem, Options(storage_weight=0.0, storage_budget=least * factor)).cost.total
        for factor in (1.0, 1.2, 1.6, 3.0)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


@pytest.mark.parametrize("name", BUDGETED)
def test_impossible_budget_names_the_smallest_that_works(name: str) -> None:
    problem = golden_problem(4, sizes=True)
    with pytest.raises(Infeasible) as caught:
        METHODS[name].solve(problem, Options(storage_budget=399.0, single_copy=True))
    assert caught.value.constraint == "storage_budget"
    assert caught.value.needed == pytest.approx(400.0)
    METHODS[name].solve(problem, Options(storage_budget=caught.value.needed, single_copy=True))


def test_task_capacity_is_kept_and_its_minimum_is_named() -> None:
    problem = golden_problem(4)
    with pytest.raises(Infeasible) as caught:
        METHODS["ilp"].solve(problem, Options(task_capacity=1.0))
    assert caught.value.constraint == "task_capacity"
    needed = caught.value.needed
    assert needed is not None
    for capacity in (needed * 1.0001, needed * 1.5, 1e6):
        options = Options(task_capacity=capacity)
        solution = METHODS["ilp"].solve(problem, options)
        assert faults(problem, options, solution) == []
        assert max(task_loads(CostModel(problem), solution).values()) <= capacity
    unlimited = METHODS["ilp"].solve(problem, Options())
    assert solution.cost.total == pytest.approx(unlimited.cost.total)


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_greedy_leads_around_full_tasks(seed: int) -> None:
    problem = instance(5, 4, 8, seed=seed, varied=seed % 2 == 0)
    with pytest.raises(Infeasible) as caught:
        METHODS["ilp"].solve(problem, Options(task_capacity=1.0, time_limit_s=200.0))
    needed = caught.value.needed
    assert needed is not None
    options = Options(task_capacity=1.05 * needed)
    heedless = METHODS["greedy"].solve(problem, Options())
    solution = METHODS["greedy"].solve(problem, options)
    assert max(task_loads(CostModel(problem), heedless).values()) > 1.05 * needed
    assert max(task_loads(CostModel(problem), solution).values()) <= 1.05 * needed
    assert faults(problem, options, solution) == []


def test_greedy_names_a_capacity_that_works_for_it() -> None:
    problem = instance(5, 4, 8, seed=17, varied=False)
    with pytest.raises(Infeasible) as caught:
        METHODS["greedy"].solve(problem, Options(task_capacity=1.0))
    assert caught.value.constraint == "task_capacity"
    assert caught.value.needed is not None
    options = Options(task_capacity=caught.value.needed)
    assert faults(problem, options, METHODS["greedy"].solve(problem, options)) == []


def relation(name: str, rate: float = 10.0, window: float | None = 60.0) -> Relation:
    return Relation(name, name, rate, window, 2)


THETA = Problem(
    tuple(relation(name) for name in "rst"),
    (JoinPredicate("r.a+s.b=t.c", frozenset("rst"), 0.01),),
    (JoinQuery("q", frozenset("rst"), frozenset({"r.a+s.b=t.c"})),),
)
CROSS = Problem(
    tuple(relation(name, window=None) for name in "rs"),
    (),
    (JoinQuery("q", frozenset("rs"), frozenset()),),
    horizon_s=100.0,
)
MIXED = Problem(
    tuple(relation(name) for name in "rstu"),
    (
        JoinPredicate("rs", frozenset("rs"), 0.01, (Attribute("r", "a"), Attribute("s", "a"))),
        JoinPredicate("rstu", frozenset("rstu"), 0.5),
    ),
    (
        JoinQuery("q", frozenset("rstu"), frozenset({"rs", "rstu"})),
        JoinQuery("p", frozenset("rs"), frozenset({"rs"})),
        JoinQuery("single", frozenset("u"), frozenset()),
    ),
)


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("mirs", [True, False])
@pytest.mark.parametrize("problem", [THETA, CROSS, MIXED], ids=["n-ary", "cross join", "mixed"])
def test_what_no_binary_predicate_connects(problem: Problem, mirs: bool, name: str) -> None:
    options = Options(mirs=mirs)
    solution = METHODS[name].solve(problem, options)
    assert faults(problem, options, solution, shared=name != "individual") == []


@pytest.mark.parametrize("name", sorted(METHODS))
def test_queries_without_joins_need_no_orders(name: str) -> None:
    problem = Problem((relation("r"),), (), (JoinQuery("q", frozenset("r"), frozenset()),))
    solution = METHODS[name].solve(problem, Options())
    assert (solution.orders, solution.stores, solution.cost.total) == ((), (), 0.0)
    assert solution.status is Status.OPTIMAL


def test_dense_query_beyond_enumeration_is_answered() -> None:
    names = [f"r{i:02d}" for i in range(14)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    predicates = tuple(JoinPredicate(f"{a}{b}", frozenset({a, b}), 0.1) for a, b in pairs)
    query = JoinQuery("q", frozenset(names), frozenset(p.id for p in predicates))
    problem = Problem(tuple(relation(name, window=1.0) for name in names), predicates, (query,))
    options = Options()
    for name in ("greedy", "flat"):
        assert faults(problem, options, METHODS[name].solve(problem, options)) == []


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree(solver: str) -> None:
    problem = instance(10, 4, 10, seed=1)
    graph = StateGraph(problem, Options())
    flow = FlowProgram(graph, components(graph)[-1])
    answer = solve_program(flow.program, solver, 30.0)
    assert answer.proven
    assert answer.values is not None
    objective = sum(c * v for c, v in zip(flow.program.cost, answer.values, strict=True))
    expected = solve_program(flow.program, "highs", 30.0)
    assert expected.bound is not None
    assert objective == pytest.approx(expected.bound)
    assert answer.bound == pytest.approx(expected.bound)


def test_unknown_solver_is_named() -> None:
    graph = StateGraph(golden_problem(), Options())
    with pytest.raises(InputError, match="gurobi"):
        solve_program(FlowProgram(graph, graph.required).program, "gurobi", 1.0)


@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_a_time_limit_leaves_an_answer_with_an_honest_bound(limit: float) -> None:
    problem = instance(30, 5, 10, seed=0)
    options = Options(time_limit_s=limit)
    solution = METHODS["ilp"].solve(problem, options)
    assert faults(problem, options, solution) == []
    assert solution.status is Status.FEASIBLE
    assert solution.gap is not None
    assert solution.gap > 0


def first_store(solution: Solution, start: str) -> list[str]:
    order = next(order for order in solution.orders if order.start == start)
    return sorted(order.steps[0].store.relations)


def test_running_plan_stays_until_a_switch_pays() -> None:
    """S asks R or T first, whichever join is smaller; |R join S| is 100."""
    options = Options(storage_weight=0.0, mirs=False, stay_discount=0.05)
    ilp = METHODS["ilp"]
    running = ilp.solve(golden_problem(queries=("q1",), st_size=99.0), options)
    assert first_store(running, "S") == ["T"]
    little = golden_problem(queries=("q1",), st_size=101.0)
    assert first_store(ilp.solve(little, options), "S") == ["R"]
    kept = ilp.solve(little, options, running)
    assert first_store(kept, "S") == ["T"]
    assert faults(little, options, kept) == []
    assert first_store(ilp.solve(golden_problem(queries=("q1",), st_size=150.0), options, running), "S") == [
        "R"
    ]


def test_another_predicate_is_another_step() -> None:
    """S asks R on a; a query that asks R on b instead runs nothing of that, one that comes back does."""
    problem = golden_problem(queries=("q1",))
    (query,) = problem.queries
    other = JoinPredicate("rs2", frozenset("RS"), 0.005, (Attribute("R", "x"), Attribute("S", "x")))
    changed = replace(query, predicates=frozenset({"rs2", "st"}))
    both = replace(
        problem,
        predicates=(*problem.predicates, other),
        queries=(query, replace(changed, id="q9")),
    )
    options = Options(storage_weight=0.0, mirs=False, stay_discount=0.5)
    running = METHODS["ilp"].solve(problem, options)

    graph = StateGraph(both, options, running=running)

    def runs(start: str, predicates: set[str]) -> bool:
        """Whether a first step from a start comes to hold just these predicates, and is in use."""
        found = [
            arc
            for arc in range(len(graph.start))
            if graph.relations[graph.start[arc]].id == start
            and graph.states[graph.source[arc]].size == 1
            and graph.names(graph.states[graph.target[arc]])[1] == predicates
        ]
        (arc,) = found
        assert graph.cost[arc] == graph.rate[arc] * (0.5 if graph.is_running(arc) else 1.0)
        return graph.is_running(arc)

    assert runs("R", {"rs"})
    assert not runs("R", {"rs2"})
    assert runs("T", {"st"})


def test_everything_is_planned_afresh_once_most_queries_changed() -> None:
    options = Options(storage_weight=0.0, mirs=False, stay_discount=0.05)
    running = METHODS["ilp"].solve(golden_problem(queries=("q1",), st_size=99.0), options)
    other = golden_problem(queries=("q1",), st_size=101.0)
    renamed = replace(other, queries=(replace(other.queries[0], id="new"),))
    assert first_store(METHODS["ilp"].solve(renamed, options, running), "S") == ["R"]


def test_only_changed_components_are_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from optimizer.methods.ilp import solve as module

    problem = instance(12, 3, 100, seed=4)
    options = Options(storage_weight=0.0)
    method = Ilp()
    before = method.solve(problem, options)
    solved: list[tuple[int, ...]] = []
    solve_component = module._solve_component

    def counted(graph, group, *rest):  # type: ignore[no-untyped-def]
        solved.append(tuple(group))
        return solve_component(graph, group, *rest)

    monkeypatch.setattr(module, "_solve_component", counted)
    fewer = replace(problem, queries=problem.queries[1:])
    after = method.solve(fewer, options, before)
    assert len(solved) <= 1
    assert faults(fewer, options, after) == []
    assert after.cost.total == pytest.approx(Ilp().solve(fewer, options).cost.total)


DIGEST = """
import hashlib
from tests.reference.instances import instance
from optimizer.methods import METHODS
from optimizer.search.problem import Options
from optimizer.methods.ilp.effort import Effort
from optimizer.methods.ilp.solve import Ilp
from optimizer.methods.heuristic import local_search


def show(name, problem, options, methods=METHODS):
    solution = methods[name].solve(problem, options)
    orders = [(o.start, o.queries, [(sorted(s.store.relations), s.store.partitioning, s.broadcast,
               s.tuples_per_second) for s in o.steps], len(o.feeds)) for o in solution.orders]
    stores = [(sorted(s.relations), sorted(s.predicates), s.partitioning, s.tuples) for s in solution.stores]
    found = (orders, stores, solution.cost, solution.bound)
    print(name, solution.status, hashlib.sha256(repr(found).encode()).hexdigest())


for name in sorted(METHODS):
    show(name, instance(10, 4, 12, seed=5), Options(time_limit_s=60))
# Searches that end because their work is limited, and one that has no time at all.
local_search.SHAKE_SEARCHES = 300
limited = {**METHODS, "ilp": Ilp(Effort(rounds_per_second=0.05, split_work=1.0, branching_work=1.0))}
cut_off = instance(20, 5, 10, seed=2)
for weight in (0.0, 1.0):
    show("greedy", cut_off, Options(time_limit_s=100, storage_weight=weight))
    show("ilp", cut_off, Options(time_limit_s=100, storage_weight=weight), limited)
show("ilp", cut_off, Options(time_limit_s=0.0), limited)
show("ilp", instance(5, 4, 8, seed=3), Options(time_limit_s=100, task_capacity=700.0), limited)
"""


def test_equal_input_gives_equal_bytes_whatever_the_hash_seed() -> None:
    outputs = set()
    for seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    lines = outputs.pop().splitlines()
    assert len(lines) == len(METHODS) + 6
    assert lines[-3].startswith("ilp feasible"), "the limits are meant to cut this search off"
