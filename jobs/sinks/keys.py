"""Keys of running groups, as sinks know rows by them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import repeat

import pyarrow as pa
import pyarrow.compute as pc

from optimizer.udf.arrow import uuid_texts


def key_digests(table: pa.Table, key: Sequence[str]) -> pa.Array:
    """A digest of each row's key.

    NULL and NaN are values, and both zeros are one.

    >>> rows = pa.table({"k": [1, None, 1], "n": [4, 5, 6]})
    >>> first, second, third = key_digests(rows, ["k"]).to_pylist()
    >>> first == third, first == second
    (True, False)
    >>> positive, negative = key_digests(pa.table({"k": [0.0, -0.0]}), ["k"]).to_pylist()
    >>> positive == negative
    True
    """
    columns = [_plain(table.column(name)).to_pylist() for name in key]
    rows = zip(*columns, strict=True) if columns else repeat((), table.num_rows)
    return pa.array([blake2b(repr(row).encode(), digest_size=16).digest() for row in rows], pa.binary())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Moments and days as numbers, zero without its sign.

    Some moments are beyond Python's own.
    """
    if pa.types.is_floating(column.type):
        return pc.add(column, 0.0)
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if column.type == pa.uuid():
        return uuid_texts(column)
    return column.cast(pa.int32()) if pa.types.is_date(column.type) else column
