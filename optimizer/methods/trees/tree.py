"""Materialized join trees, by the strategies of dissertation section 5.3.3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.identifiers import nearest
from optimizer.methods.trees.chain import chain_trees
from optimizer.methods.trees.join_tree import Strategy, Tree, TreeSpace, solve_by_trees
from optimizer.methods.trees.left_deep import left_deep_trees, longest_left_deep_trees
from optimizer.methods.trees.merge import bounded_trees
from optimizer.search.problem import Options, Problem, Solution


class TreeMethod:
    """Per query: the cheapest of the trees that a strategy proposes."""

    name = "tree"

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """The cheapest such tree of each query; see `Method.solve`.

        Raises `InputError` if `options.tree` is no strategy.
        """
        strategy = STRATEGIES.get(options.tree)
        if strategy is None:
            raise InputError(
                "bad-option",
                Place("options", path="tree"),
                repr(options.tree),
                f"one of {', '.join(STRATEGIES)}",
                nearest(options.tree, STRATEGIES),
            )
        return solve_by_trees(self.name, strategy, problem, options, running)


def _cheapest(space: TreeSpace, left: float | None) -> Iterator[Tree]:
    yield from left_deep_trees(space, left)
    yield from chain_trees(space, left)
    yield from bounded_trees(space, left)


def _flat(_space: TreeSpace, _left: float | None) -> tuple[Tree, ...]:
    return ((),)


def _final(trees: Strategy) -> Strategy:
    """The strategy that proposes only where another one ends."""

    def final(space: TreeSpace, left: float | None) -> Iterable[Tree]:
        *_, last = trees(space, left)
        return (last,)

    return final


STRATEGIES: Mapping[str, Strategy] = {
    "cheapest": _cheapest,
    "flat": _flat,
    "left-deep": longest_left_deep_trees,
    "top-down": _final(chain_trees),
    "merging": _final(bounded_trees),
}
"""By name: every tree that the others pass through; nothing materialized; Figure 5.6, as deep as the budget
permits; Algorithm 2; Algorithm 3. All but the first ask for a shape and not for the least cost."""
