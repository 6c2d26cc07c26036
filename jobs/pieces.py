"""A store's tuples a bounded number of bytes at a time.

Under a memory limit a probe does not see a store as a whole but in pieces, one after the other: a join
distributes over the parts of one side. The runs' files are mapped step by step, in the blocks where the keys
that are sought can be, and unmapped again. In every step only the columns of keys are read; the others are
where a tuple has keys that are sought. So what is resident is bounded whatever the runs' sizes, and what is
read from the disk follows what the probe needs and not what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from jobs.blocks import Rows, RunIndex, between
from jobs.runs import RunRef, StateRoot

_VIEW_BYTES = 16
"""What Polars adds to every text or binary value that it reads from Arrow."""


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
    """
    step_bytes = most_bytes // 2
    parts: list[pa.Table] = []
    held = beside = 0
    for run in runs:
        mapped = root.map(run)
        known = RunIndex(run.rows, mapped.schema.metadata)
        left = known.matching(sought)
        index_bytes = known.bytes
        del known
        while left:
            taken, left = _step(mapped, columns, sought, left, step_bytes)
            parts += taken
            held += sum(map(_bytes_of, taken))
            del taken
            beside = max(beside, index_bytes + step_bytes)
            if held >= step_bytes:
                del mapped
                yield from _piece(parts, held, beside)
                held = beside = 0
            if left:
                # What was touched of the run leaves memory with its mapping.
                mapped = root.map(run)
    yield from _piece(parts, held, beside)


def _piece(parts: list[pa.Table], size: int, beside: int) -> Iterator[Piece]:
    """Takes the parts out of the list, so that nothing else holds them."""
    if parts:
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="default")
        parts.clear()
        frame = pl.DataFrame(pl.from_arrow(table))
        del table
        yield Piece(frame, size, beside)


def _step(
    run: pa.Table,
    columns: Sequence[str],
    sought: Mapping[str, pl.Series],
    wanted: Sequence[Rows],
    most_bytes: int,
) -> tuple[list[pa.Table], list[Rows]]:
    """The tuples among the first of the wanted rows, as many as fit whatever they hold, and the rows left."""
    # Its schema would keep the whole index alive.
    there = run.select([name for name in columns if name in run.column_names]).replace_schema_metadata(None)
    width = max(1.0, _bytes_of(there) / max(1, there.num_rows))
    taken: list[pa.Table] = []
    left = list(wanted)
    room = max(1, int(most_bytes / width))
    while left and room > 0:
        start, stop = left.pop(0)
        end = min(stop, start + room)
        room -= end - start
        if end < stop:
            left.insert(0, (end, stop))
        part = there.slice(start, end - start)
        rows = _sought_rows(run, start, end, sought)
        if rows is None:
            taken.append(part)
        elif len(rows):
            taken.append(part.take(pa.array(rows)))
    return taken, left


def _sought_rows(
    run: pa.Table, start: int, end: int, sought: Mapping[str, pl.Series]
) -> npt.NDArray[np.int64] | None:
    """Which of the rows from `start` on have sought values in every column; None for all."""
    found: pl.Series | None = None
    for column, values in sought.items():
        keys = pl.Series(pl.from_arrow(run.column(column).slice(start, end - start))).cast(values.dtype)
        # In a run in the order of its keys few values can be meant, and the others need not be hashed.
        inside = between(values, keys, keys)
        if inside.is_empty():
            return np.empty(0, dtype=np.int64)
        here = keys.is_in(inside.implode())
        found = here if found is None else found & here
    if found is None or found.all():
        return None
    rows: npt.NDArray[np.int64] = found.arg_true().cast(pl.Int64).to_numpy()
    return rows


def _bytes_of(table: pa.Table) -> int:
    """What the rows of a table, a slice perhaps, take once they are read."""
    views = sum(1 for field in table.schema if _is_text(field.type))
    size: int = table.nbytes + views * _VIEW_BYTES * table.num_rows
    return size


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))
