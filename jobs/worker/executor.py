"""What executes a batch's tasks: Spark's barrier stage, shuffles, or one process.

An executor knows nothing of commits. It gives every partition what the stage before has sent to it, ends
each stage in every task before the next one begins, and returns what the tasks report. All that tasks write
has names that nothing lists, so an execution may be given up at any moment and done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from jobs.metrics.reports import TaskReport
from jobs.sources.connector import Descriptor
from jobs.worker.set_aside import Aside, Describe
from jobs.worker.task import BatchContext
from optimizer.physical.graph import PhysicalGraph

Groups: TypeAlias = Sequence[Sequence[Descriptor]]
"""What each ingesting task of a batch reads; there is at least one."""


@dataclass(frozen=True, slots=True)
class Executed:
    """What came of a batch's tasks."""

    reports: Sequence[TaskReport]
    given_up: bool = False
    """True if attempts at tasks were given up on the way: they may have left files that no report lists."""


class Executor(Protocol):
    """Executes ingestion and every stage of a batch."""

    def execute(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, *, once: bool) -> Executed:
        """Work on a batch's tuples.

        Args:
            graph: the plan that `context` names.
            context: what the tasks have to know, without the directories in which they meet.
            groups: what the ingesting tasks read.
            once: True if a task that tells of a failure is not tried again.
        Raises:
            TaskFailed: tasks fail, and would fail again on the same tuples.
        """
        ...

    def letters(self, describe: Describe, aside: Sequence[Aside]) -> pa.Table:
        """The dead letters of what was set aside, in the columns of `DEAD_LETTERS`."""
        ...

    def close(self) -> None:
        """Delete the directories in which tasks met."""
        ...
