"""A job without Spark whose batches fail, are given up and done again, and whose process is killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from hypothesis import currently_in_test_context, event

from jobs.driver.background_compaction import Merging
from jobs.driver.batch_protocol import BatchProtocol
from jobs.driver.coordinator import Committed, Excess, Outage, Trouble
from jobs.driver.settings import Settings
from jobs.failures.task_failure import Failure, TaskFailed
from jobs.recovery.checkpoint import Change, Checkpoint, Identity
from jobs.recovery.manifest import Manifest
from jobs.sinks.parquet import DEAD_LETTER_FOLDER, result_folder
from jobs.sources.files.stream_files import FileRange
from jobs.sources.planner import PlannedBatch
from jobs.storage.partition import CompactionPolicy
from jobs.worker.executor import Executed, Groups
from jobs.worker.task import BatchContext
from optimizer.physical.graph import PhysicalGraph
from tests.unit.runtime.crashes import Killed, killed_at
from tests.unit.runtime.in_process import InProcess
from tests.unit.runtime.stepwise import Stepwise

PARTITIONS = 3
EPOCH = 2
_FAST = Path("/dev/shm")
FAST = _FAST if _FAST.is_dir() else None
"""Where files are flushed at no cost; None if there is no such place."""


@dataclass(slots=True)
class Faults:
    """What happens to a batch."""

    poison: frozenset[tuple[str, int]] = frozenset()
    """By stream and row of its file, the tuples that it fails with."""
    repeated: bool = False
    """Whether its tasks are given up and done again."""
    too_many: int = 0
    """How often a step of its plan makes too much."""
    merged: tuple[int, int] = (0, 0)
    """Merges that end before its tasks, and behind them."""


class FaultyExecutor(InProcess):
    """Executes tasks that fail, and has merges end beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.stepwise = Stepwise()
        self.faults = Faults()

    def execute(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, *, once: bool) -> Executed:
        self.stepwise.step(self.faults.merged[0])
        for stream, row in self.faults.poison:
            ranges = [one for group in groups for one in group if one.stream == stream]
            if any(isinstance(r, FileRange) and r.first <= row < r.first + r.rows for r in ranges):
                raise TaskFailed(Failure("taking in tuples", "ValueError: poison"))
        if self.faults.repeated:
            super().execute(graph, context, groups, once=once)
        done = super().execute(graph, context, groups, once=once)
        self.stepwise.step(self.faults.merged[1])
        reports = done.reports
        if self.faults.too_many:
            self.faults.too_many -= 1
            reports = [*reports[:-1], replace(reports[-1], too_many={"a step": 1})]
        return Executed(reports, given_up=self.faults.repeated)


class Job:
    """A job, its process being replaced whenever it is killed.

    Arguments: its folder; the plan of some queries with a seed; what a partition may have in memory; whether
    runs are merged beside the batches, and when.
    """

    def __init__(
        self,
        folder: Path,
        plans: Callable[[frozenset[str], int], PhysicalGraph],
        share_bytes: int | None = None,
        beside: bool = True,
        policy: CompactionPolicy | None = None,
    ) -> None:
        self._plans = plans
        self.folder = folder
        self.output = folder / "out"
        self._share_bytes = share_bytes
        self._beside = beside
        self.executor = FaultyExecutor()
        self._policy = policy
        self.start()

    def start(self) -> None:
        """What a process does that begins, perhaps behind another one."""
        self.checkpoint = Checkpoint(self.folder / "checkpoint", Identity("run", "t", PARTITIONS))
        self.checkpoint.remove_unfinished()
        self.checkpoint.verify()
        merging = None
        if self._beside:
            self.executor.stepwise = Stepwise()
            merging = Merging(self.checkpoint.state, self._share_bytes, self._policy, self.executor.stepwise)
        settings = Settings(output=self.output, epoch_batches=EPOCH)
        self.protocol = BatchProtocol(
            self.checkpoint, self.executor, self, settings, merging, self._share_bytes
        )
        self.protocol.recover()

    def deploy(self, names: frozenset[str] | None, seed: int) -> Change:
        """Have the next batch run under some plan of these queries, or of those that run."""
        if names is None:
            newest = self.checkpoint.newest_change()
            assert newest is not None
            names = frozenset(query.name for query in self.checkpoint.graph(newest.plan).queries)
        return self.checkpoint.record_change(self._plans(names, seed), None, "test")

    def work(self, planned: PlannedBatch, faults: Faults, kills: Sequence[int] = ()) -> int:
        """Work on a batch until it is committed, being killed at these changes of the disk, one after the
        other; how many changes the last process made."""
        killed = False
        for kill in (*kills, None):
            try:
                with killed_at(kill) as changes:
                    if killed:
                        self.start()
                    self.executor.faults = replace(faults)
                    if not self.protocol.is_committed(planned.batch):
                        self.protocol.work(planned.batch, planned)
                    break
            except Killed:
                _event("a process that is killed")
                killed = True
        assert self.protocol.last is not None
        assert self.protocol.last.batch == planned.batch
        return changes()

    @property
    def last(self) -> Manifest:
        assert self.protocol.last is not None
        return self.protocol.last

    def rows(self, query: str, batch: int) -> Counter[tuple[object, ...]]:
        """The results that a batch has shown."""
        files = sorted((self.output / result_folder(query)).glob(f"{batch:08d}-*.parquet"))
        return Counter(row for file in files for row in pl.read_parquet(file).rows())

    def letters(self, batch: int) -> list[dict[str, object]]:
        """The dead letters that a batch has shown."""
        files = sorted((self.output / DEAD_LETTER_FOLDER).glob(f"{batch:08d}-*.parquet"))
        return [letter for file in files for letter in pl.read_parquet(file).to_dicts()]

    def plan_of(self, planned: PlannedBatch) -> Change:
        return self.checkpoint.change_at(planned.batch)

    def batch_failed(self, trouble: Trouble) -> None:
        _event("a batch that fails with some tuples")

    def batch_waits(self, outage: Outage) -> None:
        _event("a batch that waits for a server")

    def batch_given_up(self, excess: Excess) -> Change | None:
        _event("a batch that is given up")
        return self.deploy(None, excess.change.number % 12)

    def batch_committed(self, committed: Committed) -> None:
        if committed.switched and committed.manifest.batch:
            _event("a switch of plans")


def planned_batch(folder: Path, batch: int, arriving: Mapping[str, pl.DataFrame]) -> PlannedBatch:
    """A batch that reads these tuples."""
    descriptors = []
    for stream, frame in arriving.items():
        if frame.height:
            file = folder / f"{stream}-{batch}.parquet"
            frame.write_parquet(file)
            descriptors.append(FileRange(stream, str(file), 0, frame.height))
    return PlannedBatch(
        batch, {"batch": batch + 1}, tuple(descriptors), (), None, {"batch": batch} if batch else {}
    )


def _event(said: str) -> None:
    if currently_in_test_context():
        event(said)
