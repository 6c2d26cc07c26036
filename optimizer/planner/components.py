"""Components of a workload, planned apart, and what stays of a plan that runs.

Queries whose streams are not connected through other queries have nothing to share, not even a
store, so each such part is a problem of its own. A part in which nothing changed keeps its
answer to the byte; one that changed starts from what runs, and leaves it only for a gain that
is worth a switch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from optimizer.algebra.connectivity import connected_components
from optimizer.algebra.digest import digest
from optimizer.algebra.errors import Infeasible, hardest
from optimizer.formulate.base_stores import SeparateStores, together
from optimizer.formulate.covering import merged
from optimizer.formulate.problem import Subsumption
from optimizer.logical.query import Query
from optimizer.lower.store_layouts import grow_with_copies
from optimizer.methods.solution.assemble import assemble
from optimizer.methods.solution.warm_start import partial_plan_of
from optimizer.planner.context import PlanningContext
from optimizer.planner.subsumption import share
from optimizer.search.incumbent import mostly_changed
from optimizer.search.problem import Cost, Problem, Solution, Status
from optimizer.search.state_graph import StateGraph


@dataclass(frozen=True, slots=True)
class QueryComponent:
    """Connected queries with their answer."""

    queries: tuple[Query, ...]
    """Sorted by name."""
    numbers: str
    """Digest of the problem before anything was widened: with equal queries, equal numbers have an
    equal answer."""
    solution: Solution
    subsumption: Subsumption = field(default_factory=dict)
    """Relations that wider ones serve, so that queries share them."""
    separate: SeparateStores = field(default_factory=dict)
    """Filters whose relations have base stores of their own."""


def connected(queries: Sequence[Query]) -> tuple[tuple[Query, ...], ...]:
    """Queries in groups without common streams, groups and queries sorted by name.

    >>> from optimizer.sql import parse_query
    >>> read = {"a": ("r", "s"), "b": ("s", "t"), "c": ("u", "v")}
    >>> queries = [parse_query(f"SELECT {x}.k FROM {x}, {y} WHERE {x}.k = {y}.k", q, None)
    ...            for q, (x, y) in read.items()]
    >>> [[query.name for query in group] for group in connected(queries)]
    [['a', 'b'], ['c']]
    """
    by_name = {query.name: query for query in sorted(queries, key=lambda q: q.name)}
    readers: dict[str, list[str]] = {}
    for name, query in by_name.items():
        for item in query.inputs:
            readers.setdefault(item.stream, []).append(name)
    components = connected_components(tuple(by_name), readers.values())
    return tuple(tuple(by_name[name] for name in component) for component in components)


def answers(
    context: PlanningContext,
    queries: Sequence[Query],
    running: Sequence[QueryComponent] = (),
    stage: str | None = None,
) -> tuple[QueryComponent, ...]:
    """The best plan found for every part of the queries.

    A part of `running` whose queries and numbers are still the same is kept as it is, proven or
    not: who wants a longer search plans without it. For others it is a warm start; with the
    same queries and other numbers it stays unless the new plan saves more than
    `Options.stay_discount`. If more than half of all queries came, went or changed, everything
    is optimized afresh.

    The time limit is shared out by size, and what a part leaves goes to those behind it. With a
    `stage` of solving each answer is what its queries have after that phase.
    """
    if mostly_changed(set(queries), {query for part in running for query in part.queries}):
        running = ()
    # A budget is one decision for all: what one part stores the others cannot.
    joint = context.options.storage_budget is not None and len(queries) > 0
    groups = (tuple(sorted(queries, key=lambda q: q.name)),) if joint else connected(queries)
    deadline = perf_counter() + context.options.time_limit_s
    weights = [sum(len(query.inputs) ** 2 for query in group) for group in groups]
    found = []
    for number, group in enumerate(groups):
        left = max(deadline - perf_counter(), 0.0)
        limit = left * weights[number] / sum(weights[number:])
        hurried = replace(context, options=replace(context.options, time_limit_s=limit))
        component = _answer(hurried, group, running)
        if stage is not None:
            seen = hurried.answer(group, subsumption=component.subsumption, stage=stage)
            component = replace(component, solution=seen.solution, separate=seen.separate)
        found.append(component)
    return tuple(found)


def answers_alone(
    context: PlanningContext, queries: Sequence[Query], running: Sequence[QueryComponent], stage: str | None
) -> tuple[QueryComponent, ...]:
    """As `answers`, for each query by itself, sorted by name."""
    before = {component.queries[0].name: component for component in running}
    budgets = _budgets(context, queries)
    found: list[QueryComponent] = []
    refused: list[Infeasible] = []
    for query in sorted(queries, key=lambda q: q.name):
        own = replace(context, options=replace(context.options, storage_budget=budgets.get(query.name)))
        same = before.get(query.name)
        # Under a budget the shares differ from plan to plan, so nothing is taken over.
        kept = [same] if same is not None and not budgets else []
        try:
            found += answers(own, [query], kept, stage)
        except Infeasible as error:
            refused.append(error)
    if refused:
        raise hardest(refused)
    return tuple(found)


def _budgets(context: PlanningContext, queries: Sequence[Query]) -> dict[str, float]:
    """A storage budget by topology, shared out by what each needs at least.

    The topologies share no store.
    """
    budget = context.options.storage_budget
    if budget is None:
        return {}
    least = {q.name: sum(size for _, size in context.translate([q]).stored) for q in queries}
    needed = sum(least[name] for name in sorted(least))
    if needed > budget * (1 + 1e-9):
        raise Infeasible("storage_budget", budget, needed)
    return {name: one * budget / needed if needed else budget for name, one in least.items()}


def _answer(
    context: PlanningContext, queries: tuple[Query, ...], running: Sequence[QueryComponent]
) -> QueryComponent:
    numbers = _numbers(context.translate(queries).problem)
    same = next((part for part in running if part.queries == queries), None)
    stay = context.options.stay_discount
    if same is not None and same.numbers == numbers:
        return same
    streams = {item.stream for query in queries for item in query.inputs}
    near = [p for p in running if any(i.stream in streams for q in p.queries for i in q.inputs)]
    if not near:
        made = share(context, queries)
        return QueryComponent(queries, numbers, made.solution, made.subsumption, made.separate)
    before: Subsumption = {}
    for part in near:
        before = merged(before, part.subsumption)
    separate = together(part.separate for part in near)
    made = share(context, queries, side_by_side([p.solution for p in near]), before, separate)
    if same is not None:
        alike = made.subsumption == same.subsumption and made.separate == same.separate
        kept = _restated(context, same, made.solution.bound if alike else None)
        if kept is not None and kept.cost.total * (1 - stay) <= made.solution.cost.total:
            return QueryComponent(queries, numbers, kept, same.subsumption, same.separate)
    return QueryComponent(queries, numbers, made.solution, made.subsumption, made.separate)


def _numbers(problem: Problem) -> str:
    sizes = [(relations, problem.sizes[relations]) for relations in sorted(problem.sizes, key=sorted)]
    return digest("N", problem.relations, problem.predicates, problem.queries, problem.horizon_s, sizes)


def _restated(context: PlanningContext, part: QueryComponent, bound: float | None) -> Solution | None:
    """A component's orders and results at today's statistics; None if they do not fit."""
    translation = context.translate(part.queries, part.subsumption, part.separate)
    graph = StateGraph(translation.problem, context.options)
    draft = partial_plan_of(graph, tuple(graph.required), part.solution)
    if draft is None:
        return None
    began = perf_counter()
    solution = assemble(draft, context.method, 0.0, perf_counter() - began)
    forest, solution = grow_with_copies(solution, translation, context.options, context.copies)
    if not context.admits(forest, solution):
        return None
    proven = bound is not None and solution.cost.total <= bound * (1 + 1e-9)
    bound = None if bound is None else min(bound, solution.cost.total)
    return replace(solution, bound=bound, status=Status.OPTIMAL if proven else Status.FEASIBLE)


def side_by_side(solutions: Sequence[Solution], method: str | None = None) -> Solution:
    """Independent solutions as one: everything adds up."""
    proven = all(s.status is Status.OPTIMAL for s in solutions)
    bounds = [s.bound for s in solutions if s.bound is not None]
    return Solution(
        method=method or (solutions[0].method if solutions else ""),
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        orders=tuple(order for s in solutions for order in s.orders),
        stores=tuple(store for s in solutions for store in s.stores),
        cost=Cost(
            probe=sum(s.cost.probe for s in solutions),
            storage=sum(s.cost.storage for s in solutions),
            latency=sum(s.cost.latency for s in solutions),
        ),
        bound=sum(bounds) if len(bounds) == len(solutions) else None,
        build_seconds=sum(s.build_seconds for s in solutions),
        solve_seconds=sum(s.solve_seconds for s in solutions),
    )
