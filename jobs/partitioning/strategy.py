"""Declare what a partitioning strategy decides about a store's tasks.

It says in which tasks tuples are kept, and in which probes look for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import polars as pl

from jobs.partitioning.slices import Numbers

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


class Partitioning(Protocol):
    """How the tuples of a store lie over its tasks in one batch.

    Equal ones place tuples alike.
    """

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
        """The tuples that a task counts, of those that arrived there.

        Of a tuple's copies one counts.
        """
        ...
