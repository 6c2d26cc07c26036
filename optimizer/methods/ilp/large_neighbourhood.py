"""Large neighbourhood search: some queries are solved anew, others stay.

Local search changes one path or one store at a time. Fixing the flows of all but a few
related queries leaves a program small enough to be solved exactly in a twentieth of a
second, in which all of their paths and every MIR, copy and broadcast may change together.
Uniform rates need it: there the relaxation is far from integral, branching proves nothing
in minutes, and single moves only meet ties.

Source: large neighbourhood search (Shaw, CP 1998) and relaxation induced neighbourhoods (Danna,
Rothberg and Le Pape, Mathematical Programming 102, 2005), on the flow program of section 7.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from time import perf_counter

import numpy as np
import numpy.typing as npt

from optimizer.methods.ilp.flow_program import FlowProgram
from optimizer.methods.ilp.solvers import Resolver
from optimizer.methods.solution.assemble import tidy
from optimizer.methods.solution.partial_plan import PartialPlan

FIRST_SIZE = 8
"""Queries decided anew at first."""
GROWTH = 1.5
"""Factor by which neighbourhoods grow once each query was tried without a gain."""
LARGEST_SHARE = 0.6
"""Part of all queries beyond which a neighbourhood is no easier than the whole."""
AGREEMENT = 0.05
"""How far a column of the relaxation may be from the plan's to count as the same."""
OPEN_SHARE = 0.25
"""Part of all columns that the relaxation may leave open for it to be worth following."""
TOLERANCE = 1e-9
"""Relative gain below which a plan is not better."""


class Neighbourhoods:
    """A search over neighbourhoods that can be continued.

    Keeps which queries were tried around which others.

    Args:
        best: the plan to begin with.
    """

    def __init__(self, flow: FlowProgram, best: PartialPlan) -> None:
        self.best = best
        self._flow = flow
        self._random = Random(flow.graph.options.seed)
        self._resolver = Resolver(flow.program)
        self._columns = {t: np.array(flow.columns.of_target(t), dtype=np.int64) for t in flow.targets}
        self._states = {target: _states(flow, target) for target in flow.targets}
        self._size = float(FIRST_SIZE)
        self._waiting = list(flow.targets)
        self._random.shuffle(self._waiting)
        self._gained = False

    def search(self, bound: float, *, rounds: int, deadline: float) -> PartialPlan:
        """The best plan after some more neighbourhoods, or the one before.

        Args:
            bound: proven objective of the program (without fixed storage) at which to stop.
            rounds: neighbourhoods to try; equal input and rounds give equal plans.
            deadline: guard on `perf_counter`'s clock, for machines too slow for that many rounds.
        """
        if len(self._flow.targets) < 2:
            return self.best
        current = np.array(self._flow.columns.point(self.best))
        fixed = self._flow.fixed_storage()
        tolerance = TOLERANCE * max(abs(self.best.total), TOLERANCE)
        for _ in range(rounds):
            if self.best.total - fixed <= bound + tolerance or perf_counter() > deadline:
                break
            centre = self._next_centre()
            if centre is None:
                break
            if self._decide(current, self._held(centre), deadline):
                self._gained = True
                current = np.array(self._flow.columns.point(self.best))
        return self.best

    def agree(self, relaxed: Sequence[float], deadline: float) -> PartialPlan:
        """The best plan that keeps what the last one and the relaxation share.

        Where little is left to decide this finds at once what takes branching many times longer: 1 s of
        CPU against 15 s (100 five-way queries over 100 relations, paid, uniform). Where more than
        `OPEN_SHARE` of the columns is left, the plan before is returned.

        Args:
            relaxed: the relaxation's value of each column.
            deadline: guard on `perf_counter`'s clock.
        """
        current = np.array(self._flow.columns.point(self.best))
        held = np.nonzero(np.abs(np.array(relaxed) - current) < AGREEMENT)[0]
        if len(current) - len(held) <= OPEN_SHARE * len(current):
            self._decide(current, held, deadline)
        return self.best

    def _decide(self, current: npt.NDArray[np.double], held: npt.NDArray[np.int64], deadline: float) -> bool:
        """Decide anew what is not held; true if that gave a better plan, now the best."""
        values = self._resolver.solve(current, held, deadline - perf_counter())
        if values is None:
            return False
        found = self._flow.columns.draft(values)
        tidy(found)
        if found.total >= self.best.total - TOLERANCE * max(abs(self.best.total), TOLERANCE):
            return False
        self.best = found
        return True

    def _next_centre(self) -> int | None:
        """The next query to search around.

        Each comes once in random order, then all again, in wider neighbourhoods if none gained.
        """
        targets = self._flow.targets
        if not self._waiting:
            if not self._gained:
                self._size *= GROWTH
            self._waiting = list(targets)
            self._random.shuffle(self._waiting)
            self._gained = False
        if self._size > max(LARGEST_SHARE * len(targets), FIRST_SIZE):
            return None
        return self._waiting.pop()

    def _held(self, centre: int) -> npt.NDArray[np.int64]:
        """All columns that say nothing about the queries that share most with the centre.

        Ties are broken at random. Arcs and stores of other queries stay as they are, too.
        """
        states, targets = self._states, self._flow.targets
        near = {t: len(states[t] & states[centre]) + 4 * self._random.random() for t in targets}
        near[centre] = float("inf")
        nearest = sorted(targets, key=lambda t: (-near[t], t))[: round(self._size)]
        loose = np.concatenate([self._columns[t] for t in nearest])
        return np.setdiff1d(np.arange(len(self._flow.program.cost)), loose)


def _states(flow: FlowProgram, target: int) -> set[int]:
    graph = flow.graph
    return {
        graph.target[arc]
        for start in graph.states[target].members
        for arc in graph.routes(target, start)
        if graph.target[arc] != target
    }
