"""Grid partitioning: tuples kept in a column of tasks, probes sent to a row.

Squall: a tuple is kept in a column of one grid, and asked for in a row of each.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.partitioning.grid import reshape
from jobs.partitioning.hashing import grid_parts
from jobs.partitioning.strategy import Arriving, Partitioning, Parts
from jobs.plan.tuples import ARRIVAL
from optimizer.physical.task_grid import TaskGrid


@dataclass(frozen=True, slots=True)
class InGrids(Partitioning):
    """Keeps a tuple in a column of one grid, and sends a probe to a row of each.

    >>> import polars as pl
    >>> rows = pl.DataFrame({ARRIVAL: [7]})
    >>> strategy, tuples = InGrids((TaskGrid(first=0, tasks=6, rows=2),)), Arriving(rows, rows)
    >>> [list(to) for to, _ in strategy.place(tuples)], [list(to) for to, _ in strategy.targets(tuples)]
    ([[1, 4]], [[3, 4, 5]])
    """

    grids: tuple[TaskGrid, ...]
    migrate_from = (reshape,)

    def place(self, tuples: Arriving) -> Parts:
        return grid_parts(tuples.sent, tuples.rows[ARRIVAL], self.grids, probing=False)

    def targets(self, probes: Arriving) -> Parts:
        return grid_parts(probes.sent, probes.rows[ARRIVAL], self.grids, probing=True)

    def counted_in(self, task: int, arrived: Arriving, *, probing: bool) -> int:
        """Count a stored tuple in its grid's first row, a probe in grid 0's first column."""
        counts = self.grids[0].column(0) if probing else [t for grid in self.grids for t in grid.row(0)]
        return arrived.rows.height if task in counts else 0
