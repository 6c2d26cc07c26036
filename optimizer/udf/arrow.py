"""The Arrow types in which functions, and the runtime's sources, have columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

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
        ColumnType.UUID: pa.large_string(),
        ColumnType.TIME: pa.time64("us"),
    }
)
"""By column type; an interval never is a column."""

_UUID_DIGITS = "^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$"


def uuid_texts(stored: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write each UUID, told by any text of it or in Arrow's own type, as its one text.

    NULL for what is none.

    >>> uuid_texts(pa.chunked_array([["{A0EEBC999C0B4EF8BB6D6BB9BD380A11}", "?"]])).to_pylist()
    ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', None]
    >>> uuid_texts(pa.chunked_array([pa.array([bytes(range(16))], pa.uuid())])).to_pylist()
    ['00010203-0405-0607-0809-0a0b0c0d0e0f']
    """
    if stored.type == pa.uuid():
        # Processes that only plan batches need this module's types, and no Polars.
        import polars as pl

        numbers = pl.Series(pl.from_arrow(stored.cast(pa.binary(16)).cast(pa.large_binary())))
        stored = pa.chunked_array([numbers.bin.encode("hex").to_arrow()])
    bare = pc.replace_substring_regex(pc.utf8_lower(stored.cast(pa.large_string())), r"^\{(.*)\}$", r"\1")
    digits = pc.replace_substring(bare, "-", "")
    written = pc.replace_substring_regex(digits, _UUID_DIGITS, r"\1-\2-\3-\4-\5")
    nothing = pa.scalar(None, pa.large_string())
    return pc.if_else(pc.match_substring_regex(digits, _UUID_DIGITS), written, nothing)


def as_uuids(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts of UUIDs in Arrow's own type for them.

    >>> as_uuids(pa.chunked_array([["00010203-0405-0607-0809-0a0b0c0d0e0f"]])).type
    UuidType(extension<arrow.uuid>)
    """
    import polars as pl

    digits = pl.Series(pl.from_arrow(texts)).str.replace_all("-", "", literal=True)
    numbers = digits.str.decode("hex").to_arrow(compat_level=pl.CompatLevel.oldest())
    return pa.chunked_array([pa.ExtensionArray.from_storage(pa.uuid(), numbers.cast(pa.binary(16)))])
