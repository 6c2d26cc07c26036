"""The coordinator, a live job's or a replay's: decides plans and hears of batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from jobs.driver.batch_totals import Gathered
from jobs.recovery.checkpoint import Change
from jobs.recovery.manifest import Manifest
from jobs.sources.planner import PlannedBatch
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class Trouble:
    """That a batch failed, and failed again on the same tuples."""

    batch: int
    change: Change
    error: str
    """What it failed with, on one line."""
    set_aside: Mapping[str, int]
    """Tuples by stream that it fails with; empty while they are searched for."""


@dataclass(frozen=True, slots=True)
class Outage:
    """That a batch cannot be worked on while a server is away."""

    batch: int
    change: Change
    reason: str
    """Which server, and what it was asked for, on one line."""
    tries: int
    """How often the batch was tried so far; at least once."""


@dataclass(frozen=True, slots=True)
class Excess:
    """A batch given up because steps of its plan made too much or queries fail."""

    batch: int
    change: Change
    too_many: Mapping[str, int]
    """By probe rule, how many combinations it had come to."""
    most: int
    """How many a step may make; zero if no step made too many."""
    failed: Mapping[str, str]
    """By query, what it fails with, on one line."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A batch that has just become final."""

    manifest: Manifest
    graph: PhysicalGraph
    change: Change
    gathered: Gathered
    backlog: int | None
    seconds: float
    switched: bool
    """True for the first batch under its plan."""
    trouble: Trouble | None = None
    """What was set aside of it; None if nothing was."""


class Stopping(Exception):
    """Raised instead of working on a batch while the topology is being stopped."""


class Coordinator(Protocol):
    """Decides plans and hears of batches for the thread that works on them.

    What it raises ends the topology.
    """

    def plan_of(self, planned: PlannedBatch) -> Change:
        """The plan change under which a batch begins, always the same for the same batch."""
        ...

    def batch_failed(self, trouble: Trouble) -> None:
        """Hear that a batch is searched for the tuples that it fails with."""
        ...

    def batch_waits(self, outage: Outage) -> None:
        """Let some time pass before a batch is tried again, and say why.

        Raises `Stopping` instead while the topology is being stopped.
        """
        ...

    def batch_given_up(self, excess: Excess) -> Change | None:
        """The newer change under which to work on a batch again; None to end the topology.

        A process that dies meanwhile begins with the old change again, comes to the same end and asks again.
        """
        ...

    def batch_committed(self, committed: Committed) -> None:
        """Hear that a batch is final.

        Unlike its manifest, this may be lost with the process.
        """
        ...
