"""Algorithm 2 of dissertation section 5.3.3: chains, top-down from the flat tree.

Again and again the contiguous part of the chain whose result is smallest is materialized, until the
budget is used up. (The printed line 5 has the budget test the wrong way round.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optimizer.methods.trees.join_tree import Tree, TreeSpace, node_key, within
from optimizer.search.join_graph import bits

_EXTENSIONS = 10_000
"""Steps after which the search for a chain in a join graph that is none by itself gives up."""


def chain_trees(space: TreeSpace, left: float | None) -> Iterator[Tree]:
    """Algorithm 2's trees, the flat one first; without a chain it is the only one."""
    yield ()
    chain = chain_of(space)
    if chain is None:
        return
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


def chain_of(space: TreeSpace) -> tuple[int, ...] | None:
    """The leaves in the order of a linear join graph inside the query's.

    Of several, as in a cycle or a clique, it is the first by the relations' names, where the
    dissertation takes a random one. None if there is none, as for a star.
    """
    neighbours = _neighbours(space)
    left = _EXTENSIONS
    # Depth first: the chains so far with what they cover, the next one to extend last.
    pending: list[tuple[tuple[int, ...], int]] = [((leaf,), leaf) for leaf in reversed(space.leaves)]
    while pending and left:
        left -= 1
        chain, covered = pending.pop()
        if covered == space.root:
            return chain
        following = [leaf for leaf in space.leaves if leaf & neighbours[chain[-1]] & ~covered]
        pending += [((*chain, leaf), covered | leaf) for leaf in reversed(following)]
    return None


def _neighbours(space: TreeSpace) -> Mapping[int, int]:
    """By leaf, the leaves that a predicate over two of them connects it with."""
    graph = space.graph
    neighbours = dict.fromkeys(space.leaves, 0)
    for predicate in bits(graph.states[space.target].predicates):
        mask = graph.predicate_mask(predicate)
        if mask.bit_count() == 2:
            for leaf in space.leaves:
                if leaf & mask:
                    neighbours[leaf] |= mask & ~leaf
    return neighbours
