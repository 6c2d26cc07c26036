"""A store's tuples a bounded number of bytes at a time.

Under a memory limit a probe does not see a store as a whole but in pieces, one after the other: a join
distributes over the parts of one side. Of every run the keys are looked at first, in the blocks where those
that are sought can be; the other columns are read only where a tuple has them. An index that was asked stays
open, so a run that has none of the values is not even mapped the next time. A run is unmapped when it is
done with, and what was touched of a large one before that. So what is resident is bounded whatever the
runs' sizes, and what is read from the disk follows what the probe needs and not what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from jobs.storage.run import MappedRun, RunRef, StateRoot
from jobs.storage.run_index import Keys, Rows, RunIndex, between

_VIEW_BYTES = 16
"""What Polars adds to every text or binary value that it reads from Arrow."""

Positions: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of a store's tuples."""

    frame: pl.DataFrame
    bytes: int
    """Of the tuples."""
    beside_bytes: int
    """What was mapped at the same time, at most, in order to find them."""


def pieces(
    root: StateRoot,
    runs: Sequence[RunRef],
    columns: Sequence[str],
    sought: Mapping[str, pl.Series],
    most_bytes: int,
    index_bytes: int = 0,
) -> Iterator[Piece]:
    """The tuples of `runs` that have sought values, in pieces of about `most_bytes`.

    Whoever iterates lets go of a piece before the next one, or two are there at the same time.

    Args:
        root: where the runs are.
        runs: to be read in this order.
        columns: what is wanted of them. Runs that lack one of them, which were written before there was a
            use for it, have NULL there.
        sought: values by stored column, distinct, in ascending order, without NULL; a tuple of which a
            column's value is not among them is left out.
        most_bytes: exceeded only by a single tuple that is larger.
        index_bytes: of indexes that this process keeps open.
    """
    step_bytes = most_bytes // 2
    parts: list[pa.Table] = []
    held = beside = 0
    keys = {column: Keys(values) for column, values in sought.items()}
    for run in runs:
        known = root.indexes.find(run.path)
        mapped: MappedRun | None = None
        if known is None:
            mapped = root.map(run)
            known = RunIndex(run.rows, mapped.table.schema.metadata)
            if known.narrows(keys):
                root.indexes.keep(run.path, known, index_bytes)
        beside = max(beside, root.indexes.bytes + known.bytes + min(run.bytes, step_bytes))
        stretches = known.matching(keys)
        if not stretches:
            continue
        mapped = mapped or root.map(run)
        for part in _taken(mapped, known.order, stretches, columns, keys, step_bytes):
            parts.append(part)
            held += _bytes_of(part)
            del part
            if held >= step_bytes:
                yield from _piece(parts, held, beside)
                held = 0
        del mapped
    yield from _piece(parts, held, beside)


def _piece(parts: list[pa.Table], size: int, beside: int) -> Iterator[Piece]:
    """Takes the parts out of the list, so that nothing else holds them."""
    if parts:
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="default")
        parts.clear()
        frame = pl.DataFrame(pl.from_arrow(table))
        del table
        yield Piece(frame, size, beside)


def _taken(
    run: MappedRun,
    order: str | None,
    stretches: Sequence[Rows],
    columns: Sequence[str],
    sought: Mapping[str, Keys],
    step_bytes: int,
) -> Iterator[pa.Table]:
    """The sought tuples of a run, copied, in steps of so many bytes of the run."""
    # Its schema would keep the whole index alive.
    there = run.table.select([name for name in columns if name in run.table.column_names])
    there = there.replace_schema_metadata(None)
    step = max(1, int(step_bytes / max(1.0, _bytes_of(there) / there.num_rows)))
    ordering = sought.get(order) if order is not None else None
    if ordering is not None and _ascending(run.table.column(order), ordering) is not None:
        # A binary search looks into the blocks between them as little as into those that are left out.
        stretches = [(stretches[0][0], stretches[-1][1])]
    for first, stop in stretches:
        for start in range(first, stop, step):
            rows = _sought_rows(run.table, order, start, min(start + step, stop), sought)
            if rows is None or len(rows):
                # A copy even of all of them: what is mapped has to be let go of.
                every = np.arange(min(step, stop - start)) if rows is None else rows
                yield there.take(pa.array(every + start))
            run.release(step_bytes)


def _sought_rows(
    run: pa.Table, order: str | None, start: int, end: int, sought: Mapping[str, Keys]
) -> Positions | None:
    """Rows, from `start` on, with sought values in every column; None for all."""
    found: Positions | None = None
    for column in sorted(sought, key=lambda name: name != order):
        keys, held = sought[column], run.column(column).slice(start, end - start)
        numbers = _ascending(held, keys) if column == order else None
        if numbers is not None:
            rows = _sorted_matches(numbers, keys.sortable) + held.null_count
        else:
            held = held if found is None else held.take(pa.array(found))
            rows = _matches(pl.Series(pl.from_arrow(held)).cast(keys.values.dtype), keys.values)
        found = rows if found is None else found[rows]
        if not len(found):
            break
    return found


def _ascending(held: pa.ChunkedArray, keys: Keys) -> Numbers | None:
    """An ascending column of a run behind its NULLs, as it lies there.

    None unless its values are whole numbers of the keys' type.
    """
    if held.num_chunks != 1 or not pa.types.is_integer(held.type):
        return None
    numbers: Numbers = held.chunk(0).slice(held.null_count).to_numpy(zero_copy_only=True)
    return numbers if numbers.dtype == keys.sortable.dtype and keys.values.dtype.is_integer() else None


def _sorted_matches(numbers: Numbers, wanted: Numbers) -> Positions:
    """Where ascending numbers are one of the wanted ones, by binary search."""
    if not len(numbers):
        return np.empty(0, dtype=np.int64)
    wanted = wanted[np.searchsorted(wanted, numbers[0]) : np.searchsorted(wanted, numbers[-1], side="right")]
    begins = np.searchsorted(numbers, wanted)
    counts = np.searchsorted(numbers, wanted, side="right") - begins
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows: Positions = np.repeat(begins, counts) + within
    return rows


def _matches(keys: pl.Series, values: pl.Series) -> Positions:
    inside = between(values, keys)
    if inside.is_empty():
        return np.empty(0, dtype=np.int64)
    rows: Positions = keys.is_in(inside.implode()).arg_true().cast(pl.Int64).to_numpy()
    return rows


def _bytes_of(table: pa.Table) -> int:
    """What the rows of a table, a slice perhaps, take once they are read."""
    kinds = pa.types
    views = sum(kinds.is_large_string(f.type) or kinds.is_large_binary(f.type) for f in table.schema)
    size: int = table.nbytes + views * _VIEW_BYTES * table.num_rows
    return size
