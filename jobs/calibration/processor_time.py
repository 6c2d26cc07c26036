"""The processor time of a plan's batches, worked on in this process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from jobs.driver.batch_protocol import BatchProtocol
from jobs.driver.coordinator import Committed, Excess, Outage, Trouble
from jobs.driver.settings import Settings
from jobs.recovery.checkpoint import Change, Checkpoint, Identity
from jobs.sources.files.stream_files import FileRange
from jobs.sources.planner import PlannedBatch
from jobs.worker.in_process import InProcessExecutor
from optimizer.physical.graph import PhysicalGraph


@dataclass(slots=True)
class TimedTopology:
    """Works on a plan's batches and notes what each took.

    Arguments: the plan; a folder of its own, which gets `results/QUERY/*.parquet`.
    """

    graph: PhysicalGraph
    folder: Path
    seconds: list[float] = field(default_factory=list)
    """Processor time of this process for each batch."""
    committed: list[Committed] = field(default_factory=list)
    _checkpoint: Checkpoint = field(init=False)
    _protocol: BatchProtocol = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        partitions = max((store.tasks for store in self.graph.stores), default=1)
        self._checkpoint = Checkpoint(self.folder / "checkpoint", Identity("run", "t", partitions))
        self._checkpoint.record_change(self.graph, None, "timed")
        # As with two workers: half of what tasks send stays in the process.
        executor = InProcessExecutor(range(0, partitions, 2))
        settings = Settings(output=self.folder.absolute())
        self._protocol = BatchProtocol(self._checkpoint, executor, self, settings)
        self._protocol.recover()

    def work(self, ranges: Sequence[FileRange]) -> float:
        """Work on one batch; gives the processor seconds that it took."""
        last = self._protocol.last
        batch, start = (0, {}) if last is None else (last.batch + 1, last.position)
        planned = PlannedBatch(batch, {"batch": batch + 1}, tuple(ranges), (), None, start)
        began = time.process_time()
        self._protocol.work(batch, planned)
        self.seconds.append(time.process_time() - began)
        return self.seconds[-1]

    def plan_of(self, planned: PlannedBatch) -> Change:
        """As in `Coordinator`."""
        return self._checkpoint.change_at(planned.batch)

    def batch_failed(self, trouble: Trouble) -> NoReturn:
        """As in `Coordinator`."""
        raise RuntimeError(f"batch {trouble.batch} fails: {trouble.error}")

    def batch_waits(self, outage: Outage) -> NoReturn:
        """As in `Coordinator`."""
        raise RuntimeError(f"batch {outage.batch} waits: {outage.reason}")

    def batch_given_up(self, excess: Excess) -> NoReturn:
        """As in `Coordinator`."""
        raise RuntimeError(f"batch {excess.batch} is given up")

    def batch_committed(self, committed: Committed) -> None:
        """As in `Coordinator`."""
        self.committed.append(committed)
