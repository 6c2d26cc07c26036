"""Arrow types of stream columns, and the stored types readable as them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from optimizer.algebra.types import MOST_DIGITS, ColumnType
from optimizer.udf.arrow import ARROW_TYPES, uuid_texts

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_US_PER = {"s": 1_000_000, "ms": 1000, "us": 1}
_MS_PER_DAY = 86_400_000
_DAY_US = 86_400_000_000


def stream_schema(columns: tuple[tuple[str, ColumnType], ...]) -> pa.Schema:
    """The Arrow schema of a stream's tuples.

    >>> stream_schema((("a", ColumnType.INT),)).field("a").type == pa.int32()
    True
    """
    return pa.schema([(name, ARROW_TYPES[kind]) for name, kind in columns])


def readable_as(found: pa.DataType, wanted: ColumnType) -> bool:
    """True if every value of type `found` is one of the stream's column type.

    Moments that 64 bits of microseconds do not hold are the exception.

    Integers and decimals widen, a timestamp of any unit is read in microseconds (one without a zone as UTC),
    dictionary-encoded text is text, and a column of NULLs alone is of any type. Nothing narrows, and nothing
    is parsed but what is carried as text: UUIDs.

    >>> readable_as(pa.int32(), ColumnType.BIGINT), readable_as(pa.int64(), ColumnType.INT)
    (True, False)
    """
    if pa.types.is_dictionary(found):
        return readable_as(found.value_type, wanted)
    if pa.types.is_null(found):
        return True
    match wanted:
        case ColumnType.BIGINT:
            return bool(pa.types.is_integer(found) and found != pa.uint64())
        case ColumnType.INT:
            return bool(pa.types.is_integer(found) and found not in (pa.int64(), pa.uint64(), pa.uint32()))
        case ColumnType.DOUBLE:
            return bool(pa.types.is_floating(found) or (pa.types.is_integer(found) and found != pa.uint64()))
        case ColumnType.STRING:
            return is_text(found)
        case ColumnType.UUID:
            return is_text(found) or found == pa.uuid()
        case ColumnType.BOOLEAN:
            return bool(pa.types.is_boolean(found))
        case ColumnType.TIMESTAMP:
            return bool(pa.types.is_timestamp(found))
        case ColumnType.DATE:
            return bool(pa.types.is_date(found))
        case ColumnType.TIME:
            return bool(pa.types.is_time(found))
        case ColumnType.BINARY:
            return bool(pa.types.is_binary(found) or pa.types.is_large_binary(found))
        case kind if kind.is_decimal:
            whole = kind.precision - kind.scale
            if pa.types.is_decimal(found):
                return bool(found.scale <= kind.scale and found.precision - found.scale <= whole)
            digits = _INTEGER_DIGITS.get(found, MOST_DIGITS + 1)
            return digits <= whole
        case _:
            return False


def is_text(found: pa.DataType) -> bool:
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found) or found == pa.string_view())


_INTEGER_DIGITS = {
    pa.int8(): 3,
    pa.uint8(): 3,
    pa.int16(): 5,
    pa.uint16(): 5,
    pa.int32(): 10,
    pa.uint32(): 10,
    pa.int64(): 19,
    pa.uint64(): 20,
}


def cast_column(column: pa.ChunkedArray, wanted: ColumnType) -> tuple[pa.ChunkedArray, Mask | None]:
    """A column, `readable_as` a type, in that type's Arrow form, and rows that misfit.

    Rows whose value the type does not have are NULL; None if there are none.

    Nanoseconds are cut to microseconds, towards the past. Text is not looked at: see `text`.
    """
    target = ARROW_TYPES[wanted]
    if column.type == target and wanted not in (ColumnType.UUID, ColumnType.TIME):
        return column, None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if wanted is ColumnType.UUID and not pa.types.is_null(column.type):
        typed = uuid_texts(column)
        return typed, _lost(column, typed)
    if pa.types.is_time(column.type):
        typed = _times(column)
        return typed, _lost(column, typed)
    if pa.types.is_timestamp(column.type):
        return _moments(column, target)
    if column.type == pa.date64():
        return _recounted(column, target, pa.date32())
    return column.cast(target, safe=wanted is not ColumnType.DOUBLE), None


def _times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times of any unit in microseconds; those outside a day are NULL."""
    wide = column.cast(pa.time64("ns")) if pa.types.is_time32(column.type) else column
    numbers = wide.cast(pa.int64())
    micros = pc.divide(numbers, 1000) if wide.type.unit == "ns" else numbers
    inside = pc.and_(pc.greater_equal(numbers, 0), pc.less(micros, _DAY_US))
    return pc.if_else(inside, micros, pa.scalar(None, pa.int64())).cast(pa.time64("us"))


def _lost(column: pa.ChunkedArray, typed: pa.ChunkedArray) -> Mask | None:
    """The rows that became NULL; None if there are none."""
    if column.null_count == typed.null_count:
        return None
    mask: Mask = pc.and_(column.is_valid(), typed.is_null()).to_numpy()
    return mask


def _moments(column: pa.ChunkedArray, target: pa.DataType) -> tuple[pa.ChunkedArray, Mask | None]:
    if column.type.unit == "us":
        return pa.chunked_array([chunk.view(target) for chunk in column.chunks], target), None
    return _recounted(column, target, pa.timestamp("us"))


def _recounted(
    column: pa.ChunkedArray, target: pa.DataType, counted: pa.DataType
) -> tuple[pa.ChunkedArray, Mask | None]:
    """A column of moments or days that are counted in another unit."""
    chunks, masks = [], []
    for chunk in column.chunks:
        null = chunk.is_null().to_numpy(zero_copy_only=False)
        numbers = pc.fill_null(chunk.view(pa.int64()), 0).to_numpy()
        if counted == pa.date32():
            days = np.floor_divide(numbers, _MS_PER_DAY)
            outside = np.abs(days) >= 2**31
            values = pa.array(days.astype(np.int32), mask=null | outside)
        else:
            moments, outside = to_microseconds(numbers, chunk.type.unit)
            values = pa.array(moments, mask=null | outside)
        chunks.append(values.view(target))
        masks.append(outside)
    typed = pa.chunked_array(chunks, target)
    return typed, (np.concatenate(masks) if any(mask.any() for mask in masks) else None)


def to_microseconds(numbers: Integers, unit: str) -> tuple[Integers, Mask]:
    """Moments in a unit (s, ms, us, ns) as microseconds.

    Beside them, those that 64 bits do not hold.

    >>> to_microseconds(np.array([-1, 2**62]), "s")[1].tolist()
    [False, True]
    >>> to_microseconds(np.array([-1]), "ns")[0].tolist()
    [-1]
    """
    if unit == "ns":
        return np.floor_divide(numbers, 1000), np.zeros(len(numbers), np.bool_)
    factor = _US_PER[unit]
    most = (2**63 - 1) // factor
    outside = (numbers > most) | (numbers < -most)
    return np.where(outside, 0, numbers) * factor, outside
