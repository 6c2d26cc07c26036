"""Orders routed anew around the copies that are really kept.

Methods choose partitionings for every relation by itself, and price orders by that. Where several
relations of one stream share its stores, fewer copies are kept than all of them chose together, and
an order that was cheap with a copy of its own may be sent to all tasks. Local search with the kept
copies fixed finds what is cheaper now.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

from optimizer.methods.heuristic.local_search import Moves
from optimizer.methods.solution.assemble import assemble, tidy
from optimizer.methods.solution.warm_start import partial_plan_of
from optimizer.search.problem import Options, Problem, Solution
from optimizer.search.state_graph import StateGraph

ROUNDS = 3
"""Sweeps over all orders and materialized results; the second rarely finds anything."""


def rerouted(
    problem: Problem, options: Options, solution: Solution, kept: Mapping[str, frozenset[str]]
) -> Solution | None:
    """The solution after local search around fixed copies; None if none is cheaper.

    Its cost is that of the problem, in which every relation has stores of its own.

    Args:
        kept: columns by which the copies of base stores are partitioned, for stores that relations share.
            The others choose as always.
    """
    began = perf_counter()
    graph = StateGraph(problem, options)
    draft = partial_plan_of(graph, tuple(graph.required), solution)
    if draft is None:
        return None
    pinned = {}
    for site in sorted(graph.base_sites):
        kept_in = graph.relations[graph.states[site].members[0]].kept_in
        columns = [p.name if p else None for p in graph.sites[site].partitionings]
        if kept_in in kept:
            present = sum(1 << number for number, name in enumerate(columns) if name in kept[kept_in])
            # A bit that stands for none of the candidates: whoever asks sends to all tasks.
            pinned[site] = present or 1 << len(columns)
    for site, copies in pinned.items():
        draft.pin(site, copies)
    before = draft.choose_copies()
    moves = Moves(draft, began + options.time_limit_s)
    for _ in range(ROUNDS):
        total = draft.total
        moves.reroute(sorted(draft.paths))
        if options.mirs:
            moves.add_mirs(moves.candidates())
            moves.drop_mirs(sorted(draft.mirs))
        tidy(draft)
        if draft.total >= total * (1 - 1e-9):
            break
    if draft.total >= before * (1 - 1e-9):
        return None
    for site in pinned:
        draft.unpin(site)
    draft.choose_copies()
    return assemble(draft, solution.method, solution.build_seconds, solution.solve_seconds)
