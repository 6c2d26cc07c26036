"""Tuples placed in grids of tasks: kept in a column of one grid, asked for in a row of each (Squall)."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.partitioning.grid import reshape
from jobs.partitioning.hashing import grid_parts
from jobs.partitioning.strategy import Arriving, Partitioning, Parts
from jobs.plan.tuples import ARRIVAL
from optimizer.physical.task_grid import TaskGrid


@dataclass(frozen=True, slots=True)
class InGrids(Partitioning):
    grids: tuple[TaskGrid, ...]
    migrate_from = (reshape,)

    def place(self, tuples: Arriving) -> Parts:
        return grid_parts(tuples.sent, tuples.rows[ARRIVAL], self.grids, probing=False)

    def targets(self, probes: Arriving) -> Parts:
        return grid_parts(probes.sent, probes.rows[ARRIVAL], self.grids, probing=True)

    def counted_in(self, task: int, arrived: Arriving, *, probing: bool) -> int:
        """A tuple to keep counts in the first row of its grid, a probe in the first column of the first."""
        counts = self.grids[0].column(0) if probing else [t for grid in self.grids for t in grid.row(0)]
        return arrived.rows.height if task in counts else 0
