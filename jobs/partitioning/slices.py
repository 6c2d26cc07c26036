"""Slices of event time: which task holds a tuple, and which a probe asks.

A layout numbers the slices of all event times, from the oldest to the newest, and slice n lies in task n mod
N.
It is a list of segments, each with slices of its own width. So boundaries can move without moving a tuple: a
new segment begins behind the newest event time that was seen, what is stored stays in the slices in which it
lies, and the segments before it are forgotten once nothing of their time is kept. Numbers only grow with
event time, so the slices that a stretch of event time touches are those from its beginning's to its end's.

Source: PSP (Wang, Rundensteiner, EDBT 2009), sections 3 (slices) and 6 (count-based smoothing, and the
passive one of its two ways of relocation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from jobs.plan.event_time import LAST_US, elapsed
from jobs.storage.run import RunRef
from optimizer.physical.graph import GraphStore, Slices

Numbers: TypeAlias = npt.NDArray[np.int64]

LEAST_CHANGE = 0.1
"""Widths that differ by less are the same: arrivals are never quite even."""

MOST_CHANGE = 8.0
"""By what factor, at most, slices are wider or narrower than the plan has them."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Slices of one width, from an event time on until the next segment begins."""

    since_us: int
    """Event time at which the first slice begins, inclusive; the first segment also has all before it."""
    width_us: int
    first: int
    """The number of the slice that begins there."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of a store when a batch begins."""

    runs: Sequence[RunRef]
    """Of all stores."""
    inserted: int
    """Tuples stored since the first batch."""
    newest_us: int | None
    """Newest event time of its stream; None before the first tuple."""
    watermark_us: int | None
    epoch_begins: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """A store's slices, and what was known when they were last looked at."""

    segments: tuple[Segment, ...]
    planned_us: int
    """Width that the plan asked for then."""
    counted: int = 0
    """Tuples stored since the first batch, until then."""
    counted_until_us: int | None = None
    """Newest event time of the stream then; None before the first look."""

    def continued(self, store: GraphStore, held: Held) -> Layout:
        """The layout of the next batch.

        It is looked at again when an epoch begins or the plan asks for another width: then it has the width
        that fits the newest arrivals, for event times that are still to come.
        """
        planned, newest = _planned_us(store), held.newest_us
        if newest is None or (not held.epoch_begins and self.planned_us == planned):
            return self
        assert isinstance(store.partitioning, Slices)
        smoothed = store.partitioning.smoothed
        runs = [run for run in held.runs if run.store == store.id]
        width = self._smoothed_us(planned, held.inserted, newest, runs) if smoothed else planned
        segments = self._unexpired(store, held.watermark_us)
        last = segments[-1]
        # Behind the end of time there is nothing to come.
        if last.since_us <= newest < LAST_US and abs(width - last.width_us) > LEAST_CHANGE * last.width_us:
            first = last.first + (newest - last.since_us) // last.width_us + 1
            segments = (*segments, Segment(newest + 1, width, first))
        return Layout(segments, planned, held.inserted, newest)

    def _smoothed_us(self, planned: int, inserted: int, newest_us: int, held: Sequence[RunRef]) -> int:
        """The width at which a slice now gets as many tuples as planned.

        What is stored per second of its event time, beside what arrived per second since the last look;
        where one of the two is not known yet, the width that was planned.
        """
        if self.counted_until_us is None or not held:
            return planned
        passed, arrived = newest_us - self.counted_until_us, inserted - self.counted
        oldest = min(run.min_times_us[0] for run in held)
        span, rows = max(run.max_times_us[0] for run in held) - oldest, sum(run.rows for run in held)
        if passed <= 0 or arrived <= 0 or span <= 0:
            return planned
        factor = (rows / span) / (arrived / passed)
        return min(LAST_US, max(1, round(planned * min(MOST_CHANGE, max(1.0 / MOST_CHANGE, factor)))))

    def _unexpired(self, store: GraphStore, watermark_us: int | None) -> tuple[Segment, ...]:
        """The segments of event times that may still be stored or asked for.

        Tuples leave in whole runs, late ones may be joined with whatever is still there: twice the
        retention is kept.
        """
        retention = store.retention[0].reach_us
        if watermark_us is None or retention is None:
            return self.segments
        ended = sum(later.since_us <= watermark_us - 2 * retention for later in self.segments[1:])
        return self.segments[ended:]


def first_layout(store: GraphStore) -> Layout:
    """The slices with which a store begins: those of the plan, counted from 1970.

    >>> from optimizer.logical.window import Sliding
    >>> from optimizer.physical.graph import StoredInput
    >>> window = Sliding(100)
    >>> store = GraphStore("S", "r[time/4]", (StoredInput("r", "r", ("at",)),), Slices(4), 3, (window,))
    >>> slice_numbers(first_layout(store), np.array([-1, 0, 24, 25, 100])).tolist()
    [-1, 0, 0, 1, 4]
    """
    width = _planned_us(store)
    return Layout((Segment(0, width, 0),), width)


def slice_numbers(layout: Layout, times_us: Numbers) -> Numbers:
    """The number of each event time's slice, never smaller for a later time."""
    since, widths, firsts = (
        np.array([getattr(segment, name) for segment in layout.segments], dtype=np.int64)
        for name in ("since_us", "width_us", "first")
    )
    which = np.maximum(np.searchsorted(since, times_us, side="right") - 1, 0)
    # Ends of 64 bits take in what is beyond them, so numbers do not fall there either.
    return elapsed(-firsts[which], elapsed(since[which], times_us) // widths[which])


@dataclass(frozen=True, slots=True)
class Touched:
    """Per tuple, the slices in which it may find partners: a stretch of a ring."""

    first: Numbers
    count: Numbers
    """Slices from `first` on; none if the windows exclude each other, and never more than there are tasks."""
    tasks: int

    @property
    def everywhere(self) -> bool:
        """True if every tuple goes to every task."""
        return bool((self.count >= self.tasks).all())

    def in_task(self, task: int) -> npt.NDArray[np.bool_]:
        """Which tuples go to a task."""
        return (task - self.first % self.tasks) % self.tasks < self.count

    def counted_in(self, task: int) -> int:
        """The tuples that a task counts of those that reach it, each in one task only."""
        return int(np.count_nonzero((self.first % self.tasks == task) & (self.count > 0)))


def touched(layout: Layout, oldest_us: Numbers, newest_us: Numbers | None, tasks: int) -> Touched:
    """The slices between two event times, both inclusive, of each tuple.

    Args:
        oldest_us: the oldest event time that a tuple's partners may have.
        newest_us: the newest one; None if there is no limit.
        tasks: of the store.
    """
    first = slice_numbers(layout, oldest_us)
    if newest_us is None:
        return Touched(first, np.full(len(first), tasks, dtype=np.int64), tasks)
    last = slice_numbers(layout, newest_us)
    return Touched(first, np.clip(elapsed(first, last), -1, tasks - 1) + 1, tasks)


def _planned_us(store: GraphStore) -> int:
    assert isinstance(store.partitioning, Slices)
    return min(LAST_US, store.partitioning.width_us(store.retention[0]))
