"""The column types of Millrace and the relations between them."""

from __future__ import annotations

import re
from threading import Lock
from typing import ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


class ColumnType(str):
    """A column's type, by its name in streams.yaml.

    There is one object per type, so types are compared by `is`, as members of an enum. `TIMESTAMP` is UTC
    with microseconds, and a `TIME` one of a day, before 24:00:00. A `UUID` is carried as its text of 36
    characters, in lower case: these are in the same order. `INTERVAL` never is a column's type: it only
    appears inside expressions, as a difference of two timestamps or as a literal. Decimals have digits in all
    and digits behind the point:

    >>> ColumnType("decimal(12, 2)") is ColumnType.decimal(12, 2)
    True

    Raises `ValueError` for a text that names no type.
    """

    BIGINT: ClassVar[ColumnType]
    INT: ClassVar[ColumnType]
    DOUBLE: ClassVar[ColumnType]
    STRING: ClassVar[ColumnType]
    BOOLEAN: ClassVar[ColumnType]
    TIMESTAMP: ClassVar[ColumnType]
    DATE: ClassVar[ColumnType]
    BINARY: ClassVar[ColumnType]
    INTERVAL: ClassVar[ColumnType]
    UUID: ClassVar[ColumnType]
    TIME: ClassVar[ColumnType]

    precision: int
    """Digits of a decimal; 0 of other types."""
    scale: int
    """Those behind the point."""

    def __new__(cls, text: str) -> ColumnType:
        found = _TYPES.get(text)
        if found is not None:
            return found
        precision, scale = _digits(text)
        return _interned(f"decimal({precision},{scale})", precision, scale)

    @classmethod
    def decimal(cls, precision: int, scale: int) -> ColumnType:
        """The decimal type of some digits in all, some of them behind the point."""
        return cls(f"decimal({precision},{scale})")

    def __reduce__(self) -> tuple[type[ColumnType], tuple[str]]:
        return ColumnType, (str(self),)

    def __repr__(self) -> str:
        return f"<ColumnType.{'DECIMAL' if self.is_decimal else self.upper()}: {str(self)!r}>"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Documents have a type as its text."""
        text = core_schema.str_schema(max_length=40)
        return core_schema.no_info_after_validator_function(cls, text)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"type": "string", "pattern": f"^({'|'.join(PLAIN_TYPES)}|{_DECIMAL_PATTERN})$"}

    @property
    def value(self) -> str:
        """The name as plain text."""
        return str(self)

    @property
    def is_decimal(self) -> bool:
        return self.precision > 0

    @property
    def is_numeric(self) -> bool:
        return self in NUMBERS or self.is_decimal

    def comparable_with(self, other: ColumnType) -> bool:
        """True if values of both types can stand on the two sides of `=` or `<`.

        >>> ColumnType.INT.comparable_with(ColumnType.DOUBLE)
        True
        >>> ColumnType.INT.comparable_with(ColumnType.STRING)
        False
        """
        if self is other or (self.is_numeric and other.is_numeric):
            return True
        return self in MOMENTS and other in MOMENTS


_DECIMAL_PATTERN = r"decimal\([1-9][0-9]?,[0-9][0-9]?\)"
"""What a decimal type's name looks like."""
MOST_DIGITS = 38
"""Of a decimal, as in DuckDB: 128 bits hold them."""
_DECIMAL = re.compile(
    r"\s*(?:decimal|numeric|dec)\s*(?:\(\s*(\d{1,3})\s*(?:,\s*(\d{1,3})\s*)?\)\s*)?", re.IGNORECASE
)
_TYPES: dict[str, ColumnType] = {}
_LOCK = Lock()


def _digits(text: str) -> tuple[int, int]:
    """Precision and scale of a decimal type.

    `decimal` alone is `decimal(18,3)`, as in DuckDB.
    """
    found = _DECIMAL.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no column type")
    precision, scale = (int(found[1]), int(found[2] or 0)) if found[1] else (18, 3)
    if not (1 <= precision <= MOST_DIGITS and scale <= precision):
        raise ValueError(f"{text!r} is no column type: a decimal has 1 to {MOST_DIGITS} digits")
    return precision, scale


def _interned(text: str, precision: int = 0, scale: int = 0) -> ColumnType:
    with _LOCK:
        if text not in _TYPES:
            made = str.__new__(ColumnType, text)
            made.precision, made.scale = precision, scale
            _TYPES[text] = made
        return _TYPES[text]


ColumnType.BIGINT = _interned("bigint")
ColumnType.INT = _interned("int")
ColumnType.DOUBLE = _interned("double")
ColumnType.STRING = _interned("string")
ColumnType.BOOLEAN = _interned("boolean")
ColumnType.TIMESTAMP = _interned("timestamp")
ColumnType.DATE = _interned("date")
ColumnType.BINARY = _interned("binary")
ColumnType.INTERVAL = _interned("interval")
ColumnType.UUID = _interned("uuid")
ColumnType.TIME = _interned("time")

PLAIN_TYPES = tuple(_TYPES.values())
"""The types without digits, intervals among them."""
COLUMN_TYPES = tuple(kind for kind in PLAIN_TYPES if kind is not ColumnType.INTERVAL)
"""Those that columns may have besides decimals."""
TYPE_PATTERN = f"^({'|'.join(COLUMN_TYPES)}|{_DECIMAL_PATTERN})$"
"""What names of types of columns look like in documents."""
TYPE_NAMES = (*COLUMN_TYPES, "decimal(digits, digits behind the point)")
"""What people may write, for messages."""


