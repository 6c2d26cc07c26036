"""Execute batches in this process: for calibration, benchmarks and tests."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa

from jobs.failures.task_failure import TaskFailed, Told, told_by
from jobs.worker.exchange import Row, open_reports
from jobs.worker.executor import Executed, Groups
from jobs.worker.set_aside import Aside, Describe
from jobs.worker.task import BatchContext, IngestStage, JoinStage
from optimizer.physical.graph import PhysicalGraph


class InProcessExecutor:
    """Executes a batch's tasks one after the other.

    Chained stages of Spark do so side by side.

    Arguments: the partitions that tasks reach without writing messages, as where a worker of the product
    has them too.
    """

    def __init__(self, near: Collection[int] = ()) -> None:
        self._near = near

    def execute(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, *, once: bool) -> Executed:
        """As in `Executor`."""
        try:
            *_, rows = self.stages(graph, context, groups)
        except Told as error:
            failure = told_by(str(error))
            assert failure is not None
            raise TaskFailed(failure) from error
        finally:
            gc.unfreeze()  # workers freeze what they have loaded; they do not live as long as this process
        return Executed(open_reports(rows))

    def stages(self, graph: PhysicalGraph, context: BatchContext, groups: Groups) -> Iterator[list[Row]]:
        """What the tasks of each stage send, stage after stage."""
        near = self._near
        rows = [
            row for task, group in enumerate(groups) for row in IngestStage(context, near)(task, (group,))
        ]
        yield rows
        for stage in range(1, context.stages(graph).count + 1):
            received: dict[int, list[Row]] = defaultdict(list)
            for row in rows:
                received[row[0]].append(row)
            task = JoinStage(context, stage, self._near)
            rows = [row for p in range(context.partitions) for row in task(p, received[p])]
            yield rows

    def letters(self, describe: Describe, aside: Sequence[Aside]) -> pa.Table:
        """As in `Executor`."""
        return pa.concat_tables(describe(0, [aside]))

    def close(self) -> None:
        """Nothing is left."""
