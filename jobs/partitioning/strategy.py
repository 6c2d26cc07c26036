"""What a partitioning strategy decides: tasks that keep tuples, tasks to probe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

import polars as pl

from jobs.partitioning.rescaling import Rescaling
from jobs.partitioning.slices import Layout, Numbers
from jobs.storage.memory_budget import Limit
from jobs.storage.run import RunRef, StateRoot
from optimizer.physical.graph import GraphStore

Parts: TypeAlias = Sequence[tuple[Sequence[int], pl.DataFrame]]
"""Rows, in their order, and the tasks that all of them go to; rows that go nowhere are in no part."""
Reach: TypeAlias = tuple[Numbers, Numbers | None]
"""The oldest and the newest event time that each row's partners may have, inclusive; None without a limit."""


@dataclass(frozen=True, slots=True)
class Arriving:
    """Tuples on their way to a store, and what a strategy may ask of them."""

    rows: pl.DataFrame
    """With all columns by which they may be placed."""
    sent: pl.DataFrame
    """The same rows, with the columns that travel."""
    key: str | None = None
    """The column that equals the store's own; None if none is known to."""
    time: str | None = None
    """The column with the event time under which they are kept."""
    reach: Callable[[], Reach] | None = None
    """Of tuples that probe."""


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A store of the plan before, whose tuples go to a new one and to no other."""

    store: GraphStore
    rescaling: Rescaling
    runs: Sequence[RunRef]
    root: StateRoot
    limit: Limit | None
    """What may be in memory of its runs at once; None for any amount."""
    times: Sequence[str]
    """The event-time columns of its inputs."""
    batch: int
    """The first that will use the new store."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """A new store's runs, and tuples by what became of them, copies counted."""

    runs: tuple[RunRef, ...]
    kept: int
    """Still in the task where they were."""
    sent: int = 0
    """Copied into another task."""
    discarded: int = 0
    """Left where nobody needs them any longer."""
    layout: Rescaling | None = None
    """None for that with which its partitioning begins."""


class Partitioning(Protocol):
    """How a store's tuples lie over its tasks in one batch; equal ones place alike."""

    migrate_from: ClassVar[tuple[Callable[[Predecessor, GraphStore], Migrated | None], ...]] = ()
    """How a store may take over runs, the cheapest way first; None of one that does not fit the two."""

    def place(self, tuples: Arriving) -> Parts:
        """Where to keep tuples; in several tasks those that are kept in copies."""
        ...

    def targets(self, probes: Arriving) -> Parts:
        """Which tasks to ask: together they hold every tuple that a probe may find, once."""
        ...

    def probed_by(self, key: str | None) -> Partitioning:
        """As which partitioning probes see it that know this key."""
        return self

    def probes_apart(self) -> bool:
        """True if probes go elsewhere than tuples to keep do."""
        return True

    def counted_in(self, task: int, arrived: Arriving, *, probing: bool) -> int:
        """The tuples that arrived in a task and that it counts: one of a tuple's copies."""
        ...

    def first_layout(self) -> Layout | None:
        """What manifests remember of it; None if plans say all of it."""
        return None
