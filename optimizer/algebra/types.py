"""The column types of Millrace and the relations between them."""

from __future__ import annotations

from enum import StrEnum


class ColumnType(StrEnum):
    """A column's type, by its name in streams.yaml.

    `TIMESTAMP` is UTC with microseconds. `INTERVAL` never is a column's type: it only
    appears inside expressions, as a difference of two timestamps or as a literal.
    """

    BIGINT = "bigint"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    BINARY = "binary"
    INTERVAL = "interval"

    @property
    def is_numeric(self) -> bool:
        return self in NUMBERS

    def comparable_with(self, other: ColumnType) -> bool:
        """True if values of both types can stand on the two sides of `=` or `<`.

        >>> ColumnType.INT.comparable_with(ColumnType.DOUBLE)
        True
        >>> ColumnType.INT.comparable_with(ColumnType.STRING)
        False
        """
        if self == other:
            return True
        return any(self in types and other in types for types in (NUMBERS, MOMENTS))


NUMBERS = (ColumnType.INT, ColumnType.BIGINT, ColumnType.DOUBLE)
MOMENTS = (ColumnType.DATE, ColumnType.TIMESTAMP)
"""Each type comes before those to which SQL casts its values by itself, to compare them."""
COLUMN_TYPES = tuple(t for t in ColumnType if t is not ColumnType.INTERVAL)


def common_type(first: ColumnType, second: ColumnType) -> ColumnType:
    """The type in which values of two comparable types are compared.

    >>> common_type(ColumnType.INT, ColumnType.DOUBLE).value
    'double'
    """
    types = next((types for types in (NUMBERS, MOMENTS) if first in types and second in types), (first,))
    return max(first, second, key=types.index)
