"""Bytes of tuples."""

from __future__ import annotations

from optimizer.algebra.types import ColumnType

POSITION_BYTES = 9.0
"""Of every tuple's arrival number and ordinal."""
TEXT_BYTES = 24.0
"""Taken for texts and binaries of which nothing is known."""
_BYTES = {ColumnType.INT: 4.0, ColumnType.DATE: 4.0, ColumnType.BOOLEAN: 0.125}


def width(kind: ColumnType, text_bytes: float = TEXT_BYTES) -> float:
    """Bytes of a value of a type.

    >>> width(ColumnType.BIGINT), width(ColumnType.STRING)
    (8.0, 24.0)
    """
    return text_bytes if kind in (ColumnType.STRING, ColumnType.BINARY) else _BYTES.get(kind, 8.0)
