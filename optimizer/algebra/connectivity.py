"""Connected components."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def connected_components(
    nodes: Sequence[Node], groups: Iterable[Iterable[Node]]
) -> tuple[tuple[Node, ...], ...]:
    """Partition nodes into sets that groups connect, directly or through others.

    >>> connected_components("rstu", ["rt", "tu"])
    (('r', 't', 'u'), ('s',))

    Args:
        nodes: without repetitions.
        groups: sets of nodes that belong together; one of fewer than two nodes connects nothing.

    Returns:
        Components by their first node, the nodes of each in the order of `nodes`.

    Raises:
        KeyError: a group names what is no node.
    """
    parent = {node: node for node in nodes}

    def root(node: Node) -> Node:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for group in groups:
        members = iter(group)
        first = next(members, None)
        if first is None:
            continue
        for other in members:
            parent[root(other)] = root(first)
    found: dict[Node, list[Node]] = {}
    for node in nodes:
        found.setdefault(root(node), []).append(node)
    return tuple(tuple(component) for component in found.values())
