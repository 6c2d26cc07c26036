"""Where in a run a key can be: the ranges of its blocks, and a Bloom filter.

A run that is written under a memory limit is sorted by the column that its store is searched by most. Its
index travels in the file's schema metadata, so that a run stays one file. For each column that probes look
up it says between which values every block of rows lies, and which values the run does not hold at all
(Bloom, CACM 13(7), 1970). What sorted string tables are to an LSM tree (UMJoin, section 3.1.2), with two
differences: blocks are row ranges of an Arrow file, which is mapped and not parsed, and a batch's keys are
looked up together.

The index only pays while few keys are sought: of many, every block holds one, or one that the filter lets
through by mistake. So it is asked only if there are at most one key per `_ROWS_PER_KEY` rows.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from jobs.routing import hash_tasks

BLOCK_ROWS = 4096
_ORDERED = (pl.Int32, pl.Int64, pl.String, pl.Date, pl.Datetime)
"""Types whose equal values lie between the same bounds. Of doubles NaN does not."""
_BITS_PER_VALUE = 8
_PROBES = 4
"""Bits set per value: with 8 bits per value, 2.4 % of the values that a run lacks seem to be there."""
_ROWS_PER_KEY = 128
_HASHES = 1 << 62

_ORDER, _RANGES, _ROWS = b"millrace.order", b"millrace.ranges", b"millrace.block_rows"
_FILTER = "millrace.filter."

Bits = npt.NDArray[np.uint8]
Rows = tuple[int, int]
"""From inclusive, to exclusive."""


def describe(frame: pl.DataFrame, columns: Sequence[str]) -> dict[bytes, bytes]:
    """The index of a run that will hold `frame`, in the order of the first of `columns`: schema metadata.

    Columns of types that can have none are left out.
    """
    metadata = {_ORDER: columns[0].encode()} if columns else {}
    indexed = [name for name in columns if frame.schema[name] in _ORDERED]
    if not indexed or frame.is_empty():
        return metadata
    bounds = [
        bound.alias(f"{kind} {name}")
        for name in indexed
        for kind, bound in (("least", pl.col(name).min()), ("greatest", pl.col(name).max()))
    ]
    block = (pl.int_range(pl.len()) // BLOCK_ROWS).alias("@block")
    ranges = frame.select(block, *indexed).group_by("@block", maintain_order=True).agg(bounds).drop("@block")
    written = io.BytesIO()
    ranges.write_ipc_stream(written, compat_level=pl.CompatLevel.oldest())
    metadata |= {_RANGES: base64.b64encode(written.getvalue()), _ROWS: str(BLOCK_ROWS).encode()}
    for name in indexed:
        metadata[(_FILTER + name).encode()] = base64.b64encode(_filter(frame[name].drop_nulls()).tobytes())
    return metadata


class RunIndex:
    """The index of a run, as its file has it.

    Arguments: the run's rows; the metadata of its schema, which need not hold an index: nothing is known of
    the places of keys then.
    """

    def __init__(self, rows: int, metadata: Mapping[bytes, bytes] | None) -> None:
        self._rows = rows
        self._metadata = metadata or {}
        self._block_rows = int(self._metadata.get(_ROWS, b"0"))
        self.order = self._metadata[_ORDER].decode() if _ORDER in self._metadata else None
        """The column in whose ascending order the rows are, NULL first; None if in none that is known."""

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return sum(len(value) for value in self._metadata.values())

    def matching(self, sought: Mapping[str, pl.Series]) -> list[Rows]:
        """Stretches of rows outside of which no row has, in every column, one of the sought values.

        `sought` has values by column: distinct, in ascending order, without NULL.
        """
        few = {column: values for column, values in sought.items() if self._are_few(values)}
        if _RANGES not in self._metadata or not few:
            return [(0, self._rows)] if self._rows else []
        ranges = pl.read_ipc_stream(io.BytesIO(base64.b64decode(self._metadata[_RANGES])))
        kept = np.ones(ranges.height, dtype=np.bool_)
        for column, values in few.items():
            if f"least {column}" in ranges.columns:
                kept &= self._blocks(ranges, column, values)
        edges = np.flatnonzero(np.diff(kept.astype(np.int8), prepend=0, append=0)).tolist()
        return [
            (first * self._block_rows, min(last * self._block_rows, self._rows))
            for first, last in zip(edges[::2], edges[1::2], strict=True)
        ]

    def _are_few(self, values: pl.Series) -> bool:
        return len(values) * _ROWS_PER_KEY <= self._rows

    def _blocks(self, ranges: pl.DataFrame, column: str, values: pl.Series) -> npt.NDArray[np.bool_]:
        least = ranges[f"least {column}"].cast(values.dtype)
        greatest = ranges[f"greatest {column}"].cast(values.dtype)
        inside = between(values, least, greatest)
        inside = inside.filter(pl.Series(self._may_hold(column, inside), dtype=pl.Boolean))
        if inside.is_empty():
            return np.zeros(ranges.height, dtype=np.bool_)
        first = inside.search_sorted(least, side="left")
        last = inside.search_sorted(greatest, side="right")
        # A block of NULL only has no bounds.
        found: npt.NDArray[np.bool_] = ((last > first) & least.is_not_null()).to_numpy()
        return found

    def _may_hold(self, column: str, values: pl.Series) -> npt.NDArray[np.bool_]:
        packed = np.frombuffer(base64.b64decode(self._metadata[(_FILTER + column).encode()]), dtype=np.uint8)
        places = _places(values, len(packed) * 8)
        found: npt.NDArray[np.bool_] = ((packed[places >> 3] >> (7 - (places & 7)) & 1) == 1).all(axis=0)
        return found


def between(values: pl.Series, least: pl.Series, greatest: pl.Series) -> pl.Series:
    """The values from the least of `least` to the greatest of `greatest`; none if these are NULL only.

    >>> between(pl.Series([1, 5, 9]), pl.Series([2, 3]), pl.Series([4, 9])).to_list()
    [5, 9]
    """
    if least.null_count() == len(least):
        return values.clear()
    return values.filter(values.is_between(least.min(), greatest.max()))


def _filter(values: pl.Series) -> Bits:
    bits = np.zeros(max(8, -(-len(values) * _BITS_PER_VALUE // 8) * 8), dtype=np.bool_)
    bits[_places(values, len(bits)).reshape(-1)] = True
    return np.packbits(bits)


def _places(values: pl.Series, bits: int) -> npt.NDArray[np.int64]:
    """The bits of each value, one column per value: two hashes make all of them (Kirsch, Mitzenmacher, ESA
    2006, section 2). Equal values of two types have equal bits, as they belong to the same task."""
    hashes = hash_tasks(values, _HASHES)
    first, step = hashes & (2**31 - 1), (hashes >> 31) | 1
    places: npt.NDArray[np.int64] = (first + np.arange(_PROBES)[:, np.newaxis] * step) % bits
    return places
