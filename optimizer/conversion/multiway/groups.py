"""Group binary joins into multi-way joins: TSC's first step (UMJoin, Algorithm 2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from optimizer.conversion.binary.tree import Derived, Filter, Join, Node, Project, Scan, children
from optimizer.sql.binding.scalar.names import VOLATILE

LEAST_INPUTS = 3
"""A join of two inputs is no tree: there is nothing to convert (UMJoin section 3.2.1)."""


@dataclass(frozen=True, slots=True)
class Group:
    """A maximal tree of inner joins: the topmost one, and all in breadth-first order."""

    root: Join
    members: tuple[Join, ...]


def create_groups(plan: Node, eligible: Callable[[Node], bool]) -> tuple[Group, ...]:
    """The groups of a plan, outermost first.

    Walks breadth-first from the root, as the paper does. An inner join joins the group of the
    operator that reads it, through filters and plain subqueries (`opened`) between; without such a
    group it begins one.

    Args:
        plan: of binary joins.
        eligible: whether an input that is no scan can be one of a multi-way join.
    """
    roots: list[Join] = []
    members: dict[int, list[Join]] = {}
    pending: deque[tuple[Node, int | None]] = deque([(plan, None)])
    while pending:
        node, group = pending.popleft()
        if is_member(node, eligible):
            assert isinstance(node, Join)
            if group is None:
                group = len(roots)
                roots.append(node)
            members.setdefault(group, []).append(node)
            pending += [(child, group) for child in children(node)]
        elif isinstance(node, Filter):
            pending.append((node.input, group))
        elif isinstance(node, Derived) and (inside := opened(node)) is not None:
            pending.append((inside.input, group))
        else:
            pending += [(child, None) for child in children(node)]
    found = (Group(root, tuple(members[number])) for number, root in enumerate(roots))
    return tuple(group for group in found if len(group.members) + 1 >= LEAST_INPUTS)


def is_member(node: Node, eligible: Callable[[Node], bool]) -> bool:
    """True for an inner join whose inputs a multi-way join can take."""
    if not isinstance(node, Join) or node.kind not in ("inner", "cross"):
        return False
    leaves = (leaf_of(child) for child in children(node))
    return all(isinstance(leaf, Scan) or is_member(leaf, eligible) or eligible(leaf) for leaf in leaves)


def opened(derived: Derived) -> Project | None:
    """A subquery's projection if it only selects and projects, else None.

    Its expressions may then be evaluated later, so that its joins become part of a group around it.
    """
    plan = derived.input
    if not isinstance(plan, Project) or any(_fixed(expression) for _, expression in plan.outputs):
        return None
    node = plan.input
    while isinstance(node, Filter):
        node = node.input
    if isinstance(node, Derived):
        return plan if opened(node) is not None else None
    plain = isinstance(node, Scan) or (isinstance(node, Join) and node.kind in ("inner", "cross"))
    return plan if plain else None


def leaf_of(node: Node) -> Node:
    """What an input of a join is, below filters and plain subqueries."""
    while True:
        if isinstance(node, Filter):
            node = node.input
        elif isinstance(node, Derived) and (inside := opened(node)) is not None:
            node = inside.input
        else:
            return node


def _fixed(expression: exp.Expr) -> bool:
    """True if an expression is no function of one row, so must stay where it stands."""
    for node in expression.walk():
        if isinstance(node, exp.AggFunc | exp.Window | exp.Anonymous | exp.Query | exp.Var):
            return True
        if isinstance(node, exp.Func) and node.sql_name().lower() in VOLATILE:
            return True
    return False
