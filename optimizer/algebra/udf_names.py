"""Names of user functions, marked so that built-in ones differ.

Expressions travel without the registry, so what everybody must know of a function stands in the
name: that it is none of `optimizer.algebra.functions`, and whether its arguments commute.
"""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.algebra.expression import Call, Expression, walk

_PLAIN, _SYMMETRIC = "user:", "symmetric:"


def marked_name(name: str, symmetric: bool) -> str:
    """The name under which expressions call a user function.

    >>> marked_name("similarity", symmetric=True)
    'symmetric:similarity'
    """
    return (_SYMMETRIC if symmetric else _PLAIN) + name


def user_name(function: str) -> str | None:
    """The user function that a call's name means; None for a built-in function.

    >>> user_name("symmetric:similarity"), user_name("lower")
    ('similarity', None)
    """
    for mark in (_PLAIN, _SYMMETRIC):
        if function.startswith(mark):
            return function.removeprefix(mark)
    return None


def commutes(function: str) -> bool:
    """True if the function that a call names ignores its arguments' order."""
    return function.startswith(_SYMMETRIC)


def user_calls(expression: Expression) -> Iterator[Call]:
    """All calls of user functions in an expression, outer ones first."""
    for node in walk(expression):
        if isinstance(node, Call) and user_name(node.function) is not None:
            yield node


def calls_user_function(expression: Expression) -> bool:
    """True if evaluating the expression runs a user function."""
    return next(user_calls(expression), None) is not None
