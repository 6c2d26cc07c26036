"""Type and build calls: what rules of `optimizer.algebra.functions` ask and give.

Types follow DuckDB. Where SQL converts silently, the conversion becomes a visible `cast`,
so that the runtime never has to guess: a string literal beside a timestamp is a timestamp,
and a date beside a timestamp is that day's midnight. Numbers of different types stay as
they are; comparing and adding them gives the wider type. Only a decimal constant beside a double is a double.

A call is also put into canonical order (`optimizer.algebra.normalize`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce

from optimizer.algebra.expression import Call, Expression, Literal
from optimizer.algebra.functions import FUNCTIONS, Function, Kind
from optimizer.algebra.functions.decimals import decimal_constant, units
from optimizer.algebra.functions.moments import time_text
from optimizer.algebra.functions.uuids import uuid_text
from optimizer.algebra.normalize import ordered_call
from optimizer.algebra.types import (
    MOST_DIGITS,
    NUMBERS,
    ColumnType,
    arithmetic_type,
    chosen_type,
    common_type,
    rounded_type,
)

T = ColumnType
_INTEGERS = frozenset({T.INT, T.BIGINT})
_MOMENTS = frozenset({T.TIMESTAMP, T.DATE})
_FROM_TEXT = frozenset({*_MOMENTS, T.UUID, T.TIME})
"""As which constant texts are read beside them."""
_EXACT_DOUBLES = 2**53, 22
"""Decimals of no more units and digits behind the point are doubles that are rounded once."""


class TypeMismatch(ValueError):
    """An argument whose type a function cannot use."""

    def __init__(self, position: int, found: str, expected: str) -> None:
        self.position = position
        """Index of the argument, from 0."""
        self.found = found
        self.expected = expected
        super().__init__(f"argument {position + 1} is {found}, expected {expected}")


def is_null(expression: Expression) -> bool:
    """True for the literal NULL.

    >>> is_null(Literal(None, ColumnType.INT)), is_null(Literal(0, ColumnType.INT))
    (True, False)
    """
    return isinstance(expression, Literal) and expression.value is None


def _untyped(expression: Expression) -> bool:
    """True for a NULL that takes the type that its context asks for.

    It is read as a boolean; any other type was given to it by a cast, and counts.
    """
    return is_null(expression) and expression.type is T.BOOLEAN


def call(name: str, *arguments: Expression) -> Expression:
    """A well-typed call of `name`, in normal form.

    >>> from optimizer.algebra.expression import Column
    >>> a, b = Column("r", "a", ColumnType.INT), Column("s", "a", ColumnType.INT)
    >>> call("gt", b, a) == call("lt", a, b)
    True

    Raises `TypeMismatch` for an argument that the function cannot use, `KeyError` for a
    name that is no function, and `ValueError` for a wrong number of arguments. `cast` is
    made by `cast`, not here.
    """
    function = FUNCTIONS[name]
    if len(arguments) < function.least or (function.most is not None and len(arguments) > function.most):
        raise ValueError(f"{function.sql} takes {arity(function)}, not {len(arguments)}")
    made = _days(name, arguments) or _of_day(name, arguments)
    if made is not None:
        return made
    if name == "nullif" and [a.type for a in arguments] == [T.DATE, T.TIMESTAMP]:
        # Compared as a timestamp, it stays a date.
        return call("case", call("eq", *arguments), Literal(None, T.DATE), arguments[0])
    typed, result = _TYPED[function.rule](function, arguments)
    if function.rule == "comparison" and any(is_null(a) for a in (typed[:1] if name == "in" else typed)):
        return Literal(None, T.BOOLEAN)
    if name in ROUNDING and result.is_decimal and is_null(typed[0]):
        # DuckDB rounds a column's NULL to a place beyond all digits as 0, but not the constant.
        return Literal(None, result)
    return ordered_call(name, tuple(typed), result)


def with_bare_constants(typed: Call) -> Call:
    """The call with its constants as a person writes them.

    NULL stands without a type, and a double as 1.5.

    Only where what stands beside them gives them the same types.

    >>> from optimizer.algebra.expression import Column
    >>> a = Column("r", "a", ColumnType.INT)
    >>> nulls = (call("add", a, Literal(None, kind)) for kind in (ColumnType.INT, ColumnType.BIGINT))
    >>> [str(with_bare_constants(one).arguments[1].type) for one in nulls]
    ['boolean', 'bigint']
    """
    bare = tuple(_bare(a) for a in typed.arguments)
    if typed.function not in FUNCTIONS or bare == typed.arguments:
        return typed
    try:
        same = call(typed.function, *bare) == typed
    except (TypeMismatch, KeyError, ValueError):
        return typed
    return Call(typed.function, bare, typed.type) if same else typed


def _bare(constant: Expression) -> Expression:
    if is_null(constant):
        return Literal(None, T.BOOLEAN)
    if isinstance(constant, Literal) and constant.type is T.DOUBLE:
        read = decimal_constant(repr(constant.value))
        return constant if read is None else read
    return constant


def arity(function: Function) -> str:
    """How many arguments a function takes, in words: `2 or 3 arguments`."""
    if function.most is None:
        return f"at least {function.least} argument{'s' if function.least > 1 else ''}"
    if function.most == function.least:
        return f"{function.least} argument{'' if function.least == 1 else 's'}"
    return f"{function.least} to {function.most} arguments"


def cast(expression: Expression, target: ColumnType) -> Expression:
    """The expression as `target`; itself if it has that type already.

    >>> from optimizer.algebra.expression import Column
    >>> cast(Column("r", "a", ColumnType.INT), ColumnType.DOUBLE).function
    'cast'

    Raises `TypeMismatch` where no conversion exists, or a string literal is not of the form.
    """
    if expression.type is target and not is_null(expression):
        return expression
    if is_null(expression):
        return Literal(None, target)
    source = expression.type
    if isinstance(expression, Literal) and source is T.STRING and target in _FROM_TEXT:
        return Literal(_read(str(expression.value), target), target)
    if isinstance(expression, Literal) and source is T.DATE and target is T.TIMESTAMP:
        return Literal(f"{expression.value}T00:00:00", target)
    if isinstance(expression, Literal) and source.is_decimal and target is T.DOUBLE:
        number = Decimal(str(expression.value))
        if source.scale <= _EXACT_DOUBLES[1] and abs(units(number, source.scale)) <= _EXACT_DOUBLES[0]:
            return Literal(float(number), target)
    allowed = (
        (source is T.STRING and target is not T.INTERVAL)
        or (target is T.STRING and source is not T.INTERVAL)
        or all(kind.is_numeric or kind is T.BOOLEAN for kind in (source, target))
        or {source, target} <= _MOMENTS
        or (source, target) in ((T.TIMESTAMP, T.TIME), (T.TIME, T.INTERVAL))
    )  # fmt: skip
    if source is T.BOOLEAN and target.is_decimal and target.precision == target.scale:
        # Its 1 does not fit; DuckDB 2.0 makes it the smallest number above zero.
        raise TypeMismatch(0, str(source), f"a number below 1, as {target} has no digit before the point")
    if not allowed:
        raise TypeMismatch(0, str(source), f"a value that can become {target}")
    return Call("cast", (expression,), target)


# Rules: each checks arguments and returns them, converted where needed, with the result's type.

Typed = tuple[Sequence[Expression], ColumnType]


def _each(arguments: Sequence[Expression], allowed: frozenset[ColumnType], words: str) -> list[Expression]:
    typed: list[Expression] = []
    beside = next((a.type for a in arguments if a.type in allowed), min(allowed))
    for position, argument in enumerate(arguments):
        if argument.type in allowed:
            typed.append(argument)
        elif is_null(argument):
            typed.append(Literal(None, beside))
        else:
            raise TypeMismatch(position, str(argument.type), words)
    return typed


def _numbers(arguments: Sequence[Expression]) -> list[Expression]:
    decimals = {a.type for a in arguments if a.type.is_decimal}
    return _doubles_alike(_each(arguments, frozenset(NUMBERS) | decimals, "a number"))


def _doubles_alike(arguments: list[Expression]) -> list[Expression]:
    """The arguments with decimal constants as doubles, if one of them is a double."""
    if not any(a.type is T.DOUBLE for a in arguments):
        return arguments
    return [cast(a, T.DOUBLE) if a.type.is_decimal and isinstance(a, Literal) else a for a in arguments]


def _boolean(function: Function, arguments: Sequence[Expression]) -> Typed:
    return _each(arguments, frozenset({T.BOOLEAN}), "boolean"), T.BOOLEAN


def _common(arguments: Sequence[Expression], choose: bool = False) -> Typed:
    """Arguments of one comparable type, and that type; numbers keep theirs.

    Of numbers' types the widest is returned; where the result is one of the arguments it has room for all.
    """
    types = [a.type for a in arguments if not _untyped(a)]
    if not types:
        return [Literal(None, arguments[0].type) for _ in arguments], arguments[0].type
    # Literal strings adapt to the moments and UUIDs beside them; anything else asks for the others' type.
    firm = [a.type for a in arguments if not _untyped(a) and not _is_text(a)]
    target = firm[0] if firm and firm[0] in _FROM_TEXT else types[0]
    if set(firm) == _MOMENTS:
        target = T.TIMESTAMP
    if target.is_numeric:
        target = reduce(chosen_type if choose else common_type, (t for t in types if t.is_numeric))
    typed: list[Expression] = []
    for position, argument in enumerate(arguments):
        if _untyped(argument):
            typed.append(Literal(None, target))
        elif (target in _MOMENTS and argument.type in _MOMENTS) or (
            target in _FROM_TEXT and _is_text(argument)
        ):
            try:
                typed.append(cast(argument, target))
            except TypeMismatch as error:
                raise TypeMismatch(position, error.found, error.expected) from None
        elif argument.type.comparable_with(target):
            typed.append(argument)
        else:
            raise TypeMismatch(position, str(argument.type), _article(target))
    return _doubles_alike(typed), target


def _is_text(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.type is T.STRING and expression.value is not None


def _article(target: ColumnType) -> str:
    return "a number" if target.is_numeric else str(target)


def _comparison(function: Function, arguments: Sequence[Expression]) -> Typed:
    return _common(arguments)[0], T.BOOLEAN


def _first(function: Function, arguments: Sequence[Expression]) -> Typed:
    typed, result = _common(arguments, choose=True)
    if function.name == "nullif":
        return typed, typed[0].type
    return typed, result


def _case(function: Function, arguments: Sequence[Expression]) -> Typed:
    """WHEN conditions at even positions, values at odd ones and last."""
    conditions = range(0, len(arguments) - 1, 2)
    if len(arguments) % 2 == 0:
        arguments = (*arguments, Literal(None, T.BOOLEAN))
    values = [i for i in range(len(arguments)) if i not in conditions]
    typed = list(arguments)
    for i in conditions:
        if is_null(arguments[i]):
            typed[i] = Literal(None, T.BOOLEAN)
        elif arguments[i].type is not T.BOOLEAN:
            raise TypeMismatch(i, str(arguments[i].type), "boolean")
    try:
        converted, result = _common([arguments[i] for i in values], choose=True)
    except TypeMismatch as error:
        raise TypeMismatch(values[error.position], error.found, error.expected) from None
    for i, value in zip(values, converted, strict=True):
        typed[i] = value
    return typed, result


def _arithmetic(function: Function, arguments: Sequence[Expression]) -> Typed:
    types = [None if _untyped(a) else a.type for a in arguments]
    if any(t in _MOMENTS or t is T.INTERVAL for t in types):
        return _moments(function.name, arguments, types)
    typed = _numbers(arguments)
    if len(typed) == 1:
        return typed, typed[0].type
    result = arithmetic_type(function.name, typed[0].type, typed[1].type)
    if result is None:
        raise TypeMismatch(
            1, str(typed[1].type), f"a decimal with fewer digits behind the point, {MOST_DIGITS} in all"
        )
    return typed, result


def _moments(name: str, arguments: Sequence[Expression], types: Sequence[ColumnType | None]) -> Typed:
    """Arithmetic with timestamps, dates and intervals; a date counts as its midnight."""
    if name == "negate" and types[0] is T.INTERVAL:
        return arguments, T.INTERVAL
    if name in ("add", "subtract"):
        left, right = types
        if left is None or right is None:
            other = T.INTERVAL
            arguments = [
                Literal(None, other) if t is None else a for a, t in zip(arguments, types, strict=True)
            ]
            left, right = left or other, right or other
        if left in _MOMENTS and right in _MOMENTS and name == "subtract":
            return [cast(a, T.TIMESTAMP) for a in arguments], T.INTERVAL
        if left in _MOMENTS and right is T.INTERVAL:
            return [cast(arguments[0], T.TIMESTAMP), arguments[1]], T.TIMESTAMP
        if left is T.INTERVAL and right in _MOMENTS and name == "add":
            return [cast(arguments[1], T.TIMESTAMP), arguments[0]], T.TIMESTAMP
        if left is T.INTERVAL and right is T.INTERVAL:
            return arguments, T.INTERVAL
        if left in _MOMENTS and name == "add":
            raise TypeMismatch(1, str(right), "an interval")
        if left in _MOMENTS:
            raise TypeMismatch(1, str(right), "an interval or a timestamp")
        if left is T.INTERVAL:
            raise TypeMismatch(1, str(right), "an interval")
        raise TypeMismatch(0, str(left), "a timestamp or an interval")
    if name == "multiply" and T.INTERVAL in types:
        factor = types[1] if types[0] is T.INTERVAL else types[0]
        position = 1 if types[0] is T.INTERVAL else 0
        if factor is not None and factor in _INTEGERS:
            first, second = arguments
            return ([first, second] if position else [second, first]), T.INTERVAL
        raise TypeMismatch(position, str(factor or "NULL"), "an integer")
    wrong = next(i for i, t in enumerate(types) if t in _MOMENTS or t is T.INTERVAL)
    raise TypeMismatch(wrong, str(types[wrong]), "a number")


def _days(name: str, arguments: Sequence[Expression]) -> Expression | None:
    """Count dates in days, as DuckDB does: date - date is a bigint, date + 1 a date.

    Not by way of timestamps, which end millions of years before dates do.
    """
    if name not in ("add", "subtract"):
        return None
    left, right = arguments
    if left.type is T.DATE and _untyped(right):
        right = Literal(None, T.INT)
    if right.type is T.DATE and _untyped(left):
        left = Literal(None, T.INT if name == "add" else T.DATE)
    if name == "subtract" and left.type is T.DATE and right.type is T.DATE:
        return Call(name, (left, right), T.BIGINT)
    if name == "add" and left.type in _INTEGERS and right.type is T.DATE:
        left, right = right, left
    if left.type is T.DATE and right.type in _INTEGERS:
        return Call(name, (left, cast(right, T.INT)), T.DATE)
    return None


def _of_day(name: str, arguments: Sequence[Expression]) -> Expression | None:
    """Add to times of a day, as DuckDB does.

    An interval more or less is a time, round midnight, and a date and a time are a timestamp. None if no time
    is among the arguments.
    """
    if name not in ("add", "subtract") or T.TIME not in (types := [a.type for a in arguments]):
        return None
    left, right = (Literal(None, T.INTERVAL) if _untyped(a) else a for a in arguments)
    if name == "add" and types[1] is T.TIME:
        left, right = right, left
    if left.type is T.TIME and right.type is T.DATE and name == "add":
        return call("add", cast(right, T.TIMESTAMP), cast(left, T.INTERVAL))
    if left.type is T.TIME and right.type is T.INTERVAL:
        return Call(name, (left, right), T.TIME)
    wrong = types.index(T.TIME) if types[0] is not T.TIME else 1
    raise TypeMismatch(wrong, str(types[wrong]), "an interval, or a date that is added")


def _signature(function: Function, arguments: Sequence[Expression]) -> Typed:
    """Arguments as the parameters of the function want them."""
    typed = []
    for position, argument in enumerate(arguments):
        try:
            typed.append(_of_kind(function.kind(position), argument))
        except TypeMismatch as error:
            raise TypeMismatch(position, error.found, error.expected) from None
    if typed and typed[0].type.is_decimal and function.name in ROUNDING:
        return typed, rounded_type(typed[0].type, _digits(typed), cut=function.name == "trunc")
    return typed, function.result([argument.type for argument in typed])


ROUNDING = frozenset({"round", "round_even", "trunc"})
"""Functions whose second argument says how many digits behind the point a decimal keeps."""


def _digits(arguments: Sequence[Expression]) -> int:
    """To how many digits a decimal is rounded: its type depends on them."""
    if len(arguments) == 1:
        return 0
    digits = arguments[1]
    if not isinstance(digits, Literal) or digits.value is None or digits.type is not T.INT:
        raise TypeMismatch(
            1, "NULL" if is_null(digits) else "an expression", "a whole number, beside a decimal"
        )
    return int(digits.value)


def _of_kind(kind: Kind, argument: Expression) -> Expression:
    if kind.constant:
        return _constant(kind, argument)
    if is_null(argument):
        # One that was cast keeps its type where the parameter takes it.
        own = argument.type if kind.takes(argument.type) else kind.types[0]
        return Literal(None, kind.becomes or own)
    if kind.types[0] is T.TIMESTAMP and _is_text(argument):
        argument = cast(argument, T.TIMESTAMP)
    if argument.type.is_decimal and not kind.decimals and T.DOUBLE in kind.types:
        return cast(argument, T.DOUBLE)
    if not kind.takes(argument.type):
        raise TypeMismatch(0, str(argument.type), kind.words)
    return cast(argument, kind.becomes) if kind.becomes else argument


def _constant(kind: Kind, argument: Expression) -> Literal:
    if not isinstance(argument, Literal):
        raise TypeMismatch(0, "an expression", kind.words)
    value = argument.value
    if kind.choices:
        if str(value).lower() not in kind.choices:
            raise TypeMismatch(0, repr(value), kind.words)
        return Literal(str(value).lower(), T.STRING)
    if argument.type not in kind.types or value is None:
        raise TypeMismatch(0, "NULL" if value is None else str(argument.type), kind.words)
    if kind.range and not kind.range[0] <= int(value) <= kind.range[1]:
        raise TypeMismatch(0, f"{value} us" if argument.type is T.INTERVAL else str(value), kind.words)
    return argument


def _any_boolean(function: Function, arguments: Sequence[Expression]) -> Typed:
    return arguments, T.BOOLEAN


def _cast(function: Function, arguments: Sequence[Expression]) -> Typed:
    raise ValueError("a cast has a target type: use cast()")


_TYPED = {
    "signature": _signature,
    "boolean": _boolean,
    "comparison": _comparison,
    "arithmetic": _arithmetic,
    "any_boolean": _any_boolean,
    "first": _first,
    "case": _case,
    "cast": _cast,
}


_SUCH_AS: dict[ColumnType, str] = {
    T.TIMESTAMP: "a timestamp such as '2013-01-31 14:30:00'",
    T.DATE: "a date such as '2013-01-31'",
    T.TIME: "a time such as '14:30:00'",
    T.UUID: "a UUID such as 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
}


def _read(text: str, target: ColumnType) -> str:
    """The canonical text of a literal: ISO 8601 (UTC, no offset) of moments."""
    try:
        if target is T.UUID:
            return uuid_text(text)
        if target is T.TIME:
            return time_text(text)
        if target is T.DATE:
            return date.fromisoformat(text.strip()).isoformat()
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat()
    except (ValueError, OverflowError):
        raise TypeMismatch(0, repr(text), _SUCH_AS[target]) from None
