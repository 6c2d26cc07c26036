"""The Arrow types in which functions, and the runtime's sources, have columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from optimizer.algebra.types import ColumnType


class _ArrowTypes(dict[ColumnType, pa.DataType]):
    """Decimals are added when they are first asked for."""

    def __missing__(self, kind: ColumnType) -> pa.DataType:
        if not kind.is_decimal:
            raise KeyError(kind)
        return self.setdefault(kind, pa.decimal128(kind.precision, kind.scale))


ARROW_TYPES: Mapping[ColumnType, pa.DataType] = _ArrowTypes(
    {
        ColumnType.BIGINT: pa.int64(),
        ColumnType.INT: pa.int32(),
        ColumnType.DOUBLE: pa.float64(),
        ColumnType.STRING: pa.large_string(),
        ColumnType.BOOLEAN: pa.bool_(),
        ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
        ColumnType.DATE: pa.date32(),
        ColumnType.BINARY: pa.large_binary(),
    }
)
"""By column type; an interval never is a column."""