def column_type(text: str) -> ColumnType:
    """The type that a column is declared with.

    Raises `ValueError` for a text that names none, or one that columns do not have.
    """
    kind = ColumnType(text.strip().lower())
    if kind is ColumnType.INTERVAL:
        raise ValueError("an interval is no column's type")
    return kind


NUMBERS = (ColumnType.INT, ColumnType.BIGINT, ColumnType.DOUBLE)
MOMENTS = (ColumnType.DATE, ColumnType.TIMESTAMP)
"""Each type comes before those to which SQL casts its values by itself, to compare them."""
_INTEGER_DIGITS = {ColumnType.INT: 10, ColumnType.BIGINT: 19}


def as_decimal(kind: ColumnType) -> ColumnType:
    """The decimal type that has every value of an integer type; a decimal is its own.

    >>> as_decimal(ColumnType.INT).value
    'decimal(10,0)'
    """
    return kind if kind.is_decimal else ColumnType.decimal(_INTEGER_DIGITS[kind], 0)


def common_type(first: ColumnType, second: ColumnType) -> ColumnType:
    """The type in which values of two comparable types are compared.

    Two decimals become one with room for both. Where that would take more than 38 digits, values that are too
    large for the digits behind the point have none in it.

    >>> common_type(ColumnType.INT, ColumnType.DOUBLE).value
    'double'
    >>> common_type(ColumnType.decimal(12, 2), ColumnType.decimal(4, 3)).value
    'decimal(13,3)'
    """
    if first is second:
        return first
    if not (first.is_decimal or second.is_decimal):
        types = next((types for types in (NUMBERS, MOMENTS) if first in types and second in types), (first,))
        return max(first, second, key=types.index)
    if ColumnType.DOUBLE in (first, second):
        return ColumnType.DOUBLE
    whole, scale = _room(first, second)
    return ColumnType.decimal(min(whole + scale, MOST_DIGITS), scale)


def widens(narrow: ColumnType, wide: ColumnType) -> bool:
    """True if SQL casts values of one type to the other by itself, to compare them.

    >>> [widens(kind, ColumnType.decimal(12, 2)) for kind in (ColumnType.INT, ColumnType.BIGINT)]
    [True, False]
    """
    return narrow is not wide and narrow.comparable_with(wide) and common_type(narrow, wide) is wide


def chosen_type(first: ColumnType, second: ColumnType) -> ColumnType:
    """The type of what is one of two values: in CASE, COALESCE, UNION ALL.

    As `common_type`, but of two decimals that need more than 38 digits those behind the point give way.

    >>> wide, fine = ColumnType.decimal(38, 2), ColumnType.decimal(38, 10)
    >>> common_type(wide, fine).value, chosen_type(wide, fine).value
    ('decimal(38,10)', 'decimal(38,2)')
    """
    if first.is_decimal and second.is_decimal:
        whole, scale = _room(first, second)
        if whole + scale > MOST_DIGITS:
            return ColumnType.decimal(MOST_DIGITS, MOST_DIGITS - whole)
    return common_type(first, second)


def _room(first: ColumnType, second: ColumnType) -> tuple[int, int]:
    """Digits before and behind the point that two exact numbers need."""
    wide = [as_decimal(kind) for kind in (first, second)]
    return max(kind.precision - kind.scale for kind in wide), max(kind.scale for kind in wide)


_INT64_DIGITS = 18
"""Products of decimals that have so many digits at most have no more, as in DuckDB."""


def arithmetic_type(function: str, first: ColumnType, second: ColumnType) -> ColumnType | None:
    """The type of a sum, product or rest of numbers; None if there is none.

    >>> price = ColumnType.decimal(12, 2)
    >>> arithmetic_type("add", price, price).value, arithmetic_type("multiply", price, ColumnType.INT).value
    ('decimal(13,2)', 'decimal(18,2)')
    """
    if ColumnType.DOUBLE in (first, second) or not (first.is_decimal or second.is_decimal):
        return common_type(first, second)
    if function == "multiply":
        wide = [as_decimal(kind) for kind in (first, second)]
        digits, scale = sum(kind.precision for kind in wide), sum(kind.scale for kind in wide)
        if scale > MOST_DIGITS:
            return None
        small = scale < _INT64_DIGITS and all(kind.precision <= _INT64_DIGITS for kind in wide)
        return ColumnType.decimal(min(digits, _INT64_DIGITS if small else MOST_DIGITS), scale)
    whole, scale = _room(first, second)
    if function == "modulo":
        return ColumnType.decimal(whole + scale, scale) if whole + scale <= MOST_DIGITS else ColumnType.DOUBLE
    return ColumnType.decimal(min(whole + scale + 1, MOST_DIGITS), scale)


def rounded_type(kind: ColumnType, digits: int = 0, cut: bool = False) -> ColumnType:
    """The type of a decimal rounded, or cut, to some digits behind the point.

    A decimal without digits there may get one more before it, as 95 rounded to tens does.

    >>> rounded_type(ColumnType.decimal(12, 4), 2).value, rounded_type(ColumnType.decimal(2, 0), -1).value
    ('decimal(12,2)', 'decimal(3,0)')
    """
    longer = not cut and kind.scale == 0 and -kind.precision <= digits < 0
    return ColumnType.decimal(min(kind.precision + longer, MOST_DIGITS), min(max(digits, 0), kind.scale))
