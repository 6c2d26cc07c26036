"""The normal form of expressions, equal however they are written.

`a = b` and `b = a`, `a < b` and `b > a`, or a chain of ANDs in any order are one expression;
NOT stands in front of comparisons and connectives nowhere. Columns stand before constants, as people
write. Plans are made of canonical expressions (`optimizer.logical.canonical_inputs`).
"""

from __future__ import annotations

from typing import TypeGuard

from optimizer.algebra.expression import Call, Column, Expression, Literal
from optimizer.algebra.types import ColumnType
from optimizer.algebra.udf_names import commutes

_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def negation(expression: Expression) -> Expression:
    """NOT of a boolean, pushed inwards as far as three-valued logic allows.

    >>> below = (Column("r", "a", ColumnType.INT), Literal(5, ColumnType.INT))
    >>> negation(Call("lt", below, ColumnType.BOOLEAN)).function
    'ge'
    """
    if isinstance(expression, Literal):
        return Literal(None if expression.value is None else not expression.value, ColumnType.BOOLEAN)
    if isinstance(expression, Call):
        if expression.function in _NEGATED:
            return ordered_call(_NEGATED[expression.function], expression.arguments, ColumnType.BOOLEAN)
        if expression.function == "not":
            return expression.arguments[0]
        if expression.function in ("and", "or"):
            dual = "or" if expression.function == "and" else "and"
            return ordered_call(dual, tuple(negation(a) for a in expression.arguments), ColumnType.BOOLEAN)
    return Call("not", (expression,), ColumnType.BOOLEAN)


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The parts of a conjunction; an expression that is none is its own only part.

    >>> a, b = Column("r", "a", ColumnType.BOOLEAN), Column("r", "b", ColumnType.BOOLEAN)
    >>> conjuncts(Call("and", (a, b), ColumnType.BOOLEAN)) == (a, b), conjuncts(a) == (a,)
    (True, True)
    """
    if isinstance(expression, Call) and expression.function == "and":
        return expression.arguments
    return (expression,)


def normal_form(expression: Expression) -> Expression:
    """The expression with every call in normal form, as `call` makes it.

    Needed after renaming inputs, because the order of arguments goes by their names.

    >>> sides = (Column("s", "a", ColumnType.INT), Column("r", "a", ColumnType.INT))
    >>> normal_form(Call("gt", sides, ColumnType.BOOLEAN)).function
    'lt'
    """
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(normal_form(argument) for argument in expression.arguments)
    return ordered_call(expression.function, arguments, expression.type)


def _place(expression: Expression) -> tuple[int, str]:
    """Order of arguments: columns, then calls, then constants."""
    rank = 0 if isinstance(expression, Column) else 1 if isinstance(expression, Call) else 2
    return rank, repr(expression)


def _is_call(expression: Expression, name: str) -> TypeGuard[Call]:
    return isinstance(expression, Call) and expression.function == name


def ordered_call(name: str, arguments: tuple[Expression, ...], result: ColumnType) -> Expression:
    """A call whose arguments are already typed, in normal form."""
    if name in _MIRRORED:
        first, second = arguments
        if _place(second) < _place(first):
            return Call(_MIRRORED[name], (second, first), result)
    elif name in ("and", "or"):
        return _junction(name, arguments, result)
    elif name == "concat":
        flat = [part for a in arguments for part in (a.arguments if _is_call(a, name) else (a,))]
        return Call(name, tuple(flat), result)
    elif (name in ("add", "multiply") and result.is_numeric) or commutes(name):
        return Call(name, tuple(sorted(arguments, key=_place)), result)
    elif name == "in":
        members = sorted(set(arguments[1:]), key=_place)
        if len(members) == 1:
            return ordered_call("eq", (arguments[0], members[0]), result)
        return Call(name, (arguments[0], *members), result)
    return Call(name, arguments, result)


def _junction(name: str, arguments: tuple[Expression, ...], result: ColumnType) -> Expression:
    """AND or OR without nesting, repetition and constants that decide nothing."""
    absorbing = name == "or"
    parts: dict[Expression, None] = {}
    for argument in arguments:
        for part in argument.arguments if _is_call(argument, name) else (argument,):
            if isinstance(part, Literal) and part.value is absorbing:
                return part
            if not (isinstance(part, Literal) and part.value is not None):
                parts[part] = None
    if len(parts) > 1:
        return Call(name, tuple(sorted(parts, key=_place)), result)
    return next(iter(parts), Literal(not absorbing, ColumnType.BOOLEAN))
