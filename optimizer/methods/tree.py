"""Materialized join trees: chains top-down, other join graphs by bounds.

Chains (linear join graphs) follow Algorithm 2 of dissertation section 5.3.3: materialize
the cheapest contiguous part again and again until the budget is used up. (Its line 5 prints
the budget test the wrong way round.) Other join graphs follow Algorithm 3 with the bounds
that the section proposes. Both propose every tree on their way, and the cheapest is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from optimizer.methods.trees import Tree, TreeSpace, node_key, solve_by_trees, within
from optimizer.problem import Options, Problem, Solution
from optimizer.shapes import bits

WIDE_OPERATOR = 8
"""Operators with more children are only searched for pairs and triples to materialize."""


class TreeMethod:
    """Per query: the cheapest tree that Algorithm 2 or 3 passes through."""

    name = "tree"

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """The cheapest such tree of each query; see `Method.solve`."""
        return solve_by_trees(self.name, join_trees, problem, options, running)


def join_trees(space: TreeSpace, left: float | None) -> Iterator[Tree]:
    """The trees that Algorithm 2 (chains) or Algorithm 3 (others) goes through."""
    chain = chain_of(space)
    if chain is not None:
        yield from chain_trees(space, chain, left)
    else:
        yield from bounded_trees(space, left)


def chain_of(space: TreeSpace) -> tuple[int, ...] | None:
    """The leaves in the order of a linear join graph, or None if it is not linear."""
    graph = space.graph
    neighbours: dict[int, int] = dict.fromkeys(space.leaves, 0)
    for p in bits(graph.states[space.target].predicates):
        mask = sum(leaf for leaf in space.leaves if graph.predicate_mask(p) & leaf)
        if mask.bit_count() > 2:
            return None
        for leaf in space.leaves:
            if leaf & mask:
                neighbours[leaf] |= mask & ~leaf
    ends = [leaf for leaf in space.leaves if neighbours[leaf].bit_count() == 1]
    if len(ends) != 2 or any(n.bit_count() > 2 for n in neighbours.values()):
        return None
    chain = [ends[0]]
    covered = ends[0]
    while following := neighbours[chain[-1]] & ~covered:
        chain.append(following)
        covered |= following
    return tuple(chain) if covered == space.root else None


def chain_trees(space: TreeSpace, chain: tuple[int, ...], left: float | None) -> Iterator[Tree]:
    """Algorithm 2: always materialize the contiguous part with the smallest result next."""
    tree: Tree = ()
    position = {leaf: i for i, leaf in enumerate(chain)}
    while True:
        found: list[tuple[float, int]] = []
        for operator in (*tree, space.root):
            parts = sorted(
                space.children(tree, operator), key=lambda node: min(position[1 << b] for b in bits(node))
            )
            for i in range(len(parts)):
                node = parts[i]
                for part in parts[i + 1 :]:
                    node |= part
                    if node != operator and space.can_store(node):
                        found.append((space.stored(node), node))
        if not found:
            return
        tree = tuple(sorted((*tree, min(found)[1]), key=node_key))
        if not within(space, tree, left):
            return
        yield tree


def bounded_trees(space: TreeSpace, left: float | None) -> Iterator[Tree]:
    """Algorithm 3: materialize what saves enough probing and does not occupy too much.

    L is half and U twice the largest input, as proposed with the algorithm.
    """
    largest = max(space.stored(leaf) for leaf in space.leaves)
    lower, upper = largest / 2, 2 * largest
    tree: Tree = ()
    while True:
        found = [
            (space.stored(node), node)
            for operator in (*tree, space.root)
            for node in _parts(space, tree, operator)
            if space.stored(node) < upper and within(space, (*tree, node), left)
        ]
        chosen = next(
            (node for _, node in sorted(found) if space.probe_cost(tree, node) > lower),
            None,
        )
        if chosen is None:
            return
        tree = tuple(sorted((*tree, chosen), key=node_key))
        yield tree


def _parts(space: TreeSpace, tree: Tree, operator: int) -> Iterator[int]:
    """Unions of an operator's children that contain two leaves and can be materialized."""
    children = space.children(tree, operator)
    largest = len(children) - 1 if len(children) <= WIDE_OPERATOR else 3
    for size in range(2, largest + 1):
        for picks in combinations(children, size):
            node = sum(picks)
            if sum(pick.bit_count() == 1 for pick in picks) >= 2 and space.can_store(node):
                yield node
