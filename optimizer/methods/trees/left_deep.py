"""Generalized left-deep plans within a storage budget (dissertation, Figure 5.6)."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.methods.trees.join_tree import Tree, TreeSpace, solve_by_trees, within
from optimizer.search.problem import Options, Problem, Solution


class LeftDeep:
    """Grow a materialized prefix from each relation, always by the smallest next join."""

    name = "left-deep"

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """The cheapest left-deep prefix of each query; see `Method.solve`."""
        return solve_by_trees(self.name, left_deep_trees, problem, options, running)


def left_deep_trees(space: TreeSpace, left: float | None) -> Iterator[Tree]:
    """The flat tree, and each relation's greedy left-deep prefixes within the budget.

    Figure 5.6 keeps only the longest prefix per first relation; offering the shorter ones as
    well costs little and never gives a worse plan.
    """
    yield ()
    for first in space.leaves:
        yield from _prefixes(space, first, left)


def longest_left_deep_trees(space: TreeSpace, left: float | None) -> Iterator[Tree]:
    """For each first relation the longest prefix within the budget (figure 5.6).

    Without a budget all results of a left-deep plan of binary joins are materialized.
    """
    for first in space.leaves:
        *_, longest = ((), *_prefixes(space, first, left))
        yield longest


def _prefixes(space: TreeSpace, first: int, left: float | None) -> Iterator[Tree]:
    covered = first
    tree: Tree = ()
    while True:
        wider = [covered | leaf for leaf in space.leaves if not leaf & covered]
        candidates = [node for node in wider if node != space.root and space.can_store(node)]
        if not candidates:
            return
        covered = min(candidates, key=lambda node: (space.stored(node), node))
        tree = (*tree, covered)
        if not within(space, tree, left):
            return
        yield tree
