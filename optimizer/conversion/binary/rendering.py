"""Render plans as DuckDB's SQL: their meaning, or what conversion leaves of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from optimizer.conversion.binary.tree import (
    Aggregate,
    Apply,
    Derived,
    Distinct,
    Filter,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Scan,
    SetOperation,
    Sort,
)
from optimizer.sql import identifier

_JOIN_WORDS = {
    "inner": "JOIN",
    "cross": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "SEMI JOIN",
    "anti": "ANTI JOIN",
}


def query_sql(node: Node) -> str:
    """A query's plan as one SELECT over its streams' tables.

    A multi-way join is read as the table of its name, with its outputs' columns. Windows are not
    written: between tables, whose history is full, there are none.
    """
    match node:
        case Limit():
            text = query_sql(node.input)
            text += f" LIMIT {to_text(node.count)}" if node.count is not None else ""
            return text + (f" OFFSET {to_text(node.offset)}" if node.offset is not None else "")
        case Sort():
            return f"{query_sql(node.input)} ORDER BY {', '.join(map(to_text, node.terms))}"
        case Distinct(input=Project() as project):
            return _select(project, "SELECT DISTINCT")
        case SetOperation():
            return f"({query_sql(node.left)}) {node.words} ({query_sql(node.right)})"
        case Project():
            return _select(node, "SELECT")
        case _:
            raise ValueError(f"{type(node).__name__} is a relation, not a query")


def to_text(expression: exp.Expr) -> str:
    """An expression as SQL."""
    return expression.sql(dialect="duckdb")


def _select(node: Project, words: str) -> str:
    subqueries: dict[str, Node] = {}
    having, below = _conditions(node.input, subqueries)
    group = ""
    where: list[exp.Expr] = []
    if isinstance(below, Aggregate):
        group = f" {to_text(below.group).strip()}" if below.group is not None else ""
        where, below = _conditions(below.input, subqueries)
    else:
        where, having = having, []
    source, pending = _relation(below)
    texts = {name: query_sql(plan) for name, plan in subqueries.items()}
    outputs = ", ".join(f"{_asking(e, texts)} AS {identifier(name)}" for name, e in node.outputs)
    text = f"{words} {outputs} FROM {source}"
    text += _clause("WHERE", [*pending, *where], texts) + group
    return text + _clause("HAVING", having, texts)


def _conditions(node: Node, subqueries: dict[str, Node]) -> tuple[list[exp.Expr], Node]:
    """Conditions of the filters and subqueries above a node, lowest first."""
    found: list[exp.Expr] = []
    while isinstance(node, Filter | Apply):
        if isinstance(node, Filter):
            found = [*node.conditions, *found]
        else:
            subqueries[node.name] = node.subquery
            found = [*([node.condition] if node.condition is not None else []), *found]
        node = node.input
    return found, node


def _relation(node: Node) -> tuple[str, list[exp.Expr]]:
    """An entry of FROM, and the conditions that must hold above it."""
    match node:
        case Scan():
            return f"{identifier(node.stream)} AS {identifier(node.alias)}", []
        case Derived():
            return f"({query_sql(node.input)}) AS {identifier(node.alias)}", []
        case MultiJoin():
            return identifier(node.name), []
        case Filter():
            text, pending = _relation(node.input)
            return text, [*pending, *node.conditions]
        case Join():
            return _join(node)
        case _:
            raise ValueError(f"{type(node).__name__} is a query, not a relation")


def _join(node: Join) -> tuple[str, list[exp.Expr]]:
    left, above_left = _relation(node.left)
    right, above_right = _relation(node.right)
    if isinstance(node.right, Join):
        right = f"({right})"
    match node.kind:
        case "inner" | "cross":
            on, pending = [*above_left, *above_right, *node.conditions], []
        case "left" | "semi" | "anti":
            # A condition on the side that may be missing is part of the match.
            on, pending = [*above_right, *node.conditions], above_left
        case "right":
            on, pending = [*above_left, *node.conditions], above_right
        case "full":
            if above_left or above_right:
                raise ValueError("a condition below a full join cannot be written above it")
            on, pending = [*node.conditions], []
    condition = " AND ".join(f"({to_text(c)})" for c in on) or "TRUE"
    return f"{left} {_JOIN_WORDS[node.kind]} {right} ON {condition}", pending


def _clause(word: str, conditions: Iterable[exp.Expr], texts: Mapping[str, str]) -> str:
    joined = " AND ".join(f"({_asking(condition, texts)})" for condition in conditions)
    return f" {word} {joined}" if joined else ""


def _asking(expression: exp.Expr, texts: Mapping[str, str]) -> str:
    """An expression with its subqueries in the places of their names."""
    written = exp.Paren(this=expression.copy())
    for name in [node for node in written.find_all(exp.Var) if node.name in texts]:
        text = texts[name.name]
        name.replace(exp.Var(this=text if isinstance(name.parent, exp.Exists) else f"({text})"))
    return to_text(written.this)
