"""Columns of a flow program, and the way between its points and plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from optimizer.methods.heuristic.flat import unwind
from optimizer.methods.ilp.program import Program
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.methods.solution.store_copies import Copy, copy_of
from optimizer.methods.solution.trials import Key
from optimizer.search.state_graph import StateGraph


@dataclass(slots=True)
class FlowColumns:
    """The variables of a flow program, by what they decide.

    `optimizer.methods.ilp.flow_program` fills it while it is built.
    """

    graph: StateGraph
    targets: tuple[int, ...]
    program: Program
    pins: bool
    """True if a plan keeps exactly the copies that a point names, because limits are counted in them."""
    arcs: list[int] = field(default_factory=list)
    y: dict[int, int] = field(default_factory=dict)
    """An arc is used."""
    w: dict[int, int] = field(default_factory=dict)
    """An MIR is kept."""
    z: dict[tuple[int, int], int] = field(default_factory=dict)
    """A copy is installed, by site and partitioning."""
    b: dict[int, int] = field(default_factory=dict)
    """An arc is broadcast."""
    f: dict[tuple[int, int], int] = field(default_factory=dict)
    """A target's flow along an arc."""
    v: dict[tuple[int, int], int] = field(default_factory=dict)
    """With a capacity: an arc goes to a copy, by arc and partitioning."""
    kept: dict[tuple[int, Copy], int] = field(default_factory=dict)
    """With a capacity: a copy that several relations of one stream share, by the first one's site."""
    load: int | None = None
    """The load of the busiest task, if that is the objective."""

    def point(self, draft: PartialPlan) -> list[float]:
        """The draft as values of all variables, to start the solver from."""
        graph = self.graph
        values = [0.0] * len(self.program.cost)
        for arc in self.arcs:
            if draft.use[arc]:
                values[self.y[arc]] = 1.0
                installed = draft.copies[graph.store[arc]]
                if arc in self.b and not graph.known[arc] & installed:
                    values[self.b[arc]] = 1.0
                if self.v:
                    values[self.v[arc, draft.assigned[arc]]] = 1.0
        for mir in draft.mirs:
            if mir in self.w:
                values[self.w[mir]] = 1.0
        for (site, p), column in self.z.items():
            values[column] = float(draft.copies.get(site, 0) >> p & 1)
            kept = self.kept.get((graph.sharing(site)[0], copy_of(graph, site, p)))
            if kept is not None and values[column]:
                values[kept] = 1.0
        for target in self.targets:
            for start in graph.states[target].members:
                for arc in draft.paths[target, start]:
                    values[self.f[target, arc]] = 1.0
        return values

    def of_target(self, target: int) -> list[int]:
        """A target's columns: its flows, their arcs, and the stores they probe."""
        graph = self.graph
        found: dict[int, None] = {}
        for start in graph.states[target].members:
            for arc in graph.routes(target, start):
                site = graph.store[arc]
                partitionings = range(len(graph.sites[site].partitionings))
                keys = (
                    self.f.get((target, arc)),
                    self.y[arc],
                    self.b.get(arc),
                    self.w.get(site),
                    *(self.z.get((site, p)) for p in partitionings),
                    *(self.v.get((arc, p)) for p in partitionings),
                )
                found.update((column, None) for column in keys if column is not None)
        return list(found)

    def arc_values(self, values: Sequence[float]) -> dict[int, float]:
        """y by arc, for example of the relaxation."""
        return {arc: values[column] for arc, column in self.y.items()}

    def mir_values(self, values: Sequence[float]) -> dict[int, float]:
        """w by MIR."""
        return {mir: values[column] for mir, column in self.w.items()}

    def largest_load(self, values: Sequence[float]) -> float | None:
        """Tuples per second at the busiest task, if that was the objective."""
        return None if self.load is None else values[self.load]

    def draft(self, values: Sequence[float]) -> PartialPlan:
        """The plan that rounded values describe.

        Raises `ValueError` if they describe none.
        """
        graph = self.graph
        used = {arc for arc, column in self.y.items() if values[column] > 0.5}
        draft = PartialPlan(graph, targets=self.targets)
        kept = [mir for mir, column in sorted(self.w.items()) if values[column] > 0.5]
        for mir in kept:
            draft.add_mir(mir)
        for target in dict.fromkeys([*self.targets, *kept]):
            for start in graph.states[target].members:
                draft.set_path((target, start), self._path(used, (target, start)))
        for (arc, p), column in self.v.items():
            if arc in used and values[column] > 0.5:
                draft.assigned[arc] = p
        if self.pins:
            chosen: dict[int, int] = {}
            for (site, p), column in self.z.items():
                if values[column] > 0.5:
                    chosen[site] = chosen.get(site, 0) | 1 << p
            for site, copies in sorted(chosen.items()):
                draft.pin(site, copies)
        draft.choose_copies()
        return draft

    def _path(self, used: set[int], key: Key) -> tuple[int, ...]:
        graph = self.graph
        target, start = key
        first = graph.states_of_start(start)
        via: dict[int, int] = {}
        reached = {first}
        for arc in graph.routes(target, start):
            if arc in used and graph.source[arc] in reached and graph.target[arc] not in reached:
                reached.add(graph.target[arc])
                via[graph.target[arc]] = arc
        if target not in reached:
            raise ValueError(f"the solver's values leave target {target} unreached from {start}")
        return unwind(graph, via, target, first)
