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
        return self in _NUMERIC

    def comparable_with(self, other: ColumnType) -> bool:
        """True if values of both types can stand on the two sides of `=` or `<`.

        >>> ColumnType.INT.comparable_with(ColumnType.DOUBLE)
        True
        >>> ColumnType.INT.comparable_with(ColumnType.STRING)
        False
        """
        if self == other:
            return True
        return {self, other} <= _NUMERIC or {self, other} <= _MOMENTS


_NUMERIC = frozenset({ColumnType.BIGINT, ColumnType.INT, ColumnType.DOUBLE})
_MOMENTS = frozenset({ColumnType.TIMESTAMP, ColumnType.DATE})
COLUMN_TYPES = tuple(t for t in ColumnType if t is not ColumnType.INTERVAL)
