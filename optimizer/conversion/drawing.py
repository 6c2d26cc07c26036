"""A plan as a tree of words: for terminals, for JSON and for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from optimizer.conversion.binary.rendering import to_text
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
    children,
    expressions,
)


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a plan."""

    kind: str
    """Such as `scan`, `join` or `multi_join`."""
    title: str
    details: tuple[str, ...]
    """Conditions, columns or terms, each as SQL."""
    join: str | None
    """The multi-way join that it is, or that takes its place; None for what stays."""
    inputs: tuple[Operator, ...]


def draw(node: Node, becoming: Mapping[Join, str] | None = None) -> Operator:
    """Draw the plan as words; `becoming` names what its binary joins turn into.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in "rst")
    >>> from optimizer.conversion import convert
    >>> made = convert("SELECT max(r.a) FROM r JOIN s ON r.a = s.a JOIN t ON s.a = t.a", catalog)
    >>> draw(made.after).title, draw(made.after).details
    ('project', ('MAX(multi_join.a) AS _col_0',))
    """
    kind, title, details = _words(node)
    join = node.name if isinstance(node, MultiJoin) else None
    if becoming and isinstance(node, Join):
        join = becoming.get(node)
    return Operator(kind, title, details, join, tuple(draw(child, becoming) for child in children(node)))


def to_lines(operator: Operator) -> tuple[str, ...]:
    """The plan with an operator per line, inputs below the operators that read them.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in "rst")
    >>> from optimizer.conversion import convert
    >>> made = convert("SELECT max(r.a) FROM r JOIN s ON r.a = s.a JOIN t ON s.a = t.a", catalog)
    >>> to_lines(draw(made.after))[0]
    'project: MAX(multi_join.a) AS _col_0'
    """
    return tuple(_lines(operator, "", ""))


def _lines(operator: Operator, first: str, rest: str) -> Iterator[str]:
    details = f": {', '.join(operator.details)}" if operator.details else ""
    becomes = f" → {operator.join}" if operator.kind == "join" and operator.join is not None else ""
    yield f"{first}{operator.title}{becomes}{details}"
    for position, child in enumerate(operator.inputs):
        last = position == len(operator.inputs) - 1
        yield from _lines(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


def _words(node: Node) -> tuple[str, str, tuple[str, ...]]:
    texts = tuple(map(to_text, expressions(node)))
    match node:
        case Scan():
            alias = f" AS {node.alias}" if node.alias != node.stream else ""
            return "scan", f"scan {node.window.behind(node.stream)}{alias}", ()
        case Filter():
            return "filter", "filter", texts
        case Join():
            return "join", f"{node.kind} join", texts
        case MultiJoin():
            return "multi_join", f"{node.name} of {len(node.inputs)} inputs", texts
        case Apply():
            reading = "correlated " if node.correlated else ""
            title = "value of" if node.kind == "scalar" else f"{node.kind} join with"
            return "apply", f"{title} {reading}{node.name}", texts
        case Aggregate():
            keys = tuple(map(to_text, node.group.expressions)) if node.group is not None else ()
            return "aggregate", "aggregate by" if keys else "aggregate", keys
        case Project():
            return "project", "project", tuple(_output(name, e) for name, e in node.outputs)
        case Distinct():
            return "distinct", "distinct", ()
        case Sort():
            return "sort", "sort by", texts
        case Limit():
            return "limit", "limit", texts
        case SetOperation():
            return "set_operation", node.words.lower(), ()
        case Derived():
            return "derived", node.alias, ()


def _output(name: str, expression: exp.Expr) -> str:
    text = to_text(expression)
    return text if isinstance(expression, exp.Column) and expression.name == name else f"{text} AS {name}"
