"""The joint optimum: components, a first plan, and the flow program for each.

An answer exists before the first solver call: the greedy plan. Every component is then
solved by itself, the smallest first, so that a time limit costs optimality only where the
problem is hard. A point that a solver returns is rounded, turned into a plan and costed
afresh; if it is worse than what was known, it is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

from optimizer.algebra.connectivity import connected_components
from optimizer.algebra.errors import Infeasible
from optimizer.methods.heuristic.greedy import first_plan, guided_plan, search, stored_tuples
from optimizer.methods.heuristic.local_search import improve
from optimizer.methods.ilp.component_cache import ComponentCache, SolvedComponent
from optimizer.methods.ilp.effort import Effort
from optimizer.methods.ilp.flow_program import FlowProgram
from optimizer.methods.ilp.large_neighbourhood import Neighbourhoods
from optimizer.methods.ilp.solvers import relax, solve_program
from optimizer.methods.ilp.split_program import SplitProgram
from optimizer.methods.solution.assemble import assemble, check_limits, empty, tidy
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.methods.solution.store_copies import free_copies
from optimizer.methods.solution.warm_start import partial_plan_of
from optimizer.search.incumbent import mostly_changed
from optimizer.search.join_graph import bits
from optimizer.search.problem import Options, Problem, Solution, Status
from optimizer.search.state_graph import StateGraph

CLOSED = 1e-6
"""Relative gap below which an answer counts as proven: the solver's own tolerance."""


class Ilp:
    """Joint optimization by integer programming; see `Method`.

    Proven components are remembered, so that after a small change only the components that
    it touches are solved again.
    """

    name = "ilp"

    def __init__(self, effort: Effort | None = None) -> None:
        self._effort = effort or Effort()
        self._memory = ComponentCache()

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """The optimum, or the best plan found within the time limit with bound and gap.

        `running` is a warm start and costs a little less than it does (`stay_discount`), unless
        more than half of the queries changed: then everything is optimized afresh.
        """
        begun = perf_counter()
        joins = {query.id for query in problem.queries if len(query.relations) > 1}
        if running is not None and mostly_changed(joins, running.answered):
            running = None
        graph = StateGraph(problem, options, running=running)
        built = perf_counter()
        if not graph.required:
            return empty(self.name)
        deadline = begun + options.time_limit_s
        if options.task_capacity is not None:
            parts = [_solve_capacity(graph, deadline, self._effort)]
        else:
            parts = self._solve_components(graph, deadline, running)
            if options.storage_budget is not None:
                parts = _within_budget(graph, parts, deadline, self._effort)
        draft = _merge(graph, parts)
        tidy(draft)
        bound = sum(part.bound for part in parts) + fixed_storage(graph)
        searched = draft.total
        solution = assemble(draft, self.name, built - begun, perf_counter() - built)
        return check_limits(problem, options, _proven(solution, bound, searched, parts))

    def _solve_components(
        self, graph: StateGraph, deadline: float, running: Solution | None
    ) -> list[SolvedComponent]:
        groups = components(graph)
        weights = [sum(graph.states[t].size ** 2 for t in group) for group in groups]
        parts = []
        for i, group in enumerate(groups):
            part = self._memory.recall(graph, group)
            if part is None:
                now = perf_counter()
                share = max((deadline - now) * weights[i] / sum(weights[i:]), 0.0)
                part = _solve_component(graph, group, now + share, running, self._effort)
                self._memory.keep(graph, group, part)
            parts.append(part)
        return parts


def _proven(solution: Solution, bound: float, searched: float, parts: Sequence[SolvedComponent]) -> Solution:
    """The solution with its bound, in undiscounted cost.

    With a stay discount the search minimizes a cost that is never larger than the reported
    one, so its bound holds for the reported cost too, only not tightly.
    """
    bound = min(bound, solution.cost.total)
    closed = all(part.proven for part in parts) or searched - bound <= CLOSED * max(abs(searched), 1e-9)
    undiscounted = abs(searched - solution.cost.total) <= 1e-9 * max(abs(searched), 1.0)
    if closed and undiscounted:
        bound = solution.cost.total
    return replace(solution, bound=bound, status=Status.OPTIMAL if closed else Status.FEASIBLE)


def fixed_storage(graph: StateGraph) -> float:
    """Objective of base stores that no program has, as their copies are no decision."""
    program = FlowProgram(graph, ())
    return sum(
        min(graph.sites[site].weights) for site in sorted(graph.base_sites) if not program.has_choice(site)
    )


# -- components -------------------------------------------------------------------------


def components(graph: StateGraph) -> list[tuple[int, ...]]:
    """Groups of required targets that share no decision, smallest first.

    Queries share probe steps and MIRs only through a common state of two or more relations.
    Copies of a base store that has several candidate partitionings are shared as well, unless
    copies are free.
    """
    program = FlowProgram(graph, ())
    coupling = {site for site in graph.base_sites if program.has_choice(site)}
    sharing: dict[int, list[int]] = {}
    for target in graph.required:
        touched = {graph.states_of_start(r) for r in bits(graph.states[target].relations)} & coupling
        for start in graph.states[target].members:
            touched |= {graph.target[arc] for arc in graph.routes(target, start)}
        for state in touched:
            sharing.setdefault(state, []).append(target)
    groups = connected_components(tuple(graph.required), sharing.values())
    return sorted(groups, key=lambda group: (len(group), group))


