"""What the optimizer's benchmark measures: one function per table or figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time

from optimizer.methods import METHODS
from optimizer.methods.heuristic.greedy import first_plan
from optimizer.methods.ilp.flow_program import FlowProgram
from optimizer.methods.ilp.solve import Ilp, components
from optimizer.methods.ilp.solvers import solve_program
from optimizer.search.problem import Options, Problem, Solution
from optimizer.search.state_graph import StateGraph
from tests.reference.instances import instance
from tests.reference.literal import literal_program
from tests.reference.solution_faults import faults

FREE = "free"
PAID = "paid"
WEIGHTS = {FREE: 0.0, PAID: 1.0}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the targets table."""

    queries: int
    size: int
    relations: int
    target_s: float
    dissertation: str

    @property
    def label(self) -> str:
        return f"{self.queries} x {self.size}, {self.relations}"


ROWS = (
    Row(100, 3, 100, 0.1, "0.12 s"),
    Row(10, 4, 100, 0.05, "0.4 s"),
    Row(10, 5, 100, 0.3, "12 s"),
    Row(10, 5, 10, 0.3, "12 s"),
    Row(30, 5, 100, 2.0, "> 120 s"),
    Row(30, 5, 10, 2.0, "> 120 s"),
    Row(100, 4, 100, 1.5, ""),
    Row(100, 5, 100, 5.0, ""),
    Row(100, 5, 10, 10.0, ""),
    Row(10, 6, 100, 1.0, ""),
    Row(30, 6, 100, 10.0, ""),
)


@dataclass(frozen=True, slots=True)
class Solved:
    """One run of the joint optimizer."""

    row: str
    copies: str
    rates: str
    seed: int
    queries: int
    wall_s: float
    cpu_s: float
    cost: float
    gap: float
    status: str


@dataclass(frozen=True, slots=True)
class Literal:
    """The literal program of chapter 7 on the same instance."""

    row: str
    copies: str
    seed: int
    orders: int
    columns: int
    rows: int
    wall_s: float
    gap: float | None
    """None if it found no solution in time."""


@dataclass(frozen=True, slots=True)
class Heuristic:
    """How far a method's plan is above the best known bound of the same instance."""

    row: str
    rates: str
    method: str
    seed: int
    above: float
    """Fraction of the optimum, or of the bound where the optimum is not proven."""
    wall_s: float


@dataclass(frozen=True, slots=True)
class Scaling:
    """A point of Figures 7.8a to 7.8e."""

    relations: int
    asked: int
    queries: int
    """Distinct ones that the environment has."""
    seed: int
    individual: float
    joint: float
    wall_s: float
    columns: int
    """Of the flow program."""
    literal_columns: int
    orders: int


@dataclass(frozen=True, slots=True)
class FirstPlan:
    """Seconds until there is any plan, for 100 five-way queries."""

    relations: int
    first_s: float
    greedy_s: float


def timed(problem: Problem, options: Options) -> tuple[Solution, float, float]:
    """Solve with a fresh method, so that nothing is remembered; wall and CPU seconds."""
    method = Ilp()
    wall, cpu = perf_counter(), process_time()
    solution = method.solve(problem, options)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    found = faults(problem, options, solution)
    if found:
        raise AssertionError(f"not a plan: {found[0]}")
    return solution, wall, cpu


def solve_row(row: Row, copies: str, varied: bool, seed: int, limit_s: float) -> Solved:
    problem = instance(row.queries, row.size, row.relations, seed, varied=varied)
    options = Options(storage_weight=WEIGHTS[copies], time_limit_s=limit_s)
    solution, wall, cpu = timed(problem, options)
    return Solved(
        row=row.label,
        copies=copies,
        rates="varied" if varied else "uniform",
        seed=seed,
        queries=len(problem.queries),
        wall_s=wall,
        cpu_s=cpu,
        cost=solution.cost.total,
        gap=solution.gap or 0.0,
        status=solution.status.value,
    )


def solve_literally(row: Row, copies: str, seed: int, limit_s: float) -> Literal | None:
    """The literal program with the same solver; None if it is refused for its size."""
    problem = instance(row.queries, row.size, row.relations, seed)
    options = Options(storage_weight=WEIGHTS[copies])
    begun = perf_counter()
    try:
        literal = literal_program(StateGraph(problem, options))
    except ValueError:
        return None
    answer = solve_program(literal.program, "highs", limit_s)
    gap = None
    if answer.values is not None and answer.bound is not None:
        cost = sum(c * v for c, v in zip(literal.program.cost, answer.values, strict=True))
        gap = 0.0 if answer.proven else (cost - answer.bound) / cost
    return Literal(
        row=row.label,
        copies=copies,
        seed=seed,
        orders=literal.orders,
        columns=len(literal.program.cost),
        rows=len(literal.program.row_lower),
        wall_s=perf_counter() - begun,
        gap=gap,
    )


def heuristics(row: Row, varied: bool, seed: int, limit_s: float) -> list[Heuristic]:
    problem = instance(row.queries, row.size, row.relations, seed, varied=varied)
    options = Options(storage_weight=0.0, time_limit_s=limit_s)
    best, _, _ = timed(problem, options)
    reference = best.bound if best.bound else best.cost.total
    found = []
    for name in ("individual", "flat", "left-deep", "tree", "greedy"):
        begun = perf_counter()
        cost = METHODS[name].solve(problem, options).cost.total
        found.append(
            Heuristic(
                row.label,
                "varied" if varied else "uniform",
                name,
                seed,
                cost / reference - 1,
                perf_counter() - begun,
            )
        )
    return found


def scaling(relations: int, asked: int, seed: int, limit_s: float) -> Scaling:
    """Three-way queries over 10 or 100 relations: cost and size, individual against joint."""
    problem = instance(asked, 3, relations, seed)
    options = Options(storage_weight=0.0, time_limit_s=limit_s)
    solution, wall, _ = timed(problem, options)
    individual = METHODS["individual"].solve(problem, options)
    graph = StateGraph(problem, options)
    columns = sum(len(FlowProgram(graph, group).program.cost) for group in components(graph))
    literal = literal_program(graph)
    return Scaling(
        relations=relations,
        asked=asked,
        queries=len(problem.queries),
        seed=seed,
        individual=individual.cost.total,
        joint=solution.cost.total,
        wall_s=wall,
        columns=columns,
        literal_columns=len(literal.program.cost),
        orders=literal.orders,
    )


def first_plans(relations: int) -> FirstPlan:
    problem = instance(100, 5, relations, 0)
    options = Options(time_limit_s=1.0)
    begun = perf_counter()
    first_plan(StateGraph(problem, options, mirs=False))
    first = perf_counter() - begun
    begun = perf_counter()
    METHODS["greedy"].solve(problem, options)
    return FirstPlan(relations, first, perf_counter() - begun)


def middle(values: Sequence[float]) -> float:
    return median(values)
