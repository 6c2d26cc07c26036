"""Reshape grids and move only the tuples that must move (Squall, section 4.2.1).

A grid keeps a tuple with arrival number a in all tasks t with t = a modulo its columns. So if one number
of columns divides the other, every task holds what it needs already, or some of it:

- fewer columns, more copies: a task keeps its runs as they are, and gets copies of those of the tasks
  whose columns become one with its own;
- more columns: a task keeps that part of its tuples which still is its own, and nothing is sent;
- one task into four (section 4.2.2, elasticity): N tasks become 4N, rows and columns both double.
  The new tasks take theirs from the old one of the same number modulo N.

Of several grids each does so by itself, because a tuple stays in its grid while the number of tasks is the
same. Their columns are powers of two, so one number always divides the other. A store whose tuples lie
anywhere, once, has them where grids of one row each would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from jobs.partitioning.hashing import column_tasks, grid_columns
from jobs.partitioning.strategy import Migrated, Predecessor
from jobs.plan.tuples import ARRIVAL
from jobs.storage.partition import run_figures
from jobs.storage.run import RunRef, StateRoot, new_attempt, run_path
from optimizer.physical.graph import GraphStore, Grid, Grids
from optimizer.physical.task_grid import TaskGrid, task_grids


def can_migrate(held: GraphStore, wanted: GraphStore) -> bool:
    """True if both are grids of the same content whose shapes fit into each other."""
    at_random = all(
        s.partitioning is None or isinstance(s.partitioning, Grid | Grids) for s in (held, wanted)
    )
    if not at_random or held.inputs != wanted.inputs:
        return False
    pairs = _pairs(held, wanted)
    if wanted.tasks == held.tasks:
        return bool(pairs) and all(
            new.columns % old.columns == 0 or old.columns % new.columns == 0 for old, new in pairs
        )
    return len(pairs) == 1 and all(
        new.tasks % old.tasks == 0 and new.columns % old.columns == 0 for old, new in pairs
    )


def reshape(old: Predecessor, wanted: GraphStore) -> Migrated | None:
    """Move what another shape needs elsewhere.

    Tuples under older numbers of tasks are in no shape.
    """
    if old.limit is not None or old.rescaling.older or not can_migrate(old.store, wanted):
        return None
    return migrate(old.root, old.runs, old.store, wanted, old.times, old.batch)


def migrate(
    root: StateRoot,
    runs: Sequence[RunRef],
    held: GraphStore,
    wanted: GraphStore,
    times: Sequence[str],
    batch: int,
) -> Migrated:
    """Arrange the runs of grids as other grids.

    Args:
        runs: of `held`, which is of no use any longer: a run that stays where it is changes its store.
        wanted: for which `can_migrate` holds.
        times: the event-time columns of its inputs.
        batch: the first batch that will use them.
    """
    attempt = new_attempt()
    by_task: dict[int, list[RunRef]] = defaultdict(list)
    for run in runs:
        by_task[run.partition].append(run)
    grids = [new for _, new in _pairs(held, wanted)]
    column_of = {task: number for number, tasks in enumerate(column_tasks(grids)) for task in tasks}
    made: list[RunRef] = []
    kept = sent = 0
    for old, new in _pairs(held, wanted):
        grows = old.columns < new.columns
        for task in range(new.first, new.after):
            for source in _sources(old, new, task):
                for number, run in enumerate(by_task[source]):
                    if source == task and not grows:
                        made.append(replace(run, store=wanted.id))
                        kept += run.rows
                        continue
                    frame = root.read(run)
                    if grows:
                        mine = grid_columns(frame[ARRIVAL], grids) == column_of[task]
                        frame = frame.filter(pl.Series(mine))
                    if frame.is_empty():
                        continue
                    path = run_path(wanted.id, task, batch, 0, attempt, f"from{source:05d}-{number:05d}")
                    made.append(root.write(run_figures(wanted, times, task, path, frame), frame))
                    if source == task:
                        kept += frame.height
                    else:
                        sent += frame.height
    return Migrated(tuple(made), kept, sent, sum(run.rows for run in runs) - kept)


def _sources(old: TaskGrid, new: TaskGrid, task: int) -> list[int]:
    """Tasks of one row that together hold what a task of the new grid is to keep."""
    place = task - new.first
    own = old.first + place % old.tasks
    if old.columns < new.columns:
        return [own]
    # The tasks of the same row whose columns become one, this one's among them.
    row = old.row((own - old.first) // old.columns)
    return [row[column] for column in range(place % new.columns, old.columns, new.columns)]


def _pairs(held: GraphStore, wanted: GraphStore) -> tuple[tuple[TaskGrid, TaskGrid], ...]:
    """Each old grid with the one that takes its place; none where the counts differ."""
    before, after = _split(held, wanted), _split(wanted, held)
    return tuple(zip(before, after, strict=True)) if len(before) == len(after) else ()


def _split(store: GraphStore, other: GraphStore) -> tuple[TaskGrid, ...]:
    """The grids of a store.

    Of tuples that lie anywhere, there are as many of one row as the other store has.
    """
    if store.copies > 1 or store.tasks != other.tasks:
        return store.grids
    return task_grids(store.tasks, (1,) * len(other.grids))
