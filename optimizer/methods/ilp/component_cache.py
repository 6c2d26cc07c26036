"""What is known about components from before: proven plans, and the plan that runs.

Numbers of states and arcs differ between problems, so plans are kept by name.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, replace

from optimizer.methods.solution.partial_plan import Draft
from optimizer.search.problem import Solution
from optimizer.search.state_graph import StateGraph

REMEMBERED = 1024
"""Components kept, the least recently used are forgotten first."""

Names = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Part:
    """A component's plan and what is proven about it."""

    draft: Draft
    bound: float
    proven: bool


@dataclass(frozen=True, slots=True)
class _NamedPath:
    target: Names
    start: str
    stores: tuple[Names, ...]


class Memory:
    """Proven plans by the digest of everything that decided them."""

    def __init__(self) -> None:
        self._parts: OrderedDict[str, tuple[tuple[_NamedPath, ...], float]] = OrderedDict()

    def keep(self, graph: StateGraph, group: tuple[int, ...], part: Part) -> None:
        """Remember a proven part of an undiscounted search."""
        if not part.proven or graph.has_running:
            return
        paths = []
        for (target, start), path in sorted(part.draft.paths.items()):
            stores = tuple(graph.names(graph.states[graph.store[arc]]) for arc in path)
            paths.append(_NamedPath(graph.names(graph.states[target]), graph.relations[start].id, stores))
        self._parts[digest(graph, group)] = (tuple(paths), part.bound)
        while len(self._parts) > REMEMBERED:
            self._parts.popitem(last=False)

    def recall(self, graph: StateGraph, group: tuple[int, ...]) -> Part | None:
        """The proven plan of an equal component.

        With a running plan it only counts if that plan is what runs: an optimum that runs
        already stays optimal when what runs is discounted.
        """
        key = digest(graph, group)
        found = self._parts.get(key)
        if found is None:
            return None
        self._parts.move_to_end(key)
        draft = _draft(graph, group, found[0])
        if draft is None:
            return None
        if graph.has_running:
            if not all(graph.is_running(arc) for path in draft.paths.values() for arc in path):
                return None
            stay = 1 - graph.options.stay_discount
            return Part(draft, min(found[1] * stay, draft.total), True)
        return Part(draft, found[1], True)


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
    """Partitioning candidates of base stores: queries outside the component add to them."""
    members = {member for target in group for member in graph.states[target].members}
    return [graph.sites[graph.states_of_start(member)].partitionings for member in sorted(members)]


def draft_of(graph: StateGraph, group: tuple[int, ...], running: Solution) -> Draft | None:
    """The running plan's part of a component; None if it does not answer all of it."""
    paths = []
    for order in running.orders:
        stores = tuple((step.store.relations, step.store.predicates) for step in order.steps)
        targets = {
            graph.names(graph.states[t]) for t in group if set(graph.targets[t].queries) & set(order.queries)
        }
        targets |= {(feed.relations, feed.predicates) for feed in order.feeds}
        paths += [_NamedPath(t, order.start, stores) for t in sorted(targets, key=_sorted_names)]
    return _draft(graph, group, tuple(paths))


def _sorted_names(names: Names) -> tuple[list[str], list[str]]:
    return sorted(names[0]), sorted(names[1])


def _draft(graph: StateGraph, group: tuple[int, ...], paths: tuple[_NamedPath, ...]) -> Draft | None:
    """Paths by name as a draft of this graph; None if they leave a target without an answer."""
    by_key = {(path.target, path.start): path.stores for path in paths}
    draft = Draft(graph, targets=group)
    pending = list(group)
    seen = set(group)
    while pending:
        target = pending.pop()
        names = graph.names(graph.states[target])
        for start in graph.states[target].members:
            stores = by_key.get((names, graph.relations[start].id))
            arcs = None if stores is None else _arcs(graph, target, start, stores)
            if arcs is None:
                return None
            draft.set_path((target, start), arcs)
            for arc in arcs:
                store = graph.store[arc]
                if graph.states[store].size > 1 and store not in draft.mirs:
                    draft.add_mir(store)
                    if store not in seen:
                        seen.add(store)
                        pending.append(store)
    draft.settle()
    return draft


def _arcs(graph: StateGraph, target: int, start: int, stores: tuple[Names, ...]) -> tuple[int, ...] | None:
    arcs = []
    state = graph.states_of_start(start)
    routes = graph.routes(target, start)
    for store in stores:
        following = [
            arc
            for arc in routes
            if graph.source[arc] == state and graph.names(graph.states[graph.store[arc]]) == store
        ]
        if not following:
            return None
        arcs.append(following[0])
        state = graph.target[following[0]]
    return tuple(arcs) if state == target else None
