"""Which task of a store a tuple belongs to.

The hash is our own business and part of what a checkpoint means: it must not change with the
version of a library, the process or the machine, and values that are equal in SQL must meet.
Hence numbers are hashed as doubles (1 = 1.0, -0.0 = 0.0, every NaN is one value; bigints beyond
2**53 merely collide), dates as timestamps, and strings by a keyed hash of their UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from optimizer.physical.task_grid import TaskGrid

Tasks = npt.NDArray[np.int64]


def hash_tasks(keys: pl.Series, tasks: int) -> Tasks:
    """The task of each key, from 0 to `tasks` - 1; NULL goes to task 0.

    >>> hash_tasks(pl.Series([7, 7]), 4).tolist() == hash_tasks(pl.Series([7.0, 7.0]), 4).tolist()
    True
    """
    if tasks == 1:
        return np.zeros(len(keys), dtype=np.int64)
    hashes = _hashes(keys)
    placed: Tasks = (hashes % np.uint64(tasks)).astype(np.int64)
    if keys.null_count():
        placed[keys.is_null().to_numpy()] = 0
    return placed


def spread_tasks(arrivals: pl.Series, tasks: int) -> Tasks:
    """An even placement that only depends on arrival numbers, so that a repeated batch repeats it."""
    numbers = arrivals.to_numpy()
    return (numbers % tasks).astype(np.int64)


def column_tasks(grids: Sequence[TaskGrid]) -> list[range]:
    """The tasks of every column of a store's grids, one grid's columns behind the other's.

    >>> [list(tasks) for tasks in column_tasks((TaskGrid(0, 4, 2), TaskGrid(4, 2, 2)))]
    [[0, 2], [1, 3], [4, 5]]
    """
    return [grid.column(number) for grid in grids for number in range(grid.columns)]


def grid_columns(arrivals: pl.Series, grids: Sequence[TaskGrid]) -> Tasks:
    """The column of each tuple, an index of `column_tasks`: it lies in all tasks of that column.

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


def _hashes(keys: pl.Series) -> npt.NDArray[np.uint64]:
    dtype = keys.dtype
    if dtype.is_numeric():
        # Adding zero turns -0.0 into 0.0.
        doubles = _filled(keys.cast(pl.Float64)).to_numpy() + 0.0
        if dtype.is_float():
            doubles[np.isnan(doubles)] = np.nan
        return _mix(doubles.view(np.uint64))
    if dtype == pl.Boolean:
        return _mix(_filled(keys.cast(pl.UInt64)).to_numpy())
    if dtype in (pl.Date, pl.Datetime):
        moments = keys.cast(pl.Datetime("us")) if dtype == pl.Date else keys
        return _mix(_filled(moments.cast(pl.Int64)).to_numpy().view(np.uint64))
    if dtype in (pl.String, pl.Binary):
        # Hashing each distinct value once keeps the one slow part proportional to their number.
        distinct = keys.unique()
        # Only here: its import costs every worker 27 MB and a third of a second.
        import pandas as pd

        values = distinct.cast(pl.Binary).fill_null(b"").to_list()
        digests = pd.util.hash_array(np.array(values, dtype=object), categorize=False)
        table = pl.DataFrame({"key": distinct, "hash": digests})
        joined = pl.DataFrame({"key": keys}).join(
            table, on="key", how="left", nulls_equal=True, maintain_order="left"
        )
        hashed: npt.NDArray[np.uint64] = joined["hash"].to_numpy()
        return hashed
    raise TypeError(f"cannot place tuples by a key of type {dtype}")


def _filled(numbers: pl.Series) -> pl.Series:
    """Zero for NULL. Asking first is cheaper: each call of a method like `fill_null` plans a query."""
    return numbers.fill_null(0) if numbers.null_count() else numbers


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, section 3): spreads every input bit."""
    mixed = values ^ (values >> np.uint64(30))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    mixed = mixed ^ (mixed >> np.uint64(27))
    mixed = mixed * np.uint64(0x94D049BB133111EB)
    spread: npt.NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return spread
