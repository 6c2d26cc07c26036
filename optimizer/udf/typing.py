"""Well-typed calls of user functions."""

from __future__ import annotations

from optimizer.algebra.expression import Expression, Literal
from optimizer.algebra.normalize import ordered_call
from optimizer.algebra.types import NUMBERS, ColumnType
from optimizer.algebra.typing import TypeMismatch, cast, is_null
from optimizer.udf.registry import UserFunction


def user_call(function: UserFunction, arguments: tuple[Expression, ...]) -> Expression:
    """A call of a user function, in normal form.

    Narrower numbers are cast to the declared type, NULL takes it, and text that is a constant becomes the
    timestamp, date, time or UUID that is asked for, as in other calls.

    Raises `TypeMismatch` for an argument of another type, `ValueError` for a wrong number of arguments.
    """
    if len(arguments) != len(function.arguments):
        raise ValueError(f"{function.signature} takes {len(function.arguments)}, not {len(arguments)}")
    typed = tuple(
        _converted(position, argument, wanted)
        for position, (argument, wanted) in enumerate(zip(arguments, function.arguments, strict=True))
    )
    return ordered_call(function.call_name, typed, function.returns)


def _converted(position: int, argument: Expression, wanted: ColumnType) -> Expression:
    if is_null(argument) or argument.type is wanted:
        return cast(argument, wanted)
    widens = (argument.type.is_decimal and wanted is ColumnType.DOUBLE) or (
        argument.type in NUMBERS
        and wanted in NUMBERS
        and NUMBERS.index(argument.type) < NUMBERS.index(wanted)
    )
    read = wanted in (ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.UUID, ColumnType.TIME)
    constant = read and isinstance(argument, Literal) and argument.type is ColumnType.STRING
    if widens or constant:
        try:
            return cast(argument, wanted)
        except TypeMismatch as error:
            raise TypeMismatch(position, error.found, error.expected) from None
    raise TypeMismatch(position, str(argument.type), str(wanted))
