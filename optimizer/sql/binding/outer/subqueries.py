"""EXISTS, NOT EXISTS, IN and NOT IN with a subquery, as conditions of WHERE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from optimizer.algebra.expression import Expression, Literal
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call

GROUPS = "groups"
"""What a subquery with groups is called beside its streams."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A subquery, and what a combination asks of its rows."""

    select: exp.Select
    present: bool
    """True if there must be one, false if there must be none."""
    member: exp.Expr | None
    """What is IN the subquery, or NOT IN; None for EXISTS."""

    def condition(self, member: Expression, value: Expression) -> Expression:
        """The condition under which a row counts; for NOT IN an unknown equality does.

        Raises `optimizer.algebra.typing.TypeMismatch`.
        """
        equal = call("eq", member, value)
        return equal if self.present else call("coalesce", equal, Literal(True, ColumnType.BOOLEAN))


def asked_in(node: exp.Expr) -> Asked | None:
    """The subquery that a condition asks; None for any other condition."""
    present = True
    while isinstance(node, exp.Not | exp.Paren):
        present ^= isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, exp.Exists) and isinstance(node.this, exp.Select):
        return Asked(node.this, present, None)
    query = node.args.get("query") if isinstance(node, exp.In) else None
    if query is not None and isinstance(select := query.unnest(), exp.Select):
        return Asked(select, present, node.this)
    return None


def read_first(asked: Asked) -> Asked:
    """The same question to the results of a subquery with groups."""
    inner = asked.select
    outputs: list[exp.Expr] = [exp.Star()]
    if asked.member is not None and inner.expressions:
        first = inner.expressions[0]
        named = first if isinstance(first, exp.Alias) else exp.alias_(first.copy(), GROUPS, quoted=True)
        if named is not first:
            inner = inner.copy()
            inner.set("expressions", [named, *inner.expressions[1:]])
        outputs = [exp.column(exp.to_identifier(named.alias, quoted=True))]
    table = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(GROUPS, quoted=True)))
    select = exp.Select(expressions=outputs)
    select.set("from_", exp.From(this=table))
    return replace(asked, select=select)
