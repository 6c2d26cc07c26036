"""Which task of a store a tuple belongs to.

The hash is our own business and part of what a checkpoint means: it must not change with the
version of a library, the process or the machine, and values that are equal in SQL must meet.
Hence numbers are hashed as doubles (1 = 1.0, -0.0 = 0.0, every NaN is one value; bigints beyond
2**53 merely collide), dates as timestamps, and strings by a keyed hash of their UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jobs.storage.key_hash import Tasks, hash_tasks
from optimizer.physical.task_grid import TaskGrid


def spread_tasks(arrivals: pl.Series, tasks: int) -> Tasks:
    """An even placement by arrival numbers alone, which a repeated batch repeats.

    >>> spread_tasks(pl.Series([10, 11, 12, 13]), 4).tolist()
    [2, 3, 0, 1]
    """
    numbers = arrivals.to_numpy()
    return (numbers % tasks).astype(np.int64)


def group_tasks(keys: Sequence[pl.Series], tasks: int) -> Tasks:
    """The task of each row by all of its keys, NULL among them.

    >>> group_tasks([pl.Series([1, None, 1]), pl.Series(["a", "b", "a"])], 7).tolist()[::2]
    [2, 2]
    """
    placed = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        placed = (placed * _SPREADING + hash_tasks(key, _SPREADING)) % (1 << 40)
    return placed % tasks


_SPREADING = 8_191
"""A prime: no number of tasks has a factor in common with it."""


def column_tasks(grids: Sequence[TaskGrid]) -> list[range]:
    """The tasks of every column of a store's grids, one grid's behind the other's.

    >>> [list(tasks) for tasks in column_tasks((TaskGrid(0, 4, 2), TaskGrid(4, 2, 2)))]
    [[0, 2], [1, 3], [4, 5]]
    """
    return [grid.column(number) for grid in grids for number in range(grid.columns)]


def grid_columns(arrivals: pl.Series, grids: Sequence[TaskGrid]) -> Tasks:
    """The column of each tuple, an index of `column_tasks`, whose tasks all hold it.

    Of N tasks, a tuple with arrival number a belongs to the grid that has task a modulo N, and there to that
    task's column. So grids have shares of the tuples as large as their shares of the tasks. In a single grid
    that is column a modulo the number of columns: where that number is halved, every task keeps what it has.

    >>> grid_columns(pl.Series([7, 8]), [TaskGrid(first=0, tasks=4, rows=2)]).tolist()
    [1, 0]
    """
    column_of: list[int] = []
    for grid in grids:
        before = max(column_of, default=-1) + 1
        column_of.extend(before + place % grid.columns for place in range(grid.tasks))
    return np.array(column_of, dtype=np.int64)[spread_tasks(arrivals, len(column_of))]


def grid_parts(
    frame: pl.DataFrame, arrivals: pl.Series, grids: Sequence[TaskGrid], *, probing: bool
) -> list[tuple[range, pl.DataFrame]]:
    """The rows of `frame` with the tasks of a store's grids that they go to.

    A tuple to keep goes to its column's task in every row of one grid, one that probes to all tasks of one
    row of every grid, which together hold every tuple once.

    >>> frame, grids = pl.DataFrame({"a": [7]}), [TaskGrid(first=0, tasks=6, rows=2)]
    >>> [list(to) for to, _ in grid_parts(frame, frame["a"], grids, probing=False)]
    [[1, 4]]
    >>> [list(to) for to, _ in grid_parts(frame, frame["a"], grids, probing=True)]
    [[3, 4, 5]]
    """
    if probing:
        return [
            (grid.row(number), part)
            for grid in grids
            for number, part in split(frame, spread_tasks(arrivals, grid.rows), grid.rows)
        ]
    columns = column_tasks(grids)
    parts = split(frame, grid_columns(arrivals, grids), len(columns))
    return [(columns[number], part) for number, part in parts]


def split(frame: pl.DataFrame, placed: Tasks, tasks: int) -> list[tuple[int, pl.DataFrame]]:
    """The rows of each task that has any, in their order, by task."""
    if frame.is_empty():
        return []
    if tasks == 1:
        return [(0, frame)]
    # Radix sort: numpy's for small integers is linear.
    order = np.argsort(placed.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(placed, minlength=tasks))
    sorted_frame = frame[order]
    parts = []
    start = 0
    for task, end in enumerate(ends.tolist()):
        if end > start:
            parts.append((task, sorted_frame.slice(start, end - start)))
        start = end
    return parts
