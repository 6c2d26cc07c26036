"""The smallest expression and row that still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from optimizer.algebra.expression import Call, Column, Expression, Literal
from optimizer.algebra.types import ColumnType
from tests.oracle.expressions.values import COLUMNS

Fails = Callable[[Expression, pl.DataFrame], bool]


def shrunk(expression: Expression, frame: pl.DataFrame, fails: Fails) -> tuple[Expression, pl.DataFrame]:
    """An expression and rows that fail as the given ones do, and of which nothing can be left out."""
    frame = _fewer_rows(expression, frame, fails)
    while True:
        smaller = next((e for e in _simpler(expression) if fails(e, frame)), None)
        if smaller is None:
            return expression, _fewer_rows(expression, frame, fails)
        expression = smaller


def _fewer_rows(expression: Expression, frame: pl.DataFrame, fails: Fails) -> pl.DataFrame:
    for row in range(frame.height):
        if fails(expression, frame.slice(row, 1)):
            return frame.slice(row, 1)
    for start in range(0, frame.height, 2):
        if fails(expression, frame.slice(start, 2)):
            return frame.slice(start, 2)
    return frame


def _simpler(expression: Expression) -> Iterator[Expression]:
    """Expressions of fewer nodes: a part of it, or with one of its parts made simpler."""
    if not isinstance(expression, Call):
        return
    yield from (argument for argument in expression.arguments if argument.type is not ColumnType.INTERVAL)
    for number, argument in enumerate(expression.arguments):
        if expression.function == "date_trunc" and number == 0:
            continue
        for simple in (*_leaves(argument), *_simpler(argument)):
            if simple.type is argument.type:
                changed = list(expression.arguments)
                changed[number] = simple
                yield Call(expression.function, tuple(changed), expression.type)
    if (
        expression.function in ("and", "or", "in", "coalesce", "least", "greatest", "concat")
        and len(expression.arguments) > 2
    ):
        for number in range(1, len(expression.arguments)):
            rest = expression.arguments[:number] + expression.arguments[number + 1 :]
            yield Call(expression.function, rest, expression.type)


def _leaves(argument: Expression) -> Iterator[Expression]:
    if isinstance(argument, Call):
        yield from (Column("x", name, kind) for name, kind in COLUMNS if kind is argument.type)
        yield Literal(None, argument.type)
