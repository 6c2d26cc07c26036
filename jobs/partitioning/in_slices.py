"""Tuples placed by slices of event time: kept in the task of their slice, asked for in those of a stretch."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from jobs.partitioning.hashing import split
from jobs.partitioning.slices import Layout, Touched, slice_numbers, touched
from jobs.partitioning.strategy import Arriving, Partitioning, Parts
from jobs.plan.tuples import EVERY_TASK


@dataclass(frozen=True, slots=True)
class InSlices(Partitioning):
    layout: Layout
    tasks: int

    def place(self, tuples: Arriving) -> Parts:
        assert tuples.time is not None
        numbers = slice_numbers(self.layout, tuples.rows[tuples.time].cast(pl.Int64).to_numpy())
        parts = split(tuples.sent, numbers % self.tasks, self.tasks)
        return [((task,), part) for task, part in parts]

    def targets(self, probes: Arriving) -> Parts:
        """Every task that has a slice which a probe's windows touch, and none if they exclude each other."""
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
