"""Partitioning by slices of event time.

A tuple is kept in its slice's task; a probe asks the tasks of a stretch of slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from jobs.partitioning.hashing import split
from jobs.partitioning.slices import Layout, Touched, slice_numbers, touched
from jobs.partitioning.strategy import Arriving, Partitioning, Parts
from jobs.plan.tuples import EVERY_TASK


@dataclass(frozen=True, slots=True)
class InSlices(Partitioning):
    """Keeps a tuple in the task of its slice of event time.

    >>> from jobs.partitioning.slices import Segment
    >>> layout = Layout((Segment(0, 25, 0),), 25)
    >>> rows = pl.DataFrame({"at": [0, 24, 25, 50]})
    >>> tuples = Arriving(rows, rows, time="at")
    >>> [(tuple(to), part["at"].to_list()) for to, part in InSlices(layout, 2).place(tuples)]
    [((0,), [0, 24, 50]), ((1,), [25])]
    """

    layout: Layout
    tasks: int

    def place(self, tuples: Arriving) -> Parts:
        assert tuples.time is not None
        numbers = slice_numbers(self.layout, tuples.rows[tuples.time].cast(pl.Int64).to_numpy())
        parts = split(tuples.sent, numbers % self.tasks, self.tasks)
        return [((task,), part) for task, part in parts]

    def targets(self, probes: Arriving) -> Parts:
        """Every task with a slice that a probe's windows touch, perhaps none."""
        if probes.rows.is_empty():
            return []
        found = self._touched(probes)
        if found.everywhere:
            return [((EVERY_TASK,), probes.sent)]
        parts = [((t,), probes.sent.filter(pl.Series(found.in_task(t)))) for t in range(self.tasks)]
        return [(task, part) for task, part in parts if part.height]

    def counted_in(self, task: int, arrived: Arriving, *, probing: bool) -> int:
        return self._touched(arrived).counted_in(task) if probing else arrived.rows.height

    def first_layout(self) -> Layout:
        return self.layout

    def _touched(self, probes: Arriving) -> Touched:
        assert probes.reach is not None
        return touched(self.layout, *probes.reach(), self.tasks)
