"""The Arrow types of stream columns, and which stored types may be read as them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from optimizer.types import ColumnType
from optimizer.udf.arrow import ARROW_TYPES


def stream_schema(columns: tuple[tuple[str, ColumnType], ...]) -> pa.Schema:
    """The Arrow schema of a stream's tuples.

    >>> stream_schema((("a", ColumnType.INT),)).field("a").type == pa.int32()
    True
    """
    return pa.schema([(name, ARROW_TYPES[kind]) for name, kind in columns])


def readable_as(found: pa.DataType, wanted: ColumnType) -> bool:
    """True if every value of type `found` is a value of the stream's column type.

    Integers widen, a timestamp of any unit is read in microseconds (one without a zone as UTC),
    and dictionary-encoded text is text. Nothing narrows and nothing is parsed.

    >>> readable_as(pa.int32(), ColumnType.BIGINT), readable_as(pa.int64(), ColumnType.INT)
    (True, False)
    """
    if pa.types.is_dictionary(found):
        return readable_as(found.value_type, wanted)
    match wanted:
        case ColumnType.BIGINT:
            return bool(pa.types.is_integer(found) and found != pa.uint64())
        case ColumnType.INT:
            return bool(pa.types.is_integer(found) and found not in (pa.int64(), pa.uint64(), pa.uint32()))
        case ColumnType.DOUBLE:
            return bool(pa.types.is_floating(found) or (pa.types.is_integer(found) and found != pa.uint64()))
        case ColumnType.STRING:
            return bool(
                pa.types.is_string(found) or pa.types.is_large_string(found) or found == pa.string_view()
            )
        case ColumnType.BOOLEAN:
            return bool(pa.types.is_boolean(found))
        case ColumnType.TIMESTAMP:
            return bool(pa.types.is_timestamp(found))
        case ColumnType.DATE:
            return bool(pa.types.is_date(found))
        case ColumnType.BINARY:
            return bool(pa.types.is_binary(found) or pa.types.is_large_binary(found))
        case _:
            return False


def cast_column(column: pa.ChunkedArray, wanted: ColumnType) -> pa.ChunkedArray:
    """A column whose type is `readable_as` the wanted one, in that type's Arrow form.

    Nanoseconds are cut to microseconds, towards the past.
    """
    target = ARROW_TYPES[wanted]
    if column.type == target:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if wanted is ColumnType.TIMESTAMP:
        if column.type.unit == "ns":
            column = pc.floor_temporal(column, unit="microsecond")
        if column.type.tz is None:
            return column.cast(pa.timestamp("us"), safe=False).cast(target)
        return column.cast(target, safe=False)
    return column.cast(target, safe=wanted is not ColumnType.DOUBLE)
