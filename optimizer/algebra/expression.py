"""Typed scalar expressions: what predicates, filters and projections are made of.

Three immutable node kinds are enough: a column, a literal and a call of a function, of
the closed set in `optimizer.algebra.functions` or allowed by an administrator (`optimizer.udf`).
SQL is translated into them once; the optimizer, the physical graph and the runtime never
see SQL text again, so nothing is ever executed as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal as Kind
from typing import TypeAlias

from optimizer.algebra.types import ColumnType

LiteralValue: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a query's input: `Column("d", "at", ColumnType.TIMESTAMP)` is d.at."""

    input: str
    """The alias in a `Query`; the canonical input name in a `PhysicalGraph`."""
    name: str
    type: ColumnType
    kind: Kind["column"] = "column"


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant.

    Timestamps, dates and times are ISO 8601 text (UTC), binaries hexadecimal text, intervals whole
    microseconds, decimals text with all digits behind the point that their type has, UUIDs text in lower
    case; NULL is `None` with the type that its context asks for.
    """

    value: LiteralValue
    type: ColumnType
    kind: Kind["literal"] = "literal"

    def __eq__(self, other: object) -> bool:
        """True for the same constant, of one type and of the same bits.

        Numbers that compare equal are not enough: x / 0.0 is not x / -0.0, and NaN is a constant too.
        """
        return self._identity() == other._identity() if isinstance(other, Literal) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[ColumnType, str, LiteralValue]:
        value = self.value
        return self.type, type(value).__name__, value.hex() if isinstance(value, float) else value


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator applied to arguments: `Call("eq", (a, b), BOOLEAN)`."""

    function: str
    """A name in `optimizer.algebra.functions.FUNCTIONS`, or a user function's
    (`optimizer.algebra.udf_names`)."""
    arguments: tuple[Expression, ...]
    type: ColumnType
    kind: Kind["call"] = "call"


Expression: TypeAlias = Column | Literal | Call


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and everything below it, parents before children.

    >>> from optimizer.algebra.types import ColumnType
    >>> equal = Call("eq", (Column("r", "a", ColumnType.INT), Literal(1, ColumnType.INT)), ColumnType.BOOLEAN)
    >>> [type(part).__name__ for part in walk(equal)]
    ['Call', 'Column', 'Literal']
    """
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Call):
            pending.extend(reversed(node.arguments))


def columns_of(expression: Expression) -> frozenset[Column]:
    """The columns that an expression reads."""
    return frozenset(node for node in walk(expression) if isinstance(node, Column))


def inputs_of(expression: Expression) -> frozenset[str]:
    """The inputs that must be bound before an expression can be evaluated.

    >>> from optimizer.algebra.types import ColumnType
    >>> sides = (Column("r", "a", ColumnType.INT), Column("s", "a", ColumnType.INT))
    >>> sorted(inputs_of(Call("eq", sides, ColumnType.BOOLEAN)))
    ['r', 's']
    """
    return frozenset(column.input for column in columns_of(expression))


def rename_inputs(expression: Expression, names: Mapping[str, str]) -> Expression:
    """The same expression over other input names; those that `names` lacks stay.

    >>> from optimizer.algebra.types import ColumnType
    >>> rename_inputs(Column("d", "delay", ColumnType.INT), {"d": "departures"}).input
    'departures'
    """
    match expression:
        case Column():
            return Column(names.get(expression.input, expression.input), expression.name, expression.type)
        case Literal():
            return expression
        case Call():
            arguments = tuple(rename_inputs(argument, names) for argument in expression.arguments)
            return Call(expression.function, arguments, expression.type)