def _solve_component(
    graph: StateGraph, group: tuple[int, ...], deadline: float, running: Solution | None, effort: Effort
) -> SolvedComponent:
    """Solve a component, its relaxation first.

    Often that is integral, or proves that the guided greedy is optimal.
    """
    options = graph.options
    flow = FlowProgram(graph, group)
    best = _first(graph, group, running)
    allowed = max(deadline - perf_counter(), 0.0)
    # A tenth is left for rounding, repair and assembling.
    deadline -= 0.1 * allowed
    bound = flow.first_sends()
    if allowed <= 0:
        return SolvedComponent(best, bound, False)
    begun = perf_counter()
    relaxed = relax(flow.program, effort.relax_share * allowed)
    spent = perf_counter() - begun
    bound = max(bound, flow.program.next_objective(relaxed.bound))
    if relaxed.values is not None:
        until = perf_counter() + effort.search_share * allowed
        best = _guided(graph, flow, relaxed.values, best, bound, until, effort)
    if _closed(flow, best, bound):
        return SolvedComponent(best, bound, True)
    rounds = round(effort.rounds_per_second * options.time_limit_s)
    near = Neighbourhoods(flow, best)
    until = perf_counter() + effort.refine_share * (deadline - perf_counter())
    if relaxed.finished and relaxed.values is not None:
        best = near.agree(relaxed.values, until)
    if _gap(flow, best, bound) > effort.nearly_optimal:
        best = near.search(bound, rounds=round(effort.first_share * rounds), deadline=until)
    if _gap(flow, best, bound) > effort.nearly_closed and free_copies(graph):
        split_s = min(effort.split_share * allowed, deadline - perf_counter())
        best = near.best = _joined(flow, best, split_s, effort)
    if _closed(flow, best, bound):
        return SolvedComponent(best, bound, True)
    left = deadline - perf_counter()
    tied = (
        len(flow.program.indices) > effort.small_program
        and flow.program.step() is not None
        and _gap(flow, best, bound) > effort.tied_gap
    )
    if not relaxed.finished or tied or left < spent:
        # The solver would spend what is left on the same relaxation, or on ties.
        best = near.search(bound, rounds=rounds, deadline=deadline)
        closed, left = _closed(flow, best, bound), deadline - perf_counter()
        if closed or not relaxed.finished or left < effort.branching_worth * spent:
            return SolvedComponent(best, bound, closed)
        # Neighbourhoods came to their end long before the time did: now ties are worth it.
    answer = solve_program(
        flow.program,
        options.solver,
        left,
        relative_gap=options.relative_gap,
        seed=options.seed,
        start=flow.columns.point(best),
        nodes=round(effort.branching_work * options.time_limit_s / max(len(flow.program.indices), 1)),
        below=flow.program.below(best.total - flow.fixed_storage()),
        relaxed=relaxed,
    )
    if answer.values is not None:
        found = flow.columns.draft(answer.values)
        if found.total < best.total * (1 - 1e-12):
            best = near.best = found
    bound = max(flow.program.next_objective(answer.bound or 0.0), bound)
    closed = answer.proven or answer.infeasible or _closed(flow, best, bound)
    if not closed:
        best = near.search(bound, rounds=rounds, deadline=deadline + 0.05 * allowed)
    return SolvedComponent(best, bound, closed)


def _first(graph: StateGraph, group: tuple[int, ...], running: Solution | None) -> PartialPlan:
    drafts = [first_plan(graph, targets=group)]
    if running is not None:
        kept = partial_plan_of(graph, group, running)
        if kept is not None:
            drafts.append(kept)
    best = min(drafts, key=lambda draft: draft.total)
    tidy(best)
    return best


def _gap(flow: FlowProgram, draft: PartialPlan, bound: float) -> float:
    return (draft.total - flow.fixed_storage() - bound) / max(abs(draft.total), 1e-9)


def _closed(flow: FlowProgram, draft: PartialPlan, bound: float) -> bool:
    fixed = flow.fixed_storage()
    return draft.total - fixed <= bound + 1e-9 * max(abs(draft.total), 1e-9)


def _guided(
    graph: StateGraph,
    flow: FlowProgram,
    relaxed: list[float],
    best: PartialPlan,
    bound: float,
    deadline: float,
    effort: Effort,
) -> PartialPlan:
    """The best of `best` and of plans that follow the relaxation, with local search."""
    guide = list(graph.cost)
    for arc, value in flow.columns.arc_values(relaxed).items():
        guide[arc] *= max(1.0 - value, 0.0)
    weights = flow.columns.mir_values(relaxed)
    for threshold in effort.mir_thresholds:
        if _gap(flow, best, bound) <= effort.nearly_closed:
            break
        if perf_counter() > deadline:
            break
        mirs = [mir for mir, value in weights.items() if value > threshold]
        draft = guided_plan(graph, guide, mirs, flow.targets)
        if draft is None:
            continue
        tidy(draft)
        if not _closed(flow, draft, bound):
            improve(draft, deadline, effort.guided_rounds)
        if draft.total < best.total * (1 - 1e-12):
            best = draft
    return best


