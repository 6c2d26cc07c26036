"""Proven plans of components, kept for later problems that have equal ones."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, replace

from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.methods.solution.warm_start import NamedPath, draft_from_paths
from optimizer.search.state_graph import StateGraph

REMEMBERED = 1024
"""Components kept, the least recently used are forgotten first."""


@dataclass(frozen=True, slots=True)
class SolvedComponent:
    """A component's plan and what is proven about it."""

    draft: PartialPlan
    bound: float
    proven: bool


class ComponentCache:
    """Proven plans by the digest of everything that decided them."""

    def __init__(self) -> None:
        self._parts: OrderedDict[str, tuple[tuple[NamedPath, ...], float]] = OrderedDict()

    def keep(self, graph: StateGraph, group: tuple[int, ...], part: SolvedComponent) -> None:
        """Remember a proven part of an undiscounted search."""
        if not part.proven or graph.has_running:
            return
        paths = []
        for (target, start), path in sorted(part.draft.paths.items()):
            stores = tuple(graph.names(graph.states[graph.store[arc]]) for arc in path)
            paths.append(NamedPath(graph.names(graph.states[target]), graph.relations[start].id, stores))
        self._parts[digest(graph, group)] = (tuple(paths), part.bound)
        while len(self._parts) > REMEMBERED:
            self._parts.popitem(last=False)

    def recall(self, graph: StateGraph, group: tuple[int, ...]) -> SolvedComponent | None:
        """The proven plan of an equal component.

        With a running plan it only counts if that plan is what runs: an optimum that runs
        already stays optimal when what runs is discounted.
        """
        key = digest(graph, group)
        found = self._parts.get(key)
        if found is None:
            return None
        self._parts.move_to_end(key)
        draft = draft_from_paths(graph, group, found[0])
        if draft is None:
            return None
        if graph.has_running:
            if not all(graph.is_running(arc) for path in draft.paths.values() for arc in path):
                return None
            stay = 1 - graph.options.stay_discount
            return SolvedComponent(draft, min(found[1] * stay, draft.total), True)
        return SolvedComponent(draft, found[1], True)


def digest(graph: StateGraph, group: tuple[int, ...]) -> str:
    """Identifies everything that a component's optimum depends on."""
    problem = graph.problem
    relations: set[str] = set()
    predicates: set[str] = set()
    targets = []
    for target in group:
        found = graph.names(graph.states[target])
        relations |= found[0]
        predicates |= found[1]
        targets.append((sorted(found[0]), sorted(found[1]), graph.targets[target].latency))
    text = repr(
        (
            sorted(targets),
            sorted(repr(r) for r in problem.relations if r.id in relations),
            sorted(
                repr((p.id, sorted(p.relations), p.selectivity, p.equality))
                for p in problem.predicates
                if p.id in predicates
            ),
            problem.horizon_s,
            sorted((sorted(r), size) for r, size in problem.sizes.items() if r <= relations),
            replace(graph.options, time_limit_s=0.0, seed=0),
            _candidates(graph, group),
        )
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _candidates(graph: StateGraph, group: tuple[int, ...]) -> list[object]:
    """Partitioning candidates of base stores, also from queries of other components."""
    members = {member for target in group for member in graph.states[target].members}
    return [graph.sites[graph.states_of_start(member)].partitionings for member in sorted(members)]
