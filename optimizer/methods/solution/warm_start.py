"""The plan in use as the first plan of another problem.

Numbers of states and arcs differ between problems, so paths are known by names.
"""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.search.problem import Solution
from optimizer.search.state_graph import StateGraph

Names = tuple[frozenset[str], frozenset[str]]
"""Relations and predicates of a state."""


@dataclass(frozen=True, slots=True)
class NamedPath:
    """How a start's tuples reach a target, by names: numbers of states do not matter."""

    target: Names
    start: str
    stores: tuple[Names, ...]


def partial_plan_of(graph: StateGraph, group: tuple[int, ...], running: Solution) -> PartialPlan | None:
    """The running plan's part of a component; None if it does not answer all of it."""
    paths = []
    for order in running.orders:
        stores = tuple((step.store.relations, step.store.predicates) for step in order.steps)
        targets = {
            graph.names(graph.states[t]) for t in group if set(graph.targets[t].queries) & set(order.queries)
        }
        targets |= {(feed.relations, feed.predicates) for feed in order.feeds}
        ordered = sorted(targets, key=lambda names: (sorted(names[0]), sorted(names[1])))
        paths += [NamedPath(target, order.start, stores) for target in ordered]
    return draft_from_paths(graph, group, tuple(paths))


def draft_from_paths(
    graph: StateGraph, group: tuple[int, ...], paths: tuple[NamedPath, ...]
) -> PartialPlan | None:
    """Paths by name as a partial plan of this graph; None if a target has no answer."""
    by_key = {(path.target, path.start): path.stores for path in paths}
    draft = PartialPlan(graph, targets=group)
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
    draft.choose_copies()
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
