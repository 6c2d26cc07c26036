"""Joint greedy by marginal cost, then local search.

There is an answer at once, and it keeps improving.

The first plan routes one query after the other, counting only what is not sent already.
Local search then re-routes single starts, adds and drops materialized results, and changes
partitionings, as long as that lowers the total cost. It stops at a local optimum, after a
fixed amount of work, or at the time limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter

from optimizer.algebra.errors import Infeasible
from optimizer.methods.heuristic.flat import route_flat
from optimizer.methods.heuristic.local_search import improve, route, shake, unburden
from optimizer.methods.solution.assemble import assemble, check_limits, empty
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.search.problem import Options, Problem, Solution
from optimizer.search.state_graph import StateGraph

SECOND_START_SEARCHES = 10_000
"""Local search also starts from the flat plan if it took at most so many searches from the first."""


class Greedy:
    name = "greedy"

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """A good plan without proof; see `Method.solve`."""
        begun = perf_counter()
        graph = StateGraph(problem, options, running=running)
        built = perf_counter()
        if not graph.required:
            return empty(self.name)
        draft = search(graph, built + options.time_limit_s)
        solution = assemble(draft, self.name, built - begun, perf_counter() - built)
        return check_limits(problem, options, solution)


def first_plan(graph: StateGraph, price: float = 0.0, targets: Sequence[int] | None = None) -> PartialPlan:
    """Route every query over base stores, one after the other, by marginal cost."""
    draft = PartialPlan(graph, price, targets=targets)
    draft.choose_copies()
    for target in sorted(draft.targets, key=lambda t: (graph.states[t].size, t)):
        for start in graph.states[target].members:
            route(draft, (target, start))
        draft.choose_copies()
    return draft


def flat_plan(graph: StateGraph, price: float = 0.0) -> PartialPlan:
    """Every query's own best flat plan, equal prefixes merged."""
    draft = PartialPlan(graph, price)
    draft.choose_copies()
    for target in draft.targets:
        route_flat(draft, target)
    draft.choose_copies()
    return draft


def search(graph: StateGraph, deadline: float) -> PartialPlan:
    """The best plan of local search from both first plans, within limits if it can.

    `deadline` is on `perf_counter`'s clock. A storage budget is obeyed by a price on stored tuples,
    doubled until the plan fits; one copy of every base store is the least that any plan needs. A task
    capacity is obeyed by a price on what a task gets above it. A plan that breaks it after all is
    returned too: the caller says so, or has a way of its own.
    """
    draft = _within_budget(graph, deadline)
    unburden(draft, deadline)
    return draft


def _within_budget(graph: StateGraph, deadline: float) -> PartialPlan:
    budget = graph.options.storage_budget
    draft = _search_priced(graph, deadline, 0.0)
    if budget is None or stored_tuples(draft) <= budget:
        return draft
    least = sum(graph.sites[site].tuples for site in graph.base_sites)
    if least > budget * (1 + 1e-9):
        raise Infeasible("storage_budget", budget, least)
    price = draft.total / max(stored_tuples(draft), 1e-9) / 8
    best: PartialPlan | None = None
    for _ in range(24):
        draft = _search_priced(graph, deadline, price)
        if stored_tuples(draft) <= budget:
            best = draft
            break
        price *= 2
    if best is None:
        best = flat_plan(graph)
        for site in graph.base_sites:
            least_bit = 1 << min(range(len(graph.sites[site].partitionings)), key=lambda i: i)
            best.pin(site, least_bit)
        best.choose_copies()
    return best


def stored_tuples(draft: PartialPlan) -> float:
    return sum(draft.graph.sites[s].tuples * copies.bit_count() for s, copies in sorted(draft.copies.items()))


def _search_priced(graph: StateGraph, deadline: float, price: float) -> PartialPlan:
    best = first_plan(graph, price)
    improve(best, deadline)
    if best.searches <= SECOND_START_SEARCHES and perf_counter() < deadline:
        other = flat_plan(graph, price)
        improve(other, deadline)
        best = min(best, other, key=lambda draft: draft.total)
    shake(best, deadline)
    return best


def guided_plan(
    graph: StateGraph, guide: list[float], mirs: Iterable[int], targets: Sequence[int]
) -> PartialPlan | None:
    """A plan that follows a relaxation: its MIRs first, then paths on discounted arcs.

    None if one of the MIRs cannot be fed without another that is missing.
    """
    draft = PartialPlan(graph, guide=guide, targets=targets)
    draft.choose_copies()
    for mir in sorted(mirs, key=lambda m: (graph.states[m].size, m)):
        draft.add_mir(mir)
    draft.choose_copies()
    for target in dict.fromkeys(
        [*sorted(draft.mirs, key=lambda m: (graph.states[m].size, m)), *draft.targets]
    ):
        for start in graph.states[target].members:
            if not route(draft, (target, start)):
                return None
    draft.guide = graph.cost
    draft.choose_copies()
    return draft
