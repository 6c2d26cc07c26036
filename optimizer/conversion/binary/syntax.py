"""What pieces of sqlglot's syntax trees are, for the reader of plans."""

from __future__ import annotations

from sqlglot import exp

from optimizer.conversion.binary.tree import ApplyKind


def conjuncts(condition: exp.Expr) -> tuple[exp.Expr, ...]:
    """A conjunction's parts, brackets removed; any other condition is its only part."""
    plain = condition.unnest()
    if not isinstance(plain, exp.And):
        return (plain,)
    return tuple(part for half in plain.flatten() for part in conjuncts(half))


def leave_out_columns(tree: exp.Query) -> None:
    """EXISTS (SELECT * ...) asks for no column."""
    for exists in tree.find_all(exp.Exists):
        select = exists.this
        if isinstance(select, exp.Select) and any(isinstance(item, exp.Star) for item in select.expressions):
            select.set("expressions", [exp.alias_(exp.Literal.number(1), "found")])


def aggregates(node: exp.Expr) -> bool:
    """True if an expression, window functions and subqueries apart, needs `Aggregate`."""
    inside = node.walk(prune=lambda n: isinstance(n, exp.Query | exp.Window))
    return any(isinstance(part, exp.AggFunc) for part in inside)


def is_joined(node: exp.Expr) -> bool:
    """True if FROM's parentheses hold a stream or a join of subqueries, not a query."""
    return isinstance(node, exp.Table) or (
        isinstance(node, exp.Subquery) and bool(node.args.get("joins") or node.alias)
    )


def kind_of(condition: exp.Expr) -> ApplyKind:
    """The kind of a subquery: `semi`, `anti` or `scalar`.

    `semi` for EXISTS and IN, `anti` for their negations, `scalar` for everything else.
    """
    negated = isinstance(condition, exp.Not)
    plain = condition.this.unnest() if negated else condition
    if isinstance(plain, exp.Exists) or (isinstance(plain, exp.In) and plain.args.get("query")):
        return "anti" if negated else "semi"
    return "scalar"
