"""Plans of single queries as trees of operators.

Planners of binary joins make them; TSC converts them.

Expressions are sqlglot's syntax trees, read and never changed. Their columns name relations by
aliases that are unique in the whole tree, so that an expression means the same wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from optimizer.logical.query import Query
from optimizer.logical.window import Window

JoinKind = Literal["inner", "cross", "left", "right", "full", "semi", "anti"]
ApplyKind = Literal["semi", "anti", "scalar"]


@dataclass(frozen=True, slots=True)
class Scan:
    """A stream, or a table, under an alias."""

    alias: str
    stream: str
    window: Window
    """Unbounded is the full history, which for a table is the table."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows of the input for which every condition is true."""

    input: Node
    conditions: tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """A join of two inputs on all of its `conditions`, those of ON."""

    kind: JoinKind
    left: Node
    right: Node
    conditions: tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """A subquery outside FROM, asked for every row of the input.

    `semi` and `anti` keep the rows for which `condition`, EXISTS or IN, holds. `scalar` adds the
    value of the subquery, which expressions above call by `name`.
    """

    kind: ApplyKind
    input: Node
    name: str
    subquery: Node
    condition: exp.Expr | None
    correlated: bool
    """True if the subquery reads columns of the input."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row per group; without `group` one row for all."""

    input: Node
    group: exp.Group | None


@dataclass(frozen=True, slots=True)
class Project:
    """The columns that SELECT names; aggregates among them are those of `Aggregate`."""

    input: Node
    outputs: tuple[tuple[str, exp.Expr], ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    input: Node


@dataclass(frozen=True, slots=True)
class Sort:
    input: Node
    terms: tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    input: Node
    count: exp.Expr | None
    offset: exp.Expr | None


@dataclass(frozen=True, slots=True)
class SetOperation:
    """UNION, EXCEPT or INTERSECT of two queries."""

    words: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Derived:
    """A query in FROM, of WITH or saved; its columns are read as `alias.name`."""

    alias: str
    input: Node


@dataclass(frozen=True, slots=True)
class GroupOutput:
    """One column that a multi-way join hands on."""

    name: str
    alias: str
    column: str


@dataclass(frozen=True, slots=True)
class MultiJoin:
    """One multi-way join in the place of a tree of binary ones (UMJoin section 3.2.2)."""

    name: str
    """What the operators above call it; also the name of `query`."""
    inputs: tuple[Node, ...]
    """Scans and derived tables, with their own filters above them."""
    conditions: tuple[exp.Expr, ...]
    """Those over two or more inputs."""
    outputs: tuple[GroupOutput, ...]
    query: Query
    sql: str
    """`query` as Millrace's SQL."""


Node: TypeAlias = (
    Scan
    | Filter
    | Join
    | Apply
    | Aggregate
    | Project
    | Distinct
    | Sort
    | Limit
    | SetOperation
    | Derived
    | MultiJoin
)


Column: TypeAlias = tuple[str, str]
"""The alias and the name of a column."""


def children(node: Node) -> tuple[Node, ...]:
    """What feeds an operator, left to right."""
    match node:
        case Scan():
            return ()
        case Join() | SetOperation():
            return (node.left, node.right)
        case Apply():
            return (node.input, node.subquery)
        case MultiJoin():
            return node.inputs
        case _:
            return (node.input,)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents before children."""
    yield node
    for child in children(node):
        yield from walk(child)


def expressions(node: Node) -> tuple[exp.Expr, ...]:
    """The expressions that an operator itself evaluates."""
    match node:
        case Filter() | Join() | MultiJoin():
            return node.conditions
        case Apply():
            return () if node.condition is None else (node.condition,)
        case Aggregate():
            return () if node.group is None else (node.group,)
        case Project():
            return tuple(expression for _, expression in node.outputs)
        case Sort():
            return node.terms
        case Limit():
            return tuple(term for term in (node.count, node.offset) if term is not None)
        case _:
            return ()


def with_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The operator over other inputs, changed from left to right."""
    match node:
        case Scan():
            return node
        case Join() | SetOperation():
            return replace(node, left=change(node.left), right=change(node.right))
        case Apply():
            return replace(node, input=change(node.input), subquery=change(node.subquery))
        case MultiJoin():
            return replace(node, inputs=tuple(map(change, node.inputs)))
        case _:
            return replace(node, input=change(node.input))


def with_expressions(node: Node, change: Callable[[exp.Expr], exp.Expr]) -> Node:
    """The operator with each of its expressions changed."""
    match node:
        case Filter() | Join():
            return replace(node, conditions=tuple(map(change, node.conditions)))
        case Apply(condition=exp.Expr() as condition):
            return replace(node, condition=change(condition))
        case Aggregate(group=exp.Group() as group):
            changed = change(group)
            assert isinstance(changed, exp.Group)
            return replace(node, group=changed)
        case Project():
            return replace(node, outputs=tuple((name, change(e)) for name, e in node.outputs))
        case Sort():
            return replace(node, terms=tuple(map(change, node.terms)))
        case _:
            return node


def aliases(node: Node) -> tuple[str, ...]:
    """The aliases under which a relation's columns are read above it, left to right."""
    match node:
        case Scan() | Derived():
            return (node.alias,)
        case Join(kind="semi" | "anti"):
            return aliases(node.left)
        case Join():
            return (*aliases(node.left), *aliases(node.right))
        case MultiJoin():
            return (node.name,)
        case Filter() | Apply():
            return aliases(node.input)
        case _:
            return ()


def aliases_read(expression: exp.Expr) -> frozenset[str]:
    """The aliases that an expression names."""
    return frozenset(column.table for column in expression.find_all(exp.Column) if column.table)


def columns_of(expression: exp.Expr) -> frozenset[Column]:
    """The columns of relations that an expression reads."""
    return frozenset((c.table, c.name) for c in expression.find_all(exp.Column) if c.table)


def output_names(node: Node) -> tuple[str, ...]:
    """The names of a query's columns."""
    match node:
        case Project():
            return tuple(name for name, _ in node.outputs)
        case SetOperation():
            return output_names(node.left)
        case Distinct() | Sort() | Limit():
            return output_names(node.input)
        case _:
            raise ValueError(f"{type(node).__name__} is a relation, not a query")
