"""Merge join trees iteratively within two bounds (Algorithm 3, section 5.3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from optimizer.methods.trees.join_tree import Tree, TreeSpace, node_key, within

WIDE_OPERATOR = 8
"""Operators with more children are only searched for pairs and triples to materialize."""


def bounded_trees(space: TreeSpace, left: float | None) -> Iterator[Tree]:
    """The trees that Algorithm 3 goes through, the flat one first.

    A part of an operator's children is materialized if it is useful, that is, sends more than L tuples
    within the query's longest window, and small, that is, holds fewer than U. The bounds are
    `Options.tree_bounds`, or else half and twice the largest input, as proposed with the algorithm. There
    the size of an input is what is stored of it and what it sends; with windows that is the same only
    for what it sends within one.
    """
    yield ()
    lower, upper = space.graph.options.tree_bounds or proposed_bounds(space)
    tree: Tree = ()
    while True:
        found = [
            (space.stored(node), node)
            for operator in (*tree, space.root)
            for node in _parts(space, tree, operator)
            if space.stored(node) < upper and within(space, (*tree, node), left)
        ]
        chosen = next(
            (node for _, node in sorted(found) if space.probe_cost(tree, node) * space.window_s > lower),
            None,
        )
        if chosen is None:
            return
        tree = tuple(sorted((*tree, chosen), key=node_key))
        yield tree


def proposed_bounds(space: TreeSpace) -> tuple[float, float]:
    """Default bounds L and U, in tuples: half and twice the largest input."""
    largest = max(space.stored(leaf) for leaf in space.leaves)
    return largest / 2, 2 * largest


def _parts(space: TreeSpace, tree: Tree, operator: int) -> Iterator[int]:
    """Unions of an operator's children that can be materialized and hold two leaves."""
    children = space.children(tree, operator)
    largest = len(children) - 1 if len(children) <= WIDE_OPERATOR else 3
    for size in range(2, largest + 1):
        for picks in combinations(children, size):
            node = sum(picks)
            if sum(pick.bit_count() == 1 for pick in picks) >= 2 and space.can_store(node):
                yield node
