"""Decimals as constants and as values that people and programs send."""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation

from optimizer.algebra.expression import Literal
from optimizer.algebra.types import MOST_DIGITS, ColumnType

_DIGITS = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*")
_EXACT = Context(prec=400, traps=[InvalidOperation])


def units(number: Decimal, scale: int) -> int:
    """How many units of the last digit behind the point a decimal is.

    >>> units(Decimal("1.5"), 2)
    150
    """
    return int(number.scaleb(scale, _EXACT))


class WrittenFloat(float):
    """A double that knows the digits that it was read from.

    A decimal needs all of them.

    >>> WrittenFloat("12345678901234567.89"), float(WrittenFloat("1.50"))
    (12345678901234567.89, 1.5)
    """

    _text: str
    __slots__ = ("_text",)

    def __new__(cls, text: str) -> WrittenFloat:
        made = super().__new__(cls, text)
        made._text = text
        return made

    def __repr__(self) -> str:
        return self._text


def to_decimal(value: str | float | Decimal, kind: ColumnType) -> Decimal:
    """The value of a decimal type that a text of digits or a number is.

    >>> to_decimal("1.50", ColumnType.decimal(4, 1)), to_decimal(0.1, ColumnType.decimal(4, 1))
    (Decimal('1.5'), Decimal('0.1'))
    >>> to_decimal("9" * 38, ColumnType.decimal(38, 0)) == 10**38 - 1
    True

    Raises `ValueError` if it is none, or has digits that the type has not; zeros do not count.
    """
    if isinstance(value, str) and not _DIGITS.fullmatch(value):
        raise ValueError(f"{value!r} is no number")
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
        exact = number.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)
    except InvalidOperation:
        raise ValueError(f"{value!r:.80} is no {kind}") from None
    # abs() rounds to 28 digits.
    if exact != number or exact.copy_abs() >= Decimal(10) ** (kind.precision - kind.scale):
        raise ValueError(f"{value!r:.80} is no {kind}")
    return exact


def decimal_constant(digits: str) -> Literal | None:
    """The decimal constant of digits with a point, typed as in DuckDB.

    None if they are none.

    >>> [str(decimal_constant(text).type) for text in ("1.50", "0.5", ".5")]
    ['decimal(3,2)', 'decimal(2,1)', 'decimal(1,1)']
    """
    whole, point, behind = digits.removeprefix("-").partition(".")
    if not point or not f"{whole}{behind}".isdecimal() or len(whole) + len(behind) > MOST_DIGITS:
        return None
    kind = ColumnType.decimal(len(whole) + len(behind), len(behind))
    return Literal(decimal_text(Decimal(digits), kind.scale), kind)


def decimal_text(number: Decimal, scale: int) -> str:
    """The text of a decimal literal of a type with some digits behind the point.

    >>> decimal_text(Decimal("1.5"), 2), decimal_text(Decimal("-0.0"), 1)
    ('1.50', '0.0')
    """
    unscaled = units(number, scale)
    sign, digits = "-" if unscaled < 0 else "", str(abs(unscaled)).rjust(scale + 1, "0")
    return (
        f"{sign}{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}"
        if scale
        else f"{sign}{digits}"
    )
