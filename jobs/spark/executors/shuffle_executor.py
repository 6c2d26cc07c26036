"""Execute a batch as a chain of Spark stages.

Messages travel between them in Spark's shuffles.

Spark repeats what fails task by task, on another host if need be.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark import SparkContext

from jobs.metrics.reports import TaskReport
from jobs.spark.job_failures import SPARK_ERRORS, failures_told
from jobs.spark.locality import Placement
from jobs.spark.oom_guard import Losses
from jobs.worker.exchange import open_reports
from jobs.worker.executor import Executed, Groups
from jobs.worker.set_aside import Aside, Describe, letters_of_places
from jobs.worker.task import BatchContext, IngestStage, JoinStage
from optimizer.physical.graph import PhysicalGraph


class ShuffleExecutor:
    """Executes batches in a cluster.

    Arguments: Spark's context; the losses to count; where partitions lie, None if that does not matter.
    """

    def __init__(self, spark: SparkContext, losses: Losses, placement: Placement | None) -> None:
        self._spark = spark
        self._losses = losses
        self._placement = placement

    def execute(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, *, once: bool) -> Executed:
        with failures_told(context, self._losses):
            return Executed(self.chained(graph, context, groups))

    def chained(self, graph: PhysicalGraph, context: BatchContext, groups: Groups) -> list[TaskReport]:
        """The reports of all tasks. Raises what Spark raises."""
        if self._placement is not None:
            self._placement.prepare(context.partitions)
        described = self._spark.parallelize(groups, len(groups))
        rows = described.mapPartitionsWithIndex(IngestStage(context))
        for stage in range(1, context.stages(graph).count + 1):
            placed = (
                rows.partitionBy(context.partitions, int)
                if self._placement is None
                else self._placement.partition(rows)
            )
            rows = placed.mapPartitionsWithIndex(JoinStage(context, stage))
        return open_reports(rows.collect())

    def letters(self, describe: Describe, aside: Sequence[Aside]) -> pa.Table:
        """The dead letters of what was set aside, read in a task.

        Reading may be what fails.
        """
        try:
            tables = self._spark.parallelize([aside], 1).mapPartitionsWithIndex(describe).collect()
        except SPARK_ERRORS:
            return letters_of_places(aside)
        return pa.concat_tables(tables)

    def close(self) -> None:
        """Nothing is left: messages are in Spark's hands."""
