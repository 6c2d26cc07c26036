"""Parts of a workload that are planned by themselves, and what stays of a plan that runs.

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
from optimizer.formulate.covering import merged
from optimizer.formulate.problem import Widening
from optimizer.logical.query import Query
from optimizer.lower.store_layouts import grow_settled
from optimizer.methods.solution.assemble import assemble
from optimizer.methods.solution.warm_start import draft_of
from optimizer.planner.context import Setting, share
from optimizer.search.problem import Cost, Problem, Solution, Status
from optimizer.search.state_graph import StateGraph


@dataclass(frozen=True, slots=True)
class Part:
    """Connected queries with their answer."""

    queries: tuple[Query, ...]
    """Sorted by name."""
    numbers: str
    """Digest of the problem before anything was widened: with equal queries, equal numbers have an
    equal answer."""
    solution: Solution
    widening: Widening = field(default_factory=dict)
    """Relations that wider ones serve, so that queries share them."""


def connected(queries: Sequence[Query]) -> tuple[tuple[Query, ...], ...]:
    """Queries grouped so that no two groups read a common stream.

    Groups and their queries are sorted by name.
    """
    by_name = {query.name: query for query in sorted(queries, key=lambda q: q.name)}
    readers: dict[str, list[str]] = {}
    for name, query in by_name.items():
        for item in query.inputs:
            readers.setdefault(item.stream, []).append(name)
    components = connected_components(tuple(by_name), readers.values())
    return tuple(tuple(by_name[name] for name in component) for component in components)


def answers(setting: Setting, queries: Sequence[Query], running: Sequence[Part] = ()) -> tuple[Part, ...]:
    """The best plan found for every part of the queries.

    A part of `running` whose queries and numbers are still the same is kept as it is, proven or
    not: who wants a longer search plans without it. For others it is a warm start; with the
    same queries and other numbers it stays unless the new plan saves more than
    `Options.stay_discount`. If more than half of all queries came, went or changed, everything
    is optimized afresh.

    The time limit is shared out by size, and what a part leaves goes to those behind it.
    """
    if mostly_changed(queries, [query for part in running for query in part.queries]):
        running = ()
    # A budget is one decision for all: what one part stores the others cannot.
    joint = setting.options.storage_budget is not None and len(queries) > 0
    groups = (tuple(sorted(queries, key=lambda q: q.name)),) if joint else connected(queries)
    deadline = perf_counter() + setting.options.time_limit_s
    weights = [sum(len(query.inputs) ** 2 for query in group) for group in groups]
    found = []
    for number, group in enumerate(groups):
        left = max(deadline - perf_counter(), 0.0)
        limit = left * weights[number] / sum(weights[number:])
        hurried = replace(setting, options=replace(setting.options, time_limit_s=limit))
        found.append(_answer(hurried, group, running))
    return tuple(found)


def mostly_changed(queries: Sequence[Query], running: Sequence[Query]) -> bool:
    """True if more than half of the queries, old and new, are in only one of the two lists."""
    now, before = set(queries), set(running)
    return 2 * len(now ^ before) > len(now | before)


def _answer(setting: Setting, queries: tuple[Query, ...], running: Sequence[Part]) -> Part:
    numbers = _numbers(setting.translate(queries).problem)
    same = next((part for part in running if part.queries == queries), None)
    stay = setting.options.stay_discount
    if same is not None and same.numbers == numbers:
        return same
    streams = {item.stream for query in queries for item in query.inputs}
    near = [p for p in running if any(i.stream in streams for q in p.queries for i in q.inputs)]
    if not near:
        solution, widening = share(setting, queries)
        return Part(queries, numbers, solution, widening)
    before: Widening = {}
    for part in near:
        before = merged(before, part.widening)
    solution, widening = share(setting, queries, side_by_side([p.solution for p in near]), before)
    if same is not None:
        kept = _restated(setting, same, solution.bound if widening == same.widening else None)
        if kept is not None and kept.cost.total * (1 - stay) <= solution.cost.total:
            return Part(queries, numbers, kept, same.widening)
    return Part(queries, numbers, solution, widening)


def _numbers(problem: Problem) -> str:
    sizes = [(relations, problem.sizes[relations]) for relations in sorted(problem.sizes, key=sorted)]
    return digest("N", problem.relations, problem.predicates, problem.queries, problem.horizon_s, sizes)


def _restated(setting: Setting, part: Part, bound: float | None) -> Solution | None:
    """A part's orders and results at today's rates and selectivities; None if they do not fit."""
    translation = setting.translate(part.queries, part.widening)
    graph = StateGraph(translation.problem, setting.options)
    draft = draft_of(graph, tuple(graph.required), part.solution)
    if draft is None:
        return None
    began = perf_counter()
    solution = assemble(draft, setting.method, 0.0, perf_counter() - began)
    forest, solution = grow_settled(solution, translation, setting.options, setting.copies)
    if not setting.admits(forest, solution):
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
