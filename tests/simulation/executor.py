"""Tasks that are done twice, come in another order, are lost, and go on when they are long given up."""

from __future__ import annotations

import gc
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from jobs.failures.task_failure import Failure, TaskFailed, Told
from jobs.sources.files.stream_files import FileRange
from jobs.worker.exchange import Row
from jobs.worker.executor import Executed, Groups
from jobs.worker.in_process import InProcessExecutor
from jobs.worker.task import BatchContext, IngestStage, JoinStage
from optimizer.algebra.errors import InputError
from optimizer.physical.graph import PhysicalGraph
from tests.simulation.disk import SimulatedDisk
from tests.simulation.schedule import Step, TaskFault

Task = Callable[[], list[Row]]


@dataclass(slots=True)
class Zombie:
    """An attempt that goes on `due` steps after it was given up."""

    due: int
    task: Task


@dataclass(slots=True)
class Tasks:
    """What happens to tasks, over all processes of a schedule."""

    disk: SimulatedDisk
    seed: str
    poison: set[tuple[str, int]]
    """By file and row, the tuples that batches fail with."""
    number: int = 0
    """Of the step."""
    step: Step = field(default_factory=Step)
    too_many: int = 0
    zombies: list[Zombie] = field(default_factory=list)
    left: bool = False
    """True once attempts may have left files that nothing lists."""
    contexts: dict[int, BatchContext] = field(default_factory=dict)
    """What the tasks of each batch knew."""
    counts: Counter[str] = field(default_factory=Counter)

    def begin(self, number: int, step: Step) -> None:
        self.number, self.step = number, step
        self.too_many = step.too_many
        due = [zombie for zombie in self.zombies if zombie.due <= number]
        self.zombies = [zombie for zombie in self.zombies if zombie.due > number]
        for zombie in due:
            self._come_back(zombie)

    def _come_back(self, zombie: Zombie) -> None:
        before = len(self.disk.trace)
        with self.disk.beside():
            try:
                zombie.task()
            except (FileNotFoundError, InputError):
                # The plan, the manifest or the runs that it started from, or comes to, are gone.
                self.counts["a zombie misses something"] += 1
            finally:
                gc.unfreeze()
        if len(self.disk.trace) > before:
            self.left = True
            self.counts["a zombie writes"] += 1


class FaultyExecutor(InProcessExecutor):
    """Executes tasks in this process as a schedule says."""

    def __init__(self, tasks: Tasks, merges: Callable[[int], None]) -> None:
        super().__init__()
        self._tasks = tasks
        self._merges = merges
        self._given_up = False

    def execute(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, *, once: bool) -> Executed:
        tasks = self._tasks
        tasks.contexts[context.batch] = context
        self._merges(tasks.step.merged[0])
        self._given_up = False
        ranges = [one for group in groups for one in group]
        for file, row in sorted(tasks.poison):
            for one in ranges:
                assert isinstance(one, FileRange)
                if one.path == file and one.first <= row < one.first + one.rows:
                    raise TaskFailed(Failure("taking in tuples", "ValueError: poison"))
        if any(fault.kind == "lost" for fault in tasks.step.tasks):
            lost = next(fault for fault in tasks.step.tasks if fault.kind == "lost")
            self._lose(graph, context, groups, lost)
        done = super().execute(graph, context, groups, once=once)
        tasks.left = tasks.left and not self._given_up
        self._merges(tasks.step.merged[1])
        reports = done.reports
        if tasks.too_many:
            tasks.too_many -= 1
            tasks.counts["a batch is given up"] += 1
            reports = [*reports[:-1], replace(reports[-1], too_many={"a step": 1})]
        return Executed(reports, given_up=self._given_up)

    def _lose(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, fault: TaskFault) -> None:
        """Work on a batch until an executor is lost in one of its stages."""
        for stage, _ in enumerate(self.stages(graph, context, groups)):
            if stage >= fault.stage:
                break
        self._given_up = True
        self._tasks.counts[f"task lost in stage {min(fault.stage, 2)}"] += 1

    def stages(self, graph: PhysicalGraph, context: BatchContext, groups: Groups) -> Iterator[list[Row]]:
        rows: list[Row] = []
        for task, group in enumerate(groups):
            rows += self._attempt(0, task, IngestStage(context), (group,))
        yield rows
        for stage in range(1, context.stages(graph).count + 1):
            received: dict[int, list[Row]] = defaultdict(list)
            for row in rows:
                received[row[0]].append(row)
            work, rows = JoinStage(context, stage), []
            for partition in range(context.partitions):
                rows += self._attempt(stage, partition, work, received[partition])
            yield rows

    def _attempt(
        self, stage: int, task: int, work: IngestStage | JoinStage, received: Sequence[object]
    ) -> list[Row]:
        def run() -> list[Row]:
            return list(work(task, received))  # type: ignore[arg-type]

        for fault in self._tasks.step.tasks:
            if (fault.stage, fault.task) != (stage, task) or fault.kind == "lost":
                continue
            self._tasks.counts[f"task {fault.kind}"] += 1
            if fault.kind == "shuffled" and stage:
                received = random.Random(f"{self._tasks.seed} {self._tasks.number} {stage} {task}").sample(
                    list(received), len(received)
                )
                continue
            if fault.kind == "zombie":
                self._tasks.zombies.append(Zombie(self._tasks.number + fault.later, run))
            if fault.kind in ("twice", "zombie"):
                try:
                    run()
                except Told:
                    # The attempt that counts tells it too.
                    continue
                self._given_up = True
        return run()
