"""Hash partitioning by a column, for a while under several numbers of tasks."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.partitioning.at_random import AtRandom, stay
from jobs.partitioning.hashing import split
from jobs.partitioning.rescaling import asked_tasks
from jobs.partitioning.strategy import Arriving, Partitioning, Parts
from jobs.storage.key_hash import hash_tasks


@dataclass(frozen=True, slots=True)
class ByKey(Partitioning):
    """Places a tuple by the hash of its key, and sends a probe to the same task.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"k": [1, 2, 1]})
    >>> strategy, tuples = ByKey((4,)), Arriving(rows, rows, key="k")
    >>> [part["k"].to_list() for _, part in strategy.place(tuples)]
    [[2], [1, 1]]
    >>> [tuple(to) for to, _ in strategy.place(tuples)] == [tuple(to) for to, _ in strategy.targets(tuples)]
    True
    """

    counts: tuple[int, ...]
    """Numbers of tasks under which tuples lie, the store's own first: see `jobs.partitioning.rescaling`."""
    migrate_from = (stay,)

    def place(self, tuples: Arriving) -> Parts:
        tasks = self.counts[0]
        if tasks == 1:
            return [((0,), tuples.sent)] if tuples.sent.height else []
        assert tuples.key is not None, "the sender knows by what it places"
        parts = split(tuples.sent, hash_tasks(tuples.rows[tuples.key], tasks), tasks)
        return [((task,), part) for task, part in parts]

    def targets(self, probes: Arriving) -> Parts:
        """The task of a probe's key under each number."""
        if len(self.counts) == 1:
            return self.place(probes)
        assert probes.key is not None, "others see it as `AtRandom`"
        asking, placed = asked_tasks(probes.rows[probes.key], self.counts)
        return [((task,), part) for task, part in split(probes.sent[asking], placed, max(self.counts))]

    def probed_by(self, key: str | None) -> Partitioning:
        """Who does not know the key asks every task."""
        return AtRandom(self.counts) if key is None else self

    def probes_apart(self) -> bool:
        return len(self.counts) > 1

    def counted_in(self, task: int, arrived: Arriving, *, probing: bool) -> int:
        if not probing or arrived.key is None or not self.probes_apart():
            return arrived.rows.height
        return int((hash_tasks(arrived.rows[arrived.key], self.counts[0]) == task).sum())
