"""Push conditions as low in a plan as the answer allows."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from optimizer.conversion.binary.tree import Filter, Join, Node, aliases, aliases_read


def place(node: Node, condition: exp.Expr) -> Node:
    """The plan below which a condition holds.

    It sinks into both sides of inner joins, and into the side of an outer, semi or anti join whose
    rows that join keeps as they are. What reads nothing, or columns of a query around, stays on top.
    """
    read = aliases_read(condition)
    if not read or not read <= set(aliases(node)):
        return _above(node, condition)
    return _sink(node, condition, read)


def _sink(node: Node, condition: exp.Expr, read: frozenset[str]) -> Node:
    match node:
        case Filter():
            below = _sink(node.input, condition, read)
            if isinstance(below, Filter) and below.input == node.input:
                return _above(node, condition)
            return replace(node, input=below)
        case Join(kind=kind):
            if read <= set(aliases(node.left)) and kind not in ("right", "full"):
                return replace(node, left=_sink(node.left, condition, read))
            if read <= set(aliases(node.right)) and kind in ("inner", "cross", "right"):
                return replace(node, right=_sink(node.right, condition, read))
            if kind in ("inner", "cross"):
                return replace(node, kind="inner", conditions=(*node.conditions, condition))
            return _above(node, condition)
        case _:
            return _above(node, condition)


def _above(node: Node, condition: exp.Expr) -> Filter:
    if isinstance(node, Filter):
        return replace(node, conditions=(*node.conditions, condition))
    return Filter(node, (condition,))
