"""Numbers of tasks that follow a load without moving a stored tuple.

Under another number of tasks nearly every tuple belongs elsewhere. What a store holds already stays where it
lies all the same, new tuples are placed under the new number alone, and a probe asks under each number of
which tuples are left, until the last of them has expired. A stored tuple is in one task and a probe goes to a
task once, so each pair meets once, as if there were one layout.

That takes a store that forgets, and one whose tuples a key or chance has placed. The runs tell when a number
has had its time, because arrival numbers only grow: what was placed under it is older than a certain one.

Source: AJoin (Karimov, Rabl, Markl, PVLDB 13(4), 2019), section 6, horizontal scaling. There tuples carry
their place under both numbers for the longest window, here only probes go to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from jobs.partitioning.slices import Held
from jobs.storage.key_hash import Tasks, hash_tasks
from jobs.storage.run import RunRef
from optimizer.algebra.expression import Column
from optimizer.physical.graph import GraphStore

MOST_OLDER = 2
"""Older numbers of tasks that a store may have at once. With more of them each probe would be sent so often
that moving what is stored costs less."""


@dataclass(frozen=True, slots=True)
class Older:
    """A number of tasks that a store had before."""

    tasks: int
    until_arrival: int
    """Above the arrival numbers of all tuples that were placed under it."""


@dataclass(frozen=True, slots=True)
class Rescaling:
    """The numbers of tasks under which a store's tuples lie, besides its own."""

    older: tuple[Older, ...] = ()
    """Each number once, the one used last at the end."""

    def counts(self, store: GraphStore) -> tuple[int, ...]:
        """All numbers of tasks under which to ask, the store's own first."""
        return (store.tasks, *(older.tasks for older in self.older))

    def continued(self, store: GraphStore, held: Held) -> Rescaling | None:
        """The numbers of the next batch without those that have had their time, or None."""
        living = self.living([run for run in held.runs if run.store == store.id])
        return living if living.older else None

    def living(self, runs: Sequence[RunRef]) -> Rescaling:
        """The numbers of tasks under which runs of the store still hold tuples.

        >>> Rescaling((Older(4, until_arrival=100),)).living([])
        Rescaling(older=())
        """
        oldest = min((run.min_arrival for run in runs), default=None)
        if oldest is None:
            return Rescaling()
        return Rescaling(tuple(older for older in self.older if oldest < older.until_arrival))


def taken_over(
    held: GraphStore, rescaling: Rescaling, wanted: GraphStore, runs: Sequence[RunRef]
) -> Rescaling | None:
    """How a new store can have an old one's tuples where they lie; None if it cannot.

    They can stay if both place tuples by the same column, or both at random, or if all of them are in one
    task, whatever has placed them there.

    Args:
        held: a base store, of no use any longer, with all that `wanted` needs.
        rescaling: the older numbers of tasks of `held`.
        wanted: the store that follows it.
        runs: of `held`.
    """
    by_key_or_chance = all(isinstance(s.partitioning, Column | None) for s in (held, wanted))
    # What never expires would lie under the older number for ever.
    if not by_key_or_chance or wanted.key or not wanted.retention[0].is_bounded:
        return None
    before = rescaling.living(runs).older
    if held.partitioning != wanted.partitioning and (before or held.tasks > 1):
        return None
    older = [o for o in before if o.tasks not in (held.tasks, wanted.tasks)]
    if runs and held.tasks != wanted.tasks:
        older.append(Older(held.tasks, max(run.max_arrival for run in runs) + 1))
    return Rescaling(tuple(older)) if len(older) <= MOST_OLDER else None


def rescaling_of(layout: object) -> Rescaling:
    """The older numbers of tasks under which a store's tuples lie."""
    return layout if isinstance(layout, Rescaling) else Rescaling()


def asked_tasks(keys: pl.Series, counts: Sequence[int]) -> tuple[npt.NDArray[np.int64], Tasks]:
    """Per key (positions, ascending), the tasks to ask under several numbers of tasks.

    >>> rows, tasks = asked_tasks(pl.Series([7, 8]), (1, 1))
    >>> rows.tolist(), tasks.tolist()
    ([0, 1], [0, 0])
    """
    placed = [hash_tasks(keys, count) for count in counts]
    rows, tasks = [np.arange(len(keys))], [placed[0]]
    for number, more in enumerate(placed[1:], start=1):
        elsewhere = np.flatnonzero(np.all([more != known for known in placed[:number]], axis=0))
        rows.append(elsewhere)
        tasks.append(more[elsewhere])
    every = np.concatenate(rows)
    order = np.argsort(every, kind="stable")
    return every[order], np.concatenate(tasks)[order]


def in_first_copy(store: GraphStore, task: int) -> bool:
    """True of tasks that hold a store's tuples once: all, unless it keeps copies.

    Tuples that lie under an older number of tasks may be beyond the store's own.
    """
    return store.copies == 1 or task in store.first_copy
