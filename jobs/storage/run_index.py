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
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from jobs.storage.key_hash import hash_tasks

BLOCK_ROWS = 4096
"""Rows whose bounds the index tells together; written into the run, so that it may change."""
_ORDERED = (pl.Int32, pl.Int64, pl.String, pl.Date, pl.Datetime)
"""Types whose equal values lie between the same bounds. Of doubles NaN does not."""
_BITS_PER_VALUE = 8
_PROBES = 4
"""Bits set per value: with 8 bits per value, 2.4 % of the values that a run lacks seem to be there."""
_ROWS_PER_KEY = 128
"""Fewer rows than this per sought key, and the index is not asked: see above."""
_HASHES = 1 << 62
"""Numbers that hashes go up to: positive ones of 64 bits."""
_OBJECTS_BYTES = 4096
"""Of an open index, whatever it holds."""

_ORDER, _RANGES, _ROWS = b"millrace.order", b"millrace.ranges", b"millrace.block_rows"
_FILTER = "millrace.filter."

Bits: TypeAlias = npt.NDArray[np.uint8]
Rows: TypeAlias = tuple[int, int]
"""From inclusive, to exclusive."""
Sortable: TypeAlias = npt.NDArray[Any]


def describe(frame: pl.DataFrame, columns: Sequence[str]) -> dict[bytes, bytes]:
    """The index of a run of `frame`, sorted by the first of `columns`, as metadata.

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


class Keys:
    """Values that are sought in a column: distinct, in ascending order, without NULL.

    What the search takes of them is computed once for all runs.
    """

    def __init__(self, values: pl.Series) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def sortable(self) -> Sortable:
        return _sortable(self.values)

    @cached_property
    def hashes(self) -> npt.NDArray[np.int64]:
        return hash_tasks(self.values, _HASHES)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """A column's blocks that are not all NULL, each with the bounds of its values."""

    blocks: npt.NDArray[np.int64]
    least: Sortable
    greatest: Sortable