def _joined(flow: FlowProgram, best: PartialPlan, time_limit_s: float, effort: Effort) -> PartialPlan:
    """The better of `best` and of the plan whose starts all join the same two parts."""
    if time_limit_s <= 0:
        return best
    graph = flow.graph
    choices = frozenset(site for site in graph.sites if flow.has_choice(site))
    split = SplitProgram(graph, flow.targets, choices)
    nodes = 1 + round(effort.split_work / len(split.program.indices))
    answer = solve_program(split.program, "highs", time_limit_s, seed=graph.options.seed, nodes=nodes)
    if answer.values is None:
        return best
    draft = split.draft(answer.values)
    tidy(draft)
    return draft if draft.total < best.total * (1 - 1e-12) else best


def _merge(graph: StateGraph, parts: Sequence[SolvedComponent]) -> PartialPlan:
    """One draft of all components."""
    draft = PartialPlan(graph)
    for part in parts:
        for mir in sorted(part.draft.mirs):
            draft.add_mir(mir)
        for key, path in sorted(part.draft.paths.items()):
            draft.set_path(key, path)
        for site, copies in sorted(part.draft.pinned.items()):
            draft.pin(site, copies)
        draft.assigned.update(part.draft.assigned)
    draft.choose_copies()
    return draft


# -- limits -------------------------------------------------------------------------------


def _within_budget(
    graph: StateGraph, parts: list[SolvedComponent], deadline: float, effort: Effort
) -> list[SolvedComponent]:
    """The components' plans if they fit the budget together, else a joint program's."""
    budget = graph.options.storage_budget
    least = sum(graph.sites[site].tuples for site in graph.base_sites)
    if budget is None:
        return parts
    if least > budget * (1 + 1e-9):
        raise Infeasible("storage_budget", budget, least)
    merged = _merge(graph, parts)
    tidy(merged)
    if stored_tuples(merged) <= budget:
        return parts
    flow = FlowProgram(graph, graph.required, budget=budget)
    incumbent = search(graph, perf_counter() + effort.search_share * (deadline - perf_counter()))
    answer = solve_program(
        flow.program,
        graph.options.solver,
        deadline - perf_counter(),
        relative_gap=graph.options.relative_gap,
        seed=graph.options.seed,
        start=flow.columns.point(incumbent),
    )
    best = incumbent
    if answer.values is not None:
        found = flow.columns.draft(answer.values)
        if found.total < best.total and stored_tuples(found) <= budget * (1 + 1e-9):
            best = found
    bound = max(answer.bound or 0.0, sum(part.bound for part in parts))
    return [SolvedComponent(best, bound, answer.proven)]


def _solve_capacity(graph: StateGraph, deadline: float, effort: Effort) -> SolvedComponent:
    """Solve a joint program that limits loads, as each arc goes to one copy in it."""
    options = graph.options
    capacity = options.task_capacity
    assert capacity is not None
    flow = FlowProgram(graph, graph.required, budget=options.storage_budget, capacity=capacity)
    incumbent = search(graph, perf_counter() + effort.search_share * (deadline - perf_counter()))
    incumbent.assign()
    for site, copies in sorted(incumbent.copies.items()):
        incumbent.pin(site, copies)
    incumbent.choose_copies()
    budget = options.storage_budget
    fits = incumbent.excess() <= 0 and (budget is None or stored_tuples(incumbent) <= budget * (1 + 1e-9))
    answer = solve_program(
        flow.program,
        options.solver,
        deadline - perf_counter(),
        relative_gap=options.relative_gap,
        seed=options.seed,
        start=flow.columns.point(incumbent) if fits else None,
    )
    bound = answer.bound or 0.0
    found = None if answer.values is None else flow.columns.draft(answer.values)
    if found is None and not fits:
        least, proven = _smallest_capacity(graph, options.time_limit_s)
        raise Infeasible("task_capacity", capacity, least, None if answer.infeasible and proven else "ilp")
    if found is None or (fits and incumbent.total < found.total):
        return SolvedComponent(incumbent, bound, False)
    return SolvedComponent(found, bound, answer.proven)


def _smallest_capacity(graph: StateGraph, time_limit_s: float) -> tuple[float | None, bool]:
    """The busiest task's load in the most even plan found, and if none is more even.

    None if the time limit came first.
    """
    flow = FlowProgram(graph, graph.required, budget=graph.options.storage_budget, capacity=inf)
    answer = solve_program(flow.program, graph.options.solver, time_limit_s, seed=graph.options.seed)
    return None if answer.values is None else flow.columns.largest_load(answer.values), answer.proven
