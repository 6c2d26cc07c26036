"""A grid's tuples in another shape, moving only what must move (Squall, section 4.2.1).

A grid keeps a tuple with arrival number a in all tasks t with t = a modulo its columns. So if one number
of columns divides the other, every task holds what it needs already, or some of it:

- fewer columns, more copies: a task keeps its runs as they are, and gets copies of those of the tasks
  whose columns become one with its own;
- more columns: a task keeps that part of its tuples which still is its own, and nothing is sent;
- one task into four (section 4.2.2, elasticity): N tasks become 4N, rows and columns both double.
  The new tasks take theirs from the old one of the same number modulo N.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from jobs.message import ARRIVAL
from jobs.routing import grid_columns
from jobs.runs import RunRef, StateRoot, new_attempt, run_path
from jobs.store import run_figures
from optimizer.graph import GraphStore, Grid


@dataclass(frozen=True, slots=True)
class Migrated:
    """The runs in the new shape, and tuples by what became of them, copies counted."""

    runs: tuple[RunRef, ...]
    kept: int
    """Still in the task where they were."""
    sent: int
    """Copied into another task."""
    discarded: int
    """Left where nobody needs them any longer."""


def can_migrate(held: GraphStore, wanted: GraphStore) -> bool:
    """True if both are grids of the same content whose shapes fit into each other."""
    at_random = all(s.partitioning is None or isinstance(s.partitioning, Grid) for s in (held, wanted))
    if not at_random or held.inputs != wanted.inputs:
        return False
    columns, others = held.tasks // held.copies, wanted.tasks // wanted.copies
    if wanted.tasks == held.tasks:
        return others % columns == 0 or columns % others == 0
    return wanted.tasks % held.tasks == 0 and others % columns == 0


def migrate(
    root: StateRoot,
    runs: Sequence[RunRef],
    held: GraphStore,
    wanted: GraphStore,
    times: Sequence[str],
    batch: int,
) -> Migrated:
    """Arrange a grid's runs as another grid.

    Args:
        runs: of `held`, which is of no use any longer: a run that stays where it is changes its store.
        wanted: for which `can_migrate` holds.
        times: the event-time columns of its inputs.
        batch: the first batch that will use them.
    """
    columns, others = held.tasks // held.copies, wanted.tasks // wanted.copies
    attempt = new_attempt()
    by_task: dict[int, list[RunRef]] = defaultdict(list)
    for run in runs:
        by_task[run.partition].append(run)
    made: list[RunRef] = []
    kept = sent = 0
    for task in range(wanted.tasks):
        own = task % held.tasks
        # The tasks of the same row whose columns become one, this one's among them.
        beside = [own - own % columns + c for c in range(columns) if c % others == task % others]
        sources = beside if others <= columns else [own]
        for source in sources:
            for number, run in enumerate(by_task[source]):
                if source == task and others <= columns:
                    made.append(replace(run, store=wanted.id))
                    kept += run.rows
                    continue
                frame = root.read(run)
                if others > columns:
                    mine = grid_columns(frame[ARRIVAL], wanted.tasks, wanted.copies)
                    frame = frame.filter(pl.Series(mine == task % others))
                if frame.is_empty():
                    continue
                path = run_path(wanted.id, task, batch, 0, attempt, f"from{source:05d}-{number:05d}")
                made.append(root.write(run_figures(wanted, times, task, path, frame), frame))
                if source == task:
                    kept += frame.height
                else:
                    sent += frame.height
    return Migrated(tuple(made), kept, sent, sum(run.rows for run in runs) - kept)
