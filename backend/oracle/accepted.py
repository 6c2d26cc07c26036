"""The tuples of a stretch that a job accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from backend.oracle.span import BeyondReach, CannotCheck, Stretch
from backend.streams.retained import arrived
from optimizer.logical.stream import Stream

BATCH, LATE = "millrace batch", "millrace late"
"""Columns that no registered stream has: theirs have no blanks."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Accepted tuples of a stretch, with the columns BATCH and LATE."""

    table: pa.Table
    times_us: npt.NDArray[np.int64]
    read: int


def accepted(
    stream: Stream,
    stretch: Stretch,
    most: int,
    may_hold: Callable[[object], bool] | None = None,
) -> Accepted:
    """What the job accepted of a stretch.

    A tuple is late if it is older than the stream's watermark before its batch, and the job tells how
    many of a batch were: they are the oldest ones, whatever the watermark was. What `drop` turns away is
    left out, what `join` lets in is marked.

    Args:
        stream: whose tuples they are.
        stretch: where they lie.
        most: tuples that are read at most, about.
        may_hold: says of an event's JSON whether it may be wanted; None if all are.
    Raises:
        CannotCheck: they cannot be known.
    """
    # Which ones were late is known of whole batches only.
    whole = {number for number, part in enumerate(stretch.parts) if part.late}
    wanted = None if may_hold is None else lambda number, event: number in whole or may_hold(event)
    found = arrived(stream, stretch.after, stretch.bounds, most, wanted)
    if found is None:
        raise BeyondReach(f"more than {most:,} tuples of {stream.name} arrived in its windows")
    read = found.table.num_rows + sum(found.unreadable) + found.passed_over
    if read < stretch.read:
        raise BeyondReach(
            f"{stretch.read - read:,} of {stretch.read:,} tuples of {stream.name} in its windows are no "
            "longer in Redis"
        )
    aside = sum(part.set_aside for part in stretch.parts)
    if aside:
        # Which ones only their dead letters tell, of which the newest are kept.
        raise CannotCheck(f"{aside:,} tuples of {stream.name} in its windows were set aside")
    times = found.table.column(stream.event_time).cast(pa.int64()).to_numpy()
    late = late_rows(times, found.interval, [part.late for part in stretch.parts])
    table = found.table.append_column(BATCH, pa.array(np.array(stretch.batches, np.int64)[found.interval]))
    table = table.append_column(LATE, pa.array(late))
    if stream.late == "drop":
        table, times = table.filter(pa.array(~late)), times[~late]
    return Accepted(table, times, read)


def late_rows(
    times_us: npt.NDArray[np.int64], interval: npt.NDArray[np.int64], late: Sequence[int]
) -> npt.NDArray[np.bool_]:
    """Marks of the oldest `late[i]` tuples of every interval i.

    >>> late_rows(np.array([5, 3, 4, 1]), np.array([0, 0, 0, 1]), [2, 0]).tolist()
    [False, True, True, False]
    """
    marks = np.zeros(len(times_us), np.bool_)
    for number, many in enumerate(late):
        if many:
            rows = np.flatnonzero(interval == number)
            marks[rows[np.argsort(times_us[rows], kind="stable")[:many]]] = True
    return marks
