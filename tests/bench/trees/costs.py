"""What the shapes of dissertation section 5.3.3 cost, as planned."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.formulate.model import conditions_of
from optimizer.lower.to_graph import to_graph
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.validate import validate
from optimizer.planner.context import PlanningContext
from optimizer.search.problem import Options, Solution
from optimizer.statistics import statistics_of_workload
from optimizer.workload import Workload
from tests.bench.trees.chains import Chain

BUDGET = 1.5
"""Times the tuples of all inputs: what the budgeted left-deep plan may store."""
SHAPES = ("flat", "left-deep", "left-deep, budget", "top-down", "merging", "cheapest")
"""Strategies of the method `tree`; the third with `BUDGET`, the others without any."""
LATENCY_WEIGHT = 1e-6
"""So small that hops are counted and decide nothing."""


@dataclass(frozen=True, slots=True)
class Costs:
    """One plan."""

    sent: float
    """Tuples per second sent in order to probe, copies counted, when windows are full."""
    history: float
    """Tuples sent in order to probe until the first windows are full: see `history`."""
    stored: float
    """Tuples in all stores."""
    hops: float
    """Expected, from a tuple's arrival to a result."""
    results: int
    """Materialized ones."""
    tasks: int
    """Of all stores."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A plan."""

    graph: PhysicalGraph
    solution: Solution


def plan_shape(
    chain: Chain, known: Workload, shape: str, task_tuples: float | None, tasks: int = 1
) -> Shaped:
    """The chain, as a workload, planned as a tree of a shape.

    Neither grids nor slices take the place of broadcasts, as chapter 5 knows neither.

    Args:
        known: what `chain.write_workload` wrote.
        shape: one of `SHAPES`.
        task_tuples: stored tuples that one task holds; None leaves the number of tasks to `tasks`.
        tasks: of every store, at least.
    """
    options = Options(
        storage_weight=0.0,
        latency_weight=LATENCY_WEIGHT,
        storage_budget=BUDGET * chain.size * len(chain.streams) if shape.endswith("budget") else None,
        task_tuples=task_tuples,
        tree=shape.partition(",")[0],
        grids="off",
    )
    statistics = statistics_of_workload(known.catalog, known.selectivities)
    context = PlanningContext(known.catalog, statistics, "tree", options, "needed", tasks, chain.window_s)
    forest, solution = context.solve(known.queries)
    graph = to_graph(forest, method="tree")
    validate(graph, {terms.query.name: conditions_of(terms) for terms in forest.translation.queries})
    return Shaped(graph, solution)


def costs_of(made: Shaped, window_s: float) -> Costs:
    """A plan's costs, each in its own unit; all its windows are equal."""
    return Costs(
        sent=made.solution.cost.probe,
        history=history(made.solution, window_s),
        stored=sum(store.tuples for store in made.solution.stores),
        hops=made.solution.cost.latency / LATENCY_WEIGHT,
        results=sum(not store.is_base for store in made.solution.stores),
        tasks=sum(store.tasks for store in made.solution.stores),
    )


def history(solution: Solution, window_s: float) -> float:
    """Tuples sent in order to probe while every window fills: a full history of so many seconds.

    A step that sends what k streams have been joined to sends, over that time, a k-th of what it sends within
    a full window: the starting tuple is the newest of k (dissertation section 5.3.1; the factor printed in
    equation 5.5 is off by one).
    """
    sent: dict[tuple[object, ...], float] = {}
    for order in solution.orders:
        prefix: tuple[object, ...] = (order.start,)
        joined = 1
        for step in order.steps:
            prefix = (*prefix, step.store)
            sent[prefix] = step.cost * window_s / joined
            joined += len(step.store.relations)
    return sum(sent.values())
