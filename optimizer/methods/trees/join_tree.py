"""Join trees over a query: inner nodes materialized, siblings probing each other.

A tree is the set of its inner nodes' relations, a laminar family inside the query. In the
state graph a tree allows exactly the arcs that probe a sibling with what has been covered
of the same operator, so the best probe orders of a given tree are shortest paths again.
Source: dissertation section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias

from optimizer.methods.heuristic.local_search import unburden
from optimizer.methods.solution.assemble import assemble, check_limits, empty, sending_cost, tidy
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.search.problem import Options, Problem, Solution
from optimizer.search.state_graph import StateGraph

Tree = tuple[int, ...]
"""Relation masks of the inner nodes below the root, by size."""


class TreeSpace:
    """The trees of one query: which nodes can be materialized, and what a tree costs."""

    def __init__(self, graph: StateGraph, target: int) -> None:
        self.graph = graph
        self.target = target
        self.root = graph.states[target].relations
        self.leaves = tuple(1 << member for member in graph.states[target].members)
        self.site_of: dict[int, int] = {}
        """Store by relation mask."""
        for start in graph.states[target].members:
            self.site_of[1 << start] = graph.states_of_start(start)
            for arc in graph.routes(target, start):
                self.site_of[graph.states[graph.store[arc]].relations] = graph.store[arc]

    @property
    def window_s(self) -> float:
        """The query's longest window; an unbounded one lasts for the planning horizon."""
        graph = self.graph
        members = graph.states[self.target].members
        return max(graph.model.window_s(graph.relations[member].id) for member in members)

    def stored(self, node: int) -> float:
        """SCost of one node (equation 5.3, per window): tuples of one copy."""
        return self.graph.sites[self.site_of[node]].tuples

    def can_store(self, node: int) -> bool:
        return node in self.site_of

    def children(self, tree: Tree, operator: int) -> tuple[int, ...]:
        """The maximal nodes strictly inside an operator, by their relations."""
        inside = [n for n in (*tree, *self.leaves) if n != operator and not n & ~operator]
        return tuple(sorted(n for n in inside if not any(n != other and not n & ~other for other in inside)))

    def draft(self, tree: Tree) -> PartialPlan | None:
        """The cheapest plan with exactly this tree's operators; None if one cannot be fed."""
        graph = self.graph
        draft = PartialPlan(graph, targets=(self.target,))
        sites = [self.site_of[node] for node in tree]
        for site in sites:
            draft.add_mir(site)
        draft.choose_copies()
        allowed = self._allowed(tree)
        for _ in range(2):
            for target in [*sites, self.target]:
                for start in graph.states[target].members:
                    arcs = [arc for arc in graph.routes(target, start) if arc in allowed]
                    draft.set_path((target, start), None)
                    found = draft.cheapest_path((target, start), arcs=arcs)
                    if found is None:
                        return None
                    draft.set_path((target, start), found[1])
            draft.choose_copies()
        return draft

    def _allowed(self, tree: Tree) -> set[int]:
        graph = self.graph
        siblings: dict[int, tuple[int, ...]] = {}
        for operator in (*tree, self.root):
            for child in self.children(tree, operator):
                siblings[child] = tuple(n for n in self.children(tree, operator) if n != child)
        allowed = set()
        for start in graph.states[self.target].members:
            for arc in graph.routes(self.target, start):
                store = graph.states[graph.store[arc]].relations
                covered = graph.states[graph.source[arc]].relations
                union = 0
                for sibling in siblings.get(store, ()):
                    if not sibling & ~covered:
                        union |= sibling
                if union == covered:
                    allowed.add(arc)
        return allowed

    def probe_cost(self, tree: Tree, operator: int) -> float:
        """PCost of one operator (equation 5.5): its children's sends, copies counted."""
        wanted = self.site_of.get(operator, self.target)
        draft = self.draft(tuple(sorted({*tree, operator} - {self.root}, key=node_key)))
        if draft is None:
            return 0.0
        arcs = {arc for start in self.graph.states[wanted].members for arc in draft.paths[wanted, start]}
        return sum(sending_cost(draft, arc) for arc in sorted(arcs))


def node_key(node: int) -> tuple[int, int]:
    return node.bit_count(), node


Strategy: TypeAlias = Callable[[TreeSpace, float | None], Iterable[Tree]]
"""The trees to try for a query, given how many tuples their results may hold at most; None is any number."""


def solve_by_trees(
    name: str,
    trees_of: Strategy,
    problem: Problem,
    options: Options,
    running: Solution | None,
) -> Solution:
    """Solve by the method `name`, which proposes `trees_of` each query.

    See `Method.solve`.
    """
    begun = perf_counter()
    budget = options.storage_budget
    # A budget is counted in single copies, as the dissertation does.
    kept = options if budget is None else replace(options, single_copy=True)
    graph = StateGraph(problem, kept, running=running)
    built = perf_counter()
    if not graph.required:
        return empty(name)
    draft = plan_trees(graph, trees_of, budget)
    unburden(draft, built + options.time_limit_s, results=False)
    solution = assemble(draft, name, built - begun, perf_counter() - built)
    return check_limits(problem, options, solution)


def plan_trees(
    graph: StateGraph,
    trees_of: Strategy,
    budget: float | None,
) -> PartialPlan:
    """Give every query the cheapest tree that a strategy proposes, then merge them.

    `budget` limits the stored tuples of all queries; a query is offered what is left of it.
    """
    merged = PartialPlan(graph)
    merged.choose_copies()
    left = None if budget is None else budget - sum(graph.sites[s].tuples for s in graph.base_sites)
    for target in graph.required:
        space = TreeSpace(graph, target)
        best: PartialPlan | None = None
        for tree in dict.fromkeys(trees_of(space, left)):
            draft = space.draft(tree)
            if draft is not None and (best is None or draft.total < best.total):
                best = draft
        best = best or space.draft(())
        if best is None:
            raise ValueError(f"query {graph.targets[target].queries[0]} has no plan over base stores")
        fresh = sorted(best.mirs - merged.mirs)
        if left is not None:
            left -= sum(graph.sites[mir].tuples for mir in fresh)
        for mir in fresh:
            merged.add_mir(mir)
        for key, path in sorted(best.paths.items()):
            if key not in merged.paths:
                merged.set_path(key, path)
    merged.choose_copies()
    tidy(merged)
    return merged


def within(space: TreeSpace, tree: Sequence[int], left: float | None) -> bool:
    """True if the tree's materialized results fit what is left of the budget."""
    return left is None or sum(space.stored(node) for node in tree) <= left
