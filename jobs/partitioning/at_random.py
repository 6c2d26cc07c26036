"""Tuples placed evenly by their arrival numbers, so that probes ask every task."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobs.partitioning.grid import reshape
from jobs.partitioning.hashing import split, spread_tasks
from jobs.partitioning.rescaling import taken_over
from jobs.partitioning.strategy import Arriving, Migrated, Partitioning, Parts, Predecessor
from jobs.plan.tuples import ARRIVAL, EVERY_TASK
from optimizer.physical.graph import GraphStore


def stay(old: Predecessor, wanted: GraphStore) -> Migrated | None:
    """Leave tuples where they lie, and ask for them there."""
    rescaling = taken_over(old.store, old.rescaling, wanted, old.runs)
    if rescaling is None:
        return None
    runs = tuple(replace(run, store=wanted.id) for run in old.runs)
    return Migrated(runs, sum(run.rows for run in runs), layout=rescaling)


@dataclass(frozen=True, slots=True)
class AtRandom(Partitioning):
    """Places tuples evenly by their arrival numbers, and sends a probe to every task.

    >>> import polars as pl
    >>> rows = pl.DataFrame({ARRIVAL: [4, 5, 6]})
    >>> tuples = Arriving(rows, rows)
    >>> [(tuple(to), part[ARRIVAL].to_list()) for to, part in AtRandom((2,)).place(tuples)]
    [((0,), [4, 6]), ((1,), [5])]
    >>> [tuple(to) == (EVERY_TASK,) for to, _ in AtRandom((2,)).targets(tuples)]
    [True]
    """

    counts: tuple[int, ...]
    """As in `ByKey`."""
    migrate_from = (stay, reshape)

    def place(self, tuples: Arriving) -> Parts:
        tasks = self.counts[0]
        if tasks == 1:
            return [((0,), tuples.sent)] if tuples.sent.height else []
        placed = spread_tasks(tuples.rows[ARRIVAL], tasks)
        return [((task,), part) for task, part in split(tuples.sent, placed, tasks)]

    def targets(self, probes: Arriving) -> Parts:
        """Every task, under the largest of several numbers of tasks.

        >>> import polars as pl
        >>> found = AtRandom((2, 3)).targets(Arriving(pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]})))
        >>> [list(tasks) for tasks, _ in found]
        [[0, 1, 2]]
        """
        everyone = (EVERY_TASK,) if len(self.counts) == 1 else range(max(self.counts))
        return [(everyone, probes.sent)] if probes.sent.height else []

    def counted_in(self, task: int, arrived: Arriving, *, probing: bool) -> int:
        """A probe asks every task and counts in the first."""
        return 0 if probing and task else arrived.rows.height
