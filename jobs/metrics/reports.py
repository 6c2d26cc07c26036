"""What tasks report to the driver."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.metrics.tally import Tally
from jobs.recovery.manifest import OutputFile
from jobs.storage.run import RunRef


@dataclass(frozen=True, slots=True)
class Tail:
    """Newest results of one query from one leaf in one task, and how each came about."""

    table: pa.Table
    arrivals: tuple[int, ...]
    rule: str
    times: pa.Table
    """As in `jobs.plan.tuples.Result`."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Results of one query from one task."""

    rows: int
    arrivals: npt.NDArray[np.int64]
    """The completing tuples' arrival numbers; a systematic sample if there are many."""
    tail: tuple[Tail, ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """When the tuples of one descriptor arrived at their source."""

    base: int
    """The first tuple's arrival number; tuple i has `base + i`."""
    starts: npt.NDArray[np.int64]
    """Positions at which the time changes, ascending, from 0."""
    at_ms: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task did at one level of one stage; level 0 is ingestion."""

    level: int
    task: int
    seconds: float
    counts: Tally
    files: tuple[OutputFile, ...]
    answers: dict[str, Answers]
    added: tuple[RunRef, ...]
    dropped: tuple[RunRef, ...]
    rules: dict[str, int]
    """Tuples that each source or probe rule produced."""
    fetched_bytes: int = 0
    """Of runs from other hosts."""
    dead: pa.Table | None = None
    """The newest dead letters, with the columns of `DEAD_LETTERS`; None if there are none."""
    too_many: dict[str, int] = field(default_factory=dict)
    """As in `level.Worked`."""
    resident_bytes: int = 0
    """The most that was in memory of the stores at one moment; zero without a limit, when nobody knows."""
    stage: int = 0
    """See `jobs.plan.stage_fusion`; 0 is ingestion."""
    arrived: tuple[Arrived, ...] = ()
    cpu_us: int = 0
    """Processor time of the task's process for it, microseconds; what elements took is a part of it."""
