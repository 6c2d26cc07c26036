"""Execute batches in a barrier stage on this host.

Where a worker is lost, a batch runs as a chain of stages instead.

`jobs.spark.executors.barrier_batch` says what its tasks do, and why on one host it is one stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark import SparkContext

from jobs.failures.task_failure import told_by
from jobs.metrics.reports import TaskReport
from jobs.spark.executors.barrier_batch import Round
from jobs.spark.executors.shuffle_executor import ShuffleExecutor
from jobs.spark.job_failures import SPARK_ERRORS, failures_told, out_of_memory
from jobs.spark.oom_guard import Losses
from jobs.spark.session import local_slots
from jobs.worker.exchange import exchange_directory, open_reports, remove_batch, remove_exchange
from jobs.worker.executor import Executed, Groups
from jobs.worker.set_aside import Aside, Describe
from jobs.worker.task import BatchContext
from optimizer.physical.graph import PhysicalGraph


class BarrierExecutor:
    """Executes batches on one host, whose tasks meet in shared memory.

    Arguments: Spark's context; the losses to count; a name for the directory in which tasks meet.
    """

    def __init__(self, spark: SparkContext, losses: Losses, name: str) -> None:
        self._spark = spark
        self._losses = losses
        self._chain = ShuffleExecutor(spark, losses, None)
        self._exchange = exchange_directory(name)
        self._attempts = 0

    def execute(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, *, once: bool) -> Executed:
        # Each attempt has its own: a task of one that was given up may end late.
        self._attempts += 1
        folder = self._exchange / f"{context.batch}-{self._attempts}"
        folder.mkdir()
        context = replace(context, exchange=str(folder), trail=str(folder) if once else None)
        try:
            with failures_told(context, self._losses):
                return self._execute(graph, context, groups, once)
        finally:
            remove_batch(folder)

    def _execute(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, once: bool) -> Executed:
        try:
            return Executed(self._together(graph, context, groups))
        except SPARK_ERRORS as error:
            # A lost worker: Spark does not repeat a barrier stage whose results go to the driver.
            # Chained stages do the same work again and repeat what fails task by task.
            said = str(error)
            if "failed barrier ResultStage" not in said:
                raise
            if self._losses.add(said) and self._losses.too_many:
                raise out_of_memory(context, self._losses) from error
            failure = told_by(said)
            if failure is not None and (once or failure.away):
                raise
        return Executed(self._chain.chained(graph, context, groups), given_up=True)

    def _together(self, graph: PhysicalGraph, context: BatchContext, groups: Groups) -> list[TaskReport]:
        tasks = min(context.partitions, local_slots(self._spark.master))
        together = self._spark.parallelize(list(enumerate(groups)), tasks).barrier()
        batch = Round(context, context.stages(graph).count, tasks)
        return open_reports(together.mapPartitionsWithIndex(batch).collect())

    def letters(self, describe: Describe, aside: Sequence[Aside]) -> pa.Table:
        """As in `ShuffleExecutor`."""
        return self._chain.letters(describe, aside)

    def close(self) -> None:
        """Delete the directory in which tasks met."""
        remove_exchange(self._exchange)