class RunIndex:
    """The index of a run, as its file has it.

    Arguments: the run's rows; the metadata of its schema, which need not hold an index: nothing is known of
    the places of keys then.
    """

    def __init__(self, rows: int, metadata: Mapping[bytes, bytes] | None) -> None:
        self._rows = rows
        self._metadata = dict(metadata or {})
        self._block_rows = int(self._metadata.get(_ROWS, b"0"))
        self.order = self._metadata[_ORDER].decode() if _ORDER in self._metadata else None
        """The column in whose ascending order the rows are, NULL first; None if in none that is known."""
        self._ranges: pl.DataFrame | None = None
        self._filters: dict[str, Bits] = {}
        self._bounds: dict[tuple[str, pl.DataType], _Bounds] = {}

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        if self._ranges is None:
            return sum(len(value) for value in self._metadata.values())
        # Bounds are there once as the file has them and once or twice to be searched.
        return 3 * int(self._ranges.estimated_size()) + sum(map(len, self._filters.values())) + _OBJECTS_BYTES

    def narrows(self, sought: Mapping[str, Keys]) -> bool:
        """Whether so few values are sought that the index, open from then on, is asked."""
        if not self._asked(sought):
            return False
        if self._ranges is None:
            self._open()
        return True

    def matching(self, sought: Mapping[str, Keys]) -> list[Rows]:
        """Stretches of rows that may have one of the sought values in every column.

        No row outside of them has.
        """
        if not self.narrows(sought):
            return [(0, self._rows)] if self._rows else []
        assert self._ranges is not None
        kept = np.ones(self._ranges.height, dtype=np.bool_)
        for column in self._asked(sought):
            kept &= self._blocks(self._ranges, column, sought[column])
        edges = np.flatnonzero(np.diff(kept.astype(np.int8), prepend=0, append=0)).tolist()
        return [
            (first * self._block_rows, min(last * self._block_rows, self._rows))
            for first, last in zip(edges[::2], edges[1::2], strict=True)
        ]

    def _asked(self, sought: Mapping[str, Keys]) -> list[str]:
        """The columns of few values that the index knows."""
        few = (column for column, keys in sought.items() if len(keys) * _ROWS_PER_KEY <= self._rows)
        if self._ranges is not None:
            return [column for column in few if column in self._filters]
        return [column for column in few if (_FILTER + column).encode() in self._metadata]

    def _open(self) -> None:
        self._ranges = pl.read_ipc_stream(io.BytesIO(base64.b64decode(self._metadata[_RANGES])))
        for name, packed in self._metadata.items():
            if name.startswith(_FILTER.encode()):
                column = name.decode().removeprefix(_FILTER)
                self._filters[column] = np.frombuffer(base64.b64decode(packed), dtype=np.uint8)
        self._metadata.clear()

    def _blocks(self, ranges: pl.DataFrame, column: str, keys: Keys) -> npt.NDArray[np.bool_]:
        found = np.zeros(ranges.height, dtype=np.bool_)
        bounds = self._bounds_of(ranges, column, keys.values.dtype)
        first = np.searchsorted(keys.sortable, bounds.least, side="left")
        stop = np.searchsorted(keys.sortable, bounds.greatest, side="right")
        low, high = int(first.min(initial=len(keys))), int(stop.max(initial=0))
        if low < high:
            held = self._may_hold(column, keys.hashes[low:high])
            before = np.concatenate(([0], np.cumsum(held)))
            found[bounds.blocks] = before[stop - low] > before[first - low]
        return found

    def _bounds_of(self, ranges: pl.DataFrame, column: str, kind: pl.DataType) -> _Bounds:
        """In the type in which they are compared with keys."""
        if (column, kind) not in self._bounds:
            known = ranges[f"least {column}"].is_not_null()
            least, greatest = (
                _sortable(ranges[f"{end} {column}"].filter(known).cast(kind)) for end in ("least", "greatest")
            )
            self._bounds[column, kind] = _Bounds(np.flatnonzero(known.to_numpy()), least, greatest)
        return self._bounds[column, kind]

    def _may_hold(self, column: str, hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        packed = self._filters[column]
        places = _places(hashes, len(packed) * 8)
        found: npt.NDArray[np.bool_] = ((packed[places >> 3] >> (7 - (places & 7)) & 1) == 1).all(axis=0)
        return found


def between(values: pl.Series, keys: pl.Series) -> pl.Series:
    """Values from the least to the greatest of keys of one type; none if all are NULL.

    Of types without an index, where there is nothing to gain, all of them.

    >>> between(pl.Series([1, 5, 9]), pl.Series([4, 2, None])).to_list()
    []
    >>> between(pl.Series([1, 5, 9]), pl.Series([9, 2])).to_list()
    [5, 9]
    """
    if keys.null_count() == len(keys):
        return values.clear()
    if values.dtype not in _ORDERED:
        return values
    # As numbers: Python has no moments near the ends of 64 bits.
    numbers, found = (s.to_physical() if s.dtype.is_temporal() else s for s in (values, keys))
    return values.filter(numbers.is_between(found.min(), found.max()))


def _sortable(values: pl.Series) -> Sortable:
    """Values without NULL as NumPy searches them.

    Texts are objects, which Python orders by code points and so as Polars orders their bytes.
    """
    return values.to_physical().to_numpy()


def _filter(values: pl.Series) -> Bits:
    bits = np.zeros(max(8, -(-len(values) * _BITS_PER_VALUE // 8) * 8), dtype=np.bool_)
    bits[_places(hash_tasks(values, _HASHES), len(bits)).reshape(-1)] = True
    return np.packbits(bits)


def _places(hashes: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.int64]:
    """The bits of each value, one column per value.

    Two hashes make all of them (Kirsch, Mitzenmacher, ESA 2006, section 2). Equal values of two types have
    equal bits, as they belong to the same task.
    """
    first, step = hashes & (2**31 - 1), (hashes >> 31) | 1
    places: npt.NDArray[np.int64] = (first + np.arange(_PROBES)[:, np.newaxis] * step) % bits
    return places
