"""What a source decides: how far the next batch goes, and which ranges that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pydantic import TypeAdapter

from jobs.sources.connector import AnyDescriptor, Position


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """One batch, as the source's planner hands it to the driver."""

    batch: int
    end: Position
    descriptors: tuple[AnyDescriptor, ...]
    """In order of stream, then of position."""
    ended: tuple[str, ...]
    """Streams that have nothing behind this batch and never will."""
    backlog: int | None
    """Tuples that wait behind this batch; None if the source cannot tell."""
    start: Position = field(default_factory=dict)
    """Where the batch begins."""
    reachable_since_us: int = 0
    """Since when the source has been there without a break, wall clock, microseconds since 1970:
    before that a stream that brought nothing need not have been silent."""
    arrived_by_ms: int | None = None
    """No tuple of the batch arrived later, whatever its source tells; milliseconds since 1970. The same
    whenever the batch is planned; None in a batch that was planned before there was a bound."""

    waiting: tuple[str, ...] | None = None
    """Streams that have tuples behind this batch; None if the source cannot tell."""
    away: bool = False
    """True if a server could not be asked, so that streams without tuples here may have some."""
    in_history: tuple[str, ...] = ()
    """Streams that read what lies before all that comes now: none of them is silent, whatever it brings."""

    @property
    def rows(self) -> dict[str, int]:
        """By stream, how many tuples the batch brings, late and undecodable ones included."""
        found = dict.fromkeys((one.stream for one in self.descriptors), 0)
        for one in self.descriptors:
            found[one.stream] += one.rows
        return found


PLANNED: TypeAdapter[PlannedBatch] = TypeAdapter(PlannedBatch)


class SourcePlanner(Protocol):
    """A source of several streams, seen as one.

    In its positions `batch` counts the batches that lie before, so every batch moves them, also one without
    tuples.
    """

    def initial(self) -> Position: ...

    def advance(self, start: Position) -> Position:
        """The end of the batch that begins at `start`; `start` itself for none."""
        ...

    def planned(self, start: Position, end: Position) -> PlannedBatch:
        """The same descriptors whenever it is asked for the same two positions."""
        ...
