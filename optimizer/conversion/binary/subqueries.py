"""Subqueries of conditions: an inner join with one row, or an `Apply`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from optimizer.conversion.binary.names import column_of
from optimizer.conversion.binary.placement import place
from optimizer.conversion.binary.syntax import kind_of
from optimizer.conversion.binary.tree import (
    Aggregate,
    Apply,
    Derived,
    Filter,
    Join,
    Node,
    Project,
    output_names,
)


@dataclass(frozen=True, slots=True)
class Subquery:
    """A subquery that an expression asks, and what stands for it there."""

    name: str
    plan: Node
    correlated: bool

    @property
    def is_one_row(self) -> bool:
        """True if it aggregates everything, to one row that is always the same."""
        plan = self.plan
        return (
            not self.correlated
            and isinstance(plan, Project)
            and isinstance(plan.input, Aggregate)
            and plan.input.group is None
            and len(plan.outputs) == 1
        )


def joined(condition: exp.Expr, subqueries: Sequence[Subquery], plan: Node) -> Node:
    """A comparison with the one row of an aggregate: an inner join with that row."""
    columns: dict[str, exp.Column] = {}
    for subquery in subqueries:
        plan = Join("cross", plan, Derived(subquery.name, subquery.plan), ())
        (output,) = output_names(subquery.plan)
        columns[subquery.name] = column_of(subquery.name, output)

    def valued(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.In):
            # There is one row to be in.
            asked = node.args.get("query") or node.args.get("field")
            if isinstance(asked, exp.Var) and asked.name in columns:
                return exp.EQ(this=node.this, expression=columns[asked.name])
        return columns.get(node.name, node) if isinstance(node, exp.Var) else node

    return place(plan, condition.copy().transform(valued))


def filtered(condition: exp.Expr, subqueries: Sequence[Subquery], plan: Node) -> Node:
    """Put conditions above an `Apply` for each of their subqueries.

    EXISTS and IN are one with it.
    """
    kind = kind_of(condition) if len(subqueries) == 1 else "scalar"
    if kind != "scalar":
        (subquery,) = subqueries
        return Apply(kind, plan, subquery.name, subquery.plan, condition, subquery.correlated)
    for subquery in subqueries:
        plan = Apply("scalar", plan, subquery.name, subquery.plan, None, subquery.correlated)
    if isinstance(plan, Filter):
        return replace(plan, conditions=(*plan.conditions, condition))
    return Filter(plan, (condition,))
