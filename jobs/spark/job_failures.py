"""Tell why a batch's Spark job failed: its tuples, the machine's memory, or else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from jobs.failures.task_failure import TaskFailed, found_on_trail, told_by
from jobs.recovery.manifest import read_manifest
from jobs.spark.oom_guard import Losses, OutOfMemory
from jobs.worker.task import BatchContext

SPARK_ERRORS = (Py4JJavaError, PySparkException)
"""What Spark's jobs raise: the latter for Python exceptions of tasks, as far as Spark recognizes them."""


@contextmanager
def failures_told(context: BatchContext, losses: Losses) -> Iterator[None]:
    """Turn Spark's errors about a batch's job into `OutOfMemory` or `TaskFailed`.

    Other errors stay what they are. `losses` counts what the batch loses for want of memory.
    """
    losses.begin(context.batch)
    try:
        yield
    except SPARK_ERRORS as error:
        if losses.add(str(error)):
            raise out_of_memory(context, losses) from error
        failure = told_by(str(error))
        if failure is None:
            raise
        if context.exchange is not None:
            failure = found_on_trail(failure, Path(context.exchange))
        raise TaskFailed(failure) from error


def out_of_memory(context: BatchContext, losses: Losses) -> OutOfMemory:
    """What to tell people of a batch that lost processes for want of memory."""
    runs = read_manifest(context.previous).runs if context.previous is not None else ()
    return losses.reason(sum(run.bytes for run in runs))
