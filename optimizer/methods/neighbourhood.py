"""Large neighbourhoods: some queries' answers are decided anew by the solver, the others stay.

Local search changes one path or one store at a time. Fixing the flows of all but a few
related queries leaves a program small enough to be solved exactly in a twentieth of a
second, in which all of their paths and every MIR, copy and broadcast may change together.
Uniform rates need it: there the relaxation is far from integral, branching proves nothing
in minutes, and single moves only meet ties.

Source: large neighbourhood search (Shaw, CP 1998), on the flow program of section 7.1.
"""

from __future__ import annotations

from random import Random
from time import perf_counter

import numpy as np

from optimizer.methods.assemble import tidy
from optimizer.methods.draft import Draft
from optimizer.methods.flow import FlowProgram
from optimizer.methods.solvers import Resolver

FIRST_SIZE = 8
"""Queries decided anew at first."""
GROWTH = 1.5
"""Factor by which neighbourhoods grow once each query was tried without a gain."""
LARGEST_SHARE = 0.6
"""Part of all queries beyond which a neighbourhood is no easier than the whole."""
ROUNDS_PER_SECOND = 8
"""Rounds for a second of the time limit: a work limit that a quiet machine reaches first."""


def refine(flow: FlowProgram, best: Draft, bound: float, *, rounds: int, deadline: float) -> Draft:
    """The best plan that re-deciding neighbourhoods finds; `best` itself if nothing is better.

    Args:
        bound: proven objective of the program (without fixed storage) at which to stop.
        rounds: neighbourhoods to try; equal input and rounds give equal plans.
        deadline: guard on `perf_counter`'s clock, for machines too slow for that many rounds.
    """
    graph, targets = flow.graph, flow.targets
    size = float(FIRST_SIZE)
    if len(targets) < 2:
        return best
    random = Random(graph.options.seed)
    resolver = Resolver(flow.program)
    columns = {target: np.array(flow.columns_of(target), dtype=np.int64) for target in targets}
    states = {target: _states(flow, target) for target in targets}
    current = np.array(flow.point(best))
    fixed = flow.fixed_storage()
    tolerance = 1e-9 * max(abs(best.total), 1e-9)
    waiting: list[int] = []
    gained = True
    for _ in range(rounds):
        if best.total - fixed <= bound + tolerance or perf_counter() > deadline:
            break
        if not waiting:
            if not gained:
                size *= GROWTH
            if size > max(LARGEST_SHARE * len(targets), FIRST_SIZE):
                break
            waiting = list(targets)
            random.shuffle(waiting)
            gained = False
        centre = waiting.pop()
        near = {t: len(states[t] & states[centre]) + 4 * random.random() for t in targets}
        near[centre] = float("inf")
        free = set(sorted(targets, key=lambda t: (-near[t], t))[: round(size)])
        frozen = [columns[t] for t in targets if t not in free]
        held = np.concatenate(frozen) if frozen else np.array([], dtype=np.int64)
        values = resolver.solve(current, held, deadline - perf_counter())
        if values is None:
            continue
        found = flow.draft(values)
        tidy(found)
        if found.total < best.total - tolerance:
            best, gained = found, True
            current = np.array(flow.point(best))
    return best


def _states(flow: FlowProgram, target: int) -> set[int]:
    graph = flow.graph
    return {
        graph.target[arc]
        for start in graph.states[target].members
        for arc in graph.routes(target, start)
        if graph.target[arc] != target
    }
