"""Generalized left-deep plans within a storage budget (dissertation, Figure 5.6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

from optimizer.methods.assemble import assemble, check_limits, empty
from optimizer.methods.trees import Tree, TreeSpace, plan_trees, within
from optimizer.problem import Options, Problem, Solution
from optimizer.states import StateGraph


class LeftDeep:
    """Per query: grow a materialized prefix from every relation by the smallest next join."""

    name = "left-deep"

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """The cheapest left-deep prefix of each query; see `Method.solve`."""
        begun = perf_counter()
        budget = options.storage_budget
        # A budget is counted in single copies, as the dissertation does.
        kept = options if budget is None else replace(options, single_copy=True)
        graph = StateGraph(problem, kept, running=running)
        built = perf_counter()
        if not graph.required:
            return empty(self.name)
        draft = plan_trees(graph, left_deep_trees, budget)
        solution = assemble(draft, self.name, built - begun, perf_counter() - built)
        return check_limits(problem, options, solution)


def left_deep_trees(space: TreeSpace, left: float | None) -> Iterator[Tree]:
    """For each first relation every prefix of its greedy sequence that fits the budget.

    Figure 5.6 keeps only the longest prefix per first relation; offering the shorter ones as
    well costs little and never gives a worse plan.
    """
    for first in space.leaves:
        covered = first
        tree: Tree = ()
        while True:
            wider = [covered | leaf for leaf in space.leaves if not leaf & covered]
            candidates = [node for node in wider if node != space.root and space.can_store(node)]
            if not candidates:
                break
            covered = min(candidates, key=lambda node: (space.stored(node), node))
            tree = (*tree, covered)
            if not within(space, tree, left):
                break
            yield tree
