"""A batch that fails, worked on without the tuples that it fails with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.failures.bisection import bisect
from jobs.failures.task_failure import Failure, TaskFailed
from jobs.recovery.checkpoint import Change
from jobs.sources.connector import Cutting, Descriptor
from jobs.sources.halves import halves
from jobs.sources.planner import PlannedBatch
from jobs.worker.set_aside import Aside, Describe, letters_of_places
from optimizer.physical.graph import PhysicalGraph

SPARK_ERRORS = (Py4JJavaError, PySparkException)
"""What Spark's jobs raise: the latter for Python exceptions of tasks, as far as Spark recognizes them."""

Done = TypeVar("Done")
Done_co = TypeVar("Done_co", covariant=True)


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
class Mended(Generic[Done]):
    """A batch worked on, as far as it can be."""

    attempt: Done
    planned: PlannedBatch
    """What of it was worked on."""
    aside: tuple[Aside, ...] = ()


class Attempt(Protocol[Done_co]):
    """Works on a batch. Raises `TaskFailed` if its tasks fail; unless `once`, if they fail again."""

    def __call__(self, planned: PlannedBatch, *, once: bool) -> Done_co: ...


def mended(
    planned: PlannedBatch,
    graph: PhysicalGraph,
    entries: Cutting,
    attempt: Attempt[Done],
    tell: Callable[[int, Failure], None],
) -> Mended[Done]:
    """Work on a batch, without the tuples that it fails with; `tell` is called before they are searched.

    Raises as `bisect` does.
    """
    try:
        return Mended(attempt(planned, once=False), planned)
    except TaskFailed as error:
        failure = error.failure
    tell(planned.batch, failure)

    def attempt_part(parts: Sequence[Descriptor]) -> Done:
        return attempt(replace(planned, descriptors=tuple(parts)), once=True)

    read = {stream.name for stream in graph.streams}
    parts = [one for one in planned.descriptors if one.stream in read]
    found = bisect(parts, attempt_part, lambda some: halves(some, entries), failure)
    return Mended(found.done, replace(planned, descriptors=found.accepted), found.aside)


def letters_of_aside(spark: SparkSession, describe: Describe, aside: Sequence[Aside]) -> pa.Table:
    """The dead letters of what was set aside, read in a task: reading may be what fails."""
    try:
        tables = spark.sparkContext.parallelize([aside], 1).mapPartitionsWithIndex(describe).collect()
    except SPARK_ERRORS:
        return letters_of_places(aside)
    return pa.concat_tables(tables)
