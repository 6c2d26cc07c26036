"""A topology: one Structured Streaming query that answers all queries of a plan.

Spark asks the source how far the next batch goes and logs it; for each batch the driver runs one
Spark job, ingestion and then the stages of the graph, and commits what the tasks
report. Every batch may run under another plan, or under one whose stores lie otherwise.

Exactly once. Spark repeats a batch under the same positions until it has logged its end. A batch
whose manifest exists is not worked on again; one whose manifest does not exist has left nothing
that a reader or a later batch can see. Before a manifest is written, everything that it lists is
flushed to the disk. A batch that does not begin where the last manifest ends is refused: Spark's own
log is not flushed, and may have lost its end (see `sources.datasource`).

A batch in which a step of the plan makes too much is not committed. Whoever runs the topology is told
and gives another plan, under which the same tuples are worked on again. A batch that fails, and fails again
on the same tuples, is searched for those that make it fail (`bisection`): they become dead letters, and the
others are committed. Where it is queries that fail, it is as if they made too much.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jobs.driver.background_compaction import Merging
from jobs.driver.batch_totals import Gathered, gather, state_bytes
from jobs.driver.layouts import layouts_of
from jobs.driver.mending import SPARK_ERRORS, Mended, Trouble, letters_of_aside, mended
from jobs.driver.next_manifest import successor
from jobs.driver.split_assignment import assign
from jobs.driver.watermarks import Watermarks
from jobs.failures.bisection import QueriesFail
from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.failures.task_failure import Failure, TaskFailed, found_on_trail, told_by
from jobs.partitioning.layout import Layouts
from jobs.reconfigure.switch import Switched, switch
from jobs.recovery.checkpoint import Change, Checkpoint
from jobs.recovery.manifest import Manifest
from jobs.recovery.spark_log import mend
from jobs.sinks.parquet import (
    DEAD_LETTER_FOLDER,
    hidden_path,
    remove_hidden,
    show,
    write_hidden,
    write_schemas,
)
from jobs.sources.connector import Descriptor
from jobs.sources.planner import PlannedBatch
from jobs.sources.redis import RedisEntries
from jobs.sources.spark_source import FORMAT, MillraceSource, read_planned
from jobs.spark.barrier_batch import Round
from jobs.spark.locality import Placement
from jobs.spark.oom_guard import Losses, OutOfMemory
from jobs.spark.session import end_answered, local_slots
from jobs.spark.warm_up import WarmUp
from jobs.storage.fsync import make_durable
from jobs.storage.memory_budget import share
from jobs.storage.partition import state_root
from jobs.worker.exchange import (
    exchange_directory,
    open_reports,
    remove_batch,
    remove_exchange,
    remove_orphans,
)
from jobs.worker.set_aside import Aside, Describe
from jobs.worker.task import BatchContext, IngestStage, JoinStage
from optimizer.algebra.errors import InputError, Place
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class Committed:
    """A batch that has just become final, for whoever watches the topology."""

    manifest: Manifest
    graph: PhysicalGraph
    change: Change
    gathered: Gathered
    backlog: int | None
    seconds: float
    switched: bool
    """True for the first batch under its plan."""
    trouble: Trouble | None = None
    """What was set aside of it; None if nothing was."""


@dataclass(frozen=True, slots=True)
class Settings:
    output: Path | None
    """Where results and dead letters go as files; None for no files."""
    share_host: bool
    """True if driver and executors see the same shared memory."""
    redis_url: str | None = None
    idle_timeout_us: int | None = None
    """A stream that is silent for so long stops holding the watermark back; None never."""
    epoch_batches: int = 16
    tail: int = 0
    """Newest results per query and task that come to the driver."""
    most: int | None = None
    """How many combinations a step may make in one batch and task; None for any number."""
    memory_limit: int | None = None
    """How much of the stores may be in memory, in bytes, over all partitions; None for any amount."""


@dataclass(frozen=True, slots=True)
class Excess:
    """That a batch was given up because some steps of its plan made too much, or queries fail."""

    batch: int
    change: Change
    too_many: Mapping[str, int]
    """By probe rule, how many combinations it had come to."""
    most: int
    """How many a step may make; zero if no step made too many."""
    failed: Mapping[str, str]
    """By query, what it fails with, on one line."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A batch worked on under one plan, not committed yet."""

    graph: PhysicalGraph
    previous: Manifest | None
    """What it started from: the last commit, or an interim manifest behind a switch of plans."""
    base: Switched | None
    watermarks: Watermarks
    layouts: Layouts
    gathered: Gathered


class Topology:
    """Runs the batches of a checkpoint's plan.

    Arguments: a session; the checkpoint, with at least one plan change recorded and its source
    written; settings; `observe`, called after each commit (an exception in it stops the topology);
    `prepare`, called with a batch's number before its plan is looked up, so that a plan change that
    takes effect with this batch can still be recorded; `shape`, called with a batch and its plan change
    before it begins, whose answer is the same change with a plan in which stores lie otherwise, always
    the same one for the same batch; `relieve`, needed with `Settings.most`, called for a batch that made
    too much or whose queries fail, whose answer is the newer change under which to work on it again, or None
    to end the topology; `tell`, called when a batch is searched for tuples that make it fail.
    """

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: Checkpoint,
        settings: Settings,
        observe: Callable[[Committed], None],
        prepare: Callable[[int], None] | None = None,
        relieve: Callable[[Excess], Change | None] | None = None,
        shape: Callable[[PlannedBatch, Change], Change] | None = None,
        tell: Callable[[Trouble], None] | None = None,
    ) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self._settings = settings
        self._observe = observe
        self._prepare = prepare
        self._shape = shape
        assert settings.most is None or relieve is not None, "a bound needs somebody who relieves"
        self._relieve = relieve
        self._tell = tell
        self._partitions = checkpoint.identity.partitions
        self._share_bytes = share(settings.memory_limit, self._partitions, settings.share_host)
        self._merging = Merging(checkpoint.state, self._share_bytes) if settings.share_host else None
        self._last = checkpoint.commits.last()
        self._at_work = threading.Lock()
        self._stopped = False
        self._query: StreamingQuery | None = None
        self._exchange: Path | None = None
        self._placement: Placement | None = None
        self._warming: threading.Thread | None = None
        self._trigger_ms = 0
        self._beginnings = 0
        self._attempts = 0
        self._answered = False
        """True if Spark knows of the source whatever it needs to know."""
        self._losses = Losses(settings.memory_limit)
        self._untidy = False
        """True if tasks were given up: they may have left files that nothing lists."""
        self.error: BaseException | None = None
        """What stopped the topology, if anything did."""

    @property
    def last(self) -> Manifest | None:
        """The manifest of the last committed batch."""
        return self._last

    def start(self, trigger_ms: int) -> None:
        """Finish or undo what a killed process left behind, then begin working on batches."""
        self._recover()
        remove_orphans()
        if self._settings.share_host:
            self._exchange = exchange_directory(self._checkpoint.identity.id[:8])
        else:
            self._placement = Placement(self._spark.sparkContext, self._partitions)
        self._spark.dataSource.register(MillraceSource)
        self._trigger_ms = trigger_ms
        if self._settings.share_host:
            self._warming = threading.Thread(target=self._warm_up, name="warming")
            self._warming.start()
        self._begin()

    def _warm_up(self) -> None:
        """Have the workers load the plan while Spark sets up its query."""
        change = self._checkpoint.newest_change()
        assert change is not None
        plan = self._checkpoint.shown(self._checkpoint.plan_path(change.plan))
        spark = self._spark.sparkContext
        tasks = min(self._partitions, local_slots(spark.master))
        # What goes wrong here, if it is not the machine's moment of weakness, goes wrong again in the first
        # batch, where it is told.
        with suppress(Py4JJavaError):
            spark.parallelize(range(tasks), tasks).mapPartitionsWithIndex(WarmUp(plan)).count()

    def _begin(self) -> None:
        reader = self._spark.readStream.format(FORMAT).option("checkpoint", str(self._checkpoint.root))
        if self._settings.redis_url is not None:
            reader = reader.option("redis", self._settings.redis_url)
        self._query = (
            reader.load()
            .writeStream.foreachBatch(self._on_batch)
            .option("checkpointLocation", str(self._checkpoint.root / "spark"))
            .trigger(processingTime=f"{self._trigger_ms} milliseconds")
            .start()
        )

    def wait(self, seconds: float) -> bool:
        """Wait until the topology has ended by itself, at most `seconds`; True if it has.

        Raises what ended it.
        """
        assert self._query is not None
        try:
            ended = bool(self._query.awaitTermination(seconds))
        except Exception:
            # Spark wraps and cuts what a batch raised; the original says more.
            if self.error is not None:
                raise self.error from None
            raise
        return ended

    def failed(self) -> bool:
        """True if the topology has ended by itself, for good.

        Spark gives a planning process 10 s to start, which a busy machine may not manage; nothing is
        lost by beginning again, so that is done a few times.
        """
        if self._query is None or self._query.isActive:
            return False
        if self.error is None and self._beginnings < _MOST_BEGINNINGS and _starved(self._query):
            self._beginnings += 1
            self._begin()
            return False
        return True

    def stop(self) -> None:
        """End after the batch that is being worked on, if any."""
        self._stopped = True
        if self._warming is not None:
            self._warming.join()
            self._warming = None
        with self._at_work:
            if self._query is not None:
                self._query.stop()
                self._query = None
        if self._merging is not None:
            self._merging.close()
        if self._exchange is not None:
            remove_exchange(self._exchange)
            self._exchange = None

    def _recover(self) -> None:
        last = self._last
        self._checkpoint.claim_state()
        root = state_root(self._checkpoint.state)
        root.delete_others(last.runs if last is not None else ())
        mend(self._checkpoint.root / "spark", -1 if last is None else last.batch)
        output = self._settings.output
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            if last is not None:
                show(output, last.files)
            remove_hidden(output)
            change = self._checkpoint.newest_change()
            if change is not None:
                write_schemas(output, self._checkpoint.graph(change.plan).queries, DEAD_LETTERS)

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        try:
            with self._at_work:
                expected = 0 if self._last is None else self._last.batch + 1
                if batch < expected:
                    self._check_repeated(batch)
                    return
                if batch > expected:
                    raise _torn(self._checkpoint, f"batch {batch} from Spark", f"batch {expected}")
                if self._stopped:
                    raise _Stopping
                if not self._answered:
                    end_answered()
                    self._answered = True
                self._work(batch)
        except BaseException as error:
            self.error = error
            raise

    def _work(self, batch: int) -> None:
        started_us = time.time_ns() // 1000
        began = time.perf_counter()
        planned = read_planned(self._checkpoint.root, batch)
        if planned.batch != batch:
            raise _torn(self._checkpoint, f"a plan of batch {planned.batch}", f"one of batch {batch}")
        if self._last is not None and planned.start != self._last.position:
            raise _torn(
                self._checkpoint, f"batch {batch} at another position", "the position of the last commit"
            )
        if self._prepare is not None:
            self._prepare(batch)
        change = self._change(planned)
        if self._shape is not None:
            change = self._shape(planned, change)
        before = self._last
        worked, change = self._worked(planned, change, started_us)
        switched = _switches(before, change)
        attempt = worked.attempt
        graph, base, gathered = attempt.graph, attempt.base, attempt.gathered
        trouble: Trouble | None = None
        if worked.aside:
            gathered, trouble = self._set_aside(worked, change)
        if self._merging is not None:
            gathered = self._merging.adopted(gathered, attempt.previous)
        manifest = successor(
            attempt.previous,
            base.removed if base is not None else (),
            graph,
            change,
            batch // self._settings.epoch_batches,
            planned,
            attempt.watermarks,
            attempt.layouts,
            gathered,
            started_us,
            time.time_ns() // 1000,
            base.moved if base is not None else 0,
        )
        self._make_durable(manifest, before)
        self._checkpoint.commits.write(manifest)
        self._last = manifest
        if self._settings.output is not None:
            show(self._settings.output, manifest.files)
        root = state_root(self._checkpoint.state)
        root.delete(manifest.removed)
        if base is not None:
            Path(base.path).unlink(missing_ok=True)
            root.remove_empty_folders()
        if self._untidy or batch % _SWEPT_EVERY == 0:
            self._sweep(manifest)
        seconds = time.perf_counter() - began
        backlog = planned.backlog
        self._observe(Committed(manifest, graph, change, gathered, backlog, seconds, switched, trouble))
        if self._merging is not None:
            self._merging.begin(manifest, graph)

    def _worked(
        self, planned: PlannedBatch, change: Change, started_us: int
    ) -> tuple[Mended[_Attempt], Change]:
        """Work on a batch until it can be committed; also the change under which that is."""
        aside: tuple[Aside, ...] = ()
        before = self._last
        entries = RedisEntries(self._settings.redis_url)
        while True:
            graph = self._checkpoint.graph(change.plan)
            base = self._switch(before, graph, change, planned.batch) if _switches(before, change) else None
            attempt = partial(self._attempt, graph, base, change, started_us)
            try:
                done = mended(planned, graph, entries, attempt, partial(self._say_that_it_fails, change))
            except QueriesFail as error:
                change = self._relieved(base, planned.batch, change, {}, error.failure)
                continue
            aside, planned = (*aside, *done.aside), done.planned
            too_many = done.attempt.gathered.too_many
            if not too_many:
                return replace(done, aside=aside), change
            change = self._relieved(base, planned.batch, change, too_many, None)

    def _say_that_it_fails(self, change: Change, batch: int, failure: Failure) -> None:
        self._untidy = True
        if self._tell is not None:
            self._tell(Trouble(batch, change, str(failure), {}))

    def _set_aside(self, done: Mended[_Attempt], change: Change) -> tuple[Gathered, Trouble]:
        """What the tasks of a batch did, with the dead letters of what was set aside."""
        plan = self._checkpoint.shown(self._checkpoint.plan_path(change.plan))
        letters = letters_of_aside(self._spark, Describe(plan, self._settings.redis_url), done.aside)
        gathered, output, batch = done.attempt.gathered, self._settings.output, done.planned.batch
        counted: Counter[str] = Counter(letters.column("stream").to_pylist())
        files = gathered.files
        if output is not None:
            behind = done.attempt.graph.depth + 1
            files = (*files, write_hidden(str(output), DEAD_LETTER_FOLDER, batch, behind, 0, letters))
        newest = letters.slice(max(0, letters.num_rows - self._settings.tail))
        dead = (*gathered.dead, newest) if self._settings.tail else gathered.dead
        told = Trouble(batch, change, str(done.aside[0][1]), dict(sorted(counted.items())))
        return gathered.without(counted, files, dead), told

    def _attempt(
        self,
        graph: PhysicalGraph,
        base: Switched | None,
        change: Change,
        started_us: int,
        planned: PlannedBatch,
        *,
        once: bool,
    ) -> _Attempt:
        """Work on a batch under the plan of a change; nothing is committed.

        Raises `TaskFailed` if its tasks fail; unless `once`, if they fail again on the same tuples.
        """
        before, batch = self._last, planned.batch
        previous = base.manifest if base is not None else before
        watermarks = Watermarks.of(
            graph, previous, started_us, self._settings.idle_timeout_us, planned.reachable_since_us
        )
        layouts = layouts_of(graph, previous, batch, self._settings.epoch_batches)
        folder = None
        if self._exchange is not None:
            # Each attempt has its own: a task of one that was given up may end late.
            self._attempts += 1
            folder = self._exchange / f"{batch}-{self._attempts}"
            folder.mkdir()
        context = BatchContext(
            batch=batch,
            plan=self._checkpoint.shown(self._checkpoint.plan_path(change.plan)),
            state=self._checkpoint.state,
            previous=self._checkpoint.shown(Path(base.path)) if base is not None else self._path(before),
            output=str(self._settings.output) if self._settings.output is not None else None,
            exchange=str(folder) if folder is not None else None,
            partitions=self._partitions,
            watermark_us=watermarks.topology_us,
            late_below_us=watermarks.late_below_us,
            redis_url=self._settings.redis_url,
            tail=self._settings.tail,
            most=self._settings.most,
            share_bytes=self._share_bytes,
            merges=self._merging is None,
            layouts=tuple(layouts.items()),
            trail=str(folder) if once and folder is not None else None,
            arrived_by_ms=planned.arrived_by_ms,
        )
        self._losses.begin(batch)
        try:
            reports = self._run(graph, context, planned, once=once)
        except SPARK_ERRORS as error:
            if self._losses.add(str(error)):
                raise self._out_of_memory() from error
            failure = told_by(str(error))
            if failure is None:
                raise
            raise TaskFailed(failure if folder is None else found_on_trail(failure, folder)) from error
        finally:
            if folder is not None:
                remove_batch(folder)
        return _Attempt(graph, previous, base, watermarks, layouts, gather(graph, reports))

    def _relieved(
        self,
        base: Switched | None,
        batch: int,
        change: Change,
        too_many: Mapping[str, int],
        failure: Failure | None,
    ) -> Change:
        """The change under which to work on a batch again that made too much, or whose queries fail.

        The one that the batch was planned under stays in Spark's log; a process that dies meanwhile
        begins with it again, comes to the same end, and asks again.
        """
        self._untidy = True
        if base is not None:
            Path(base.path).unlink(missing_ok=True)
        failed = {} if failure is None else dict.fromkeys(failure.queries, str(failure))
        if self._relieve is None:
            assert failure is not None, "nothing is given up without a bound"
            raise InputError(
                "failing-query",
                Place(f"query {', '.join(failed)}"),
                str(failure),
                "a query whose expressions can be evaluated",
            )
        instead = self._relieve(Excess(batch, change, too_many, self._settings.most or 0, failed))
        if instead is None:
            raise _Stopping
        assert instead.number > change.number, "a batch is worked on again under a newer plan only"
        return instead

    def _sweep(self, manifest: Manifest) -> None:
        """Delete what attempts that were given up have left; no other task is at work between batches.

        One that is still at work leaves its files to the next sweep. In a cluster Spark repeats single
        tasks without saying so, therefore it is also done every so often.
        """
        made = self._merging.made() if self._merging is not None else ()
        state_root(self._checkpoint.state).delete_others((*manifest.runs, *made))
        if self._settings.output is not None:
            remove_hidden(self._settings.output)
        self._untidy = False

    def _make_durable(self, manifest: Manifest, before: Manifest | None) -> None:
        """Flush what the manifest lists and the one before it did not."""
        known = {run.path for run in before.runs} if before is not None else set()
        state_root(self._checkpoint.state).make_durable(r for r in manifest.runs if r.path not in known)
        if self._settings.output is not None:
            output = self._settings.output
            make_durable((hidden_path(output, file) for file in manifest.files), output)

    def _check_repeated(self, batch: int) -> None:
        """A batch that is committed already may come again, once, after a crash between Spark's log and
        ours; an older one means that Spark's log is not the one that belongs to the commits."""
        if not self._checkpoint.commits.path(batch).exists():
            assert self._last is not None
            raise _torn(self._checkpoint, f"batch {batch} from Spark", f"batch {self._last.batch + 1}")

    def _change(self, planned: PlannedBatch) -> Change:
        """A live source says in its position which change a batch runs under; with files the
        change says from which batch on it holds."""
        if "change" in planned.end:
            return self._checkpoint.change(int(planned.end["change"]))
        return self._checkpoint.change_at(planned.batch)

    def _path(self, manifest: Manifest | None) -> str | None:
        if manifest is None:
            return None
        return self._checkpoint.shown(self._checkpoint.commits.path(manifest.batch))

    def _run(
        self, graph: PhysicalGraph, context: BatchContext, planned: PlannedBatch, *, once: bool
    ) -> list[Any]:
        """One Spark job: ingestion, then every stage in every partition.

        On one host it is one stage, in a cluster a chain of stages; `jobs.spark.barrier_batch` says why. If
        it is to be done `once`, what a task tells is not tried again.
        """
        # A plan that relieves a batch may read fewer streams than the one it was planned under.
        read = {stream.name for stream in graph.streams}
        groups = assign([d for d in planned.descriptors if d.stream in read], self._partitions)
        if context.exchange is not None:
            try:
                return self._run_round(graph, context, groups)
            except SPARK_ERRORS as error:
                # A lost worker: Spark does not repeat a barrier stage whose results go to the driver.
                # Chained stages do the same work again and repeat what fails task by task.
                said = str(error)
                if "failed barrier ResultStage" not in said:
                    raise
                self._untidy = True
                if self._losses.add(said) and self._losses.too_many:
                    raise self._out_of_memory() from error
                if once and told_by(said) is not None:
                    raise
        if self._placement is not None:
            self._placement.prepare()
        spark = self._spark.sparkContext
        rows = spark.parallelize([[group] for group in groups], max(1, len(groups)))
        rows = rows.mapPartitionsWithIndex(_Ingest(IngestStage(context)))
        for stage in range(1, context.stages(graph).count + 1):
            placed = (
                rows.partitionBy(self._partitions, int)
                if self._placement is None
                else self._placement.partition(rows)
            )
            rows = placed.mapPartitionsWithIndex(JoinStage(context, stage))
        return open_reports(rows.collect())

    def _out_of_memory(self) -> OutOfMemory:
        return self._losses.reason(state_bytes(self._last.runs) if self._last is not None else 0)

    def _run_round(
        self, graph: PhysicalGraph, context: BatchContext, groups: Sequence[Sequence[Descriptor]]
    ) -> list[Any]:
        spark = self._spark.sparkContext
        tasks = min(self._partitions, local_slots(spark.master))
        together = spark.parallelize(list(enumerate(groups)), tasks).barrier()
        batch = Round(context, context.stages(graph).count, tasks)
        return open_reports(together.mapPartitionsWithIndex(batch).collect())

    def _switch(
        self, before: Manifest | None, graph: PhysicalGraph, change: Change, batch: int
    ) -> Switched | None:
        if self._settings.output is not None:
            write_schemas(self._settings.output, graph.queries, DEAD_LETTERS)
        if before is None:
            return None
        old = self._checkpoint.graph(before.plan)
        return switch(self._checkpoint, before, old, graph, change, batch, self._share_bytes)


_MOST_BEGINNINGS = 10
_SWEPT_EVERY = 1000


def _switches(before: Manifest | None, change: Change) -> bool:
    """True if a change is not the one, or its plan not arranged as the one, of the last commit."""
    return before is None or (before.change, before.plan) != (change.number, change.plan)


def _starved(query: StreamingQuery) -> bool:
    """True if the query ended because a Python process did not start in time."""
    ended_by = query.exception()
    return ended_by is not None and "failed to connect back" in str(ended_by)


def _torn(checkpoint: Checkpoint, found: str, expected: str) -> InputError:
    """That Spark's log and the commits do not belong together."""
    return InputError(
        "torn-checkpoint",
        Place(str(checkpoint.root)),
        found,
        f"{expected}, as its commits say; restore the whole checkpoint from one copy, "
        "or delete it and start over",
    )


class _Stopping(Exception):
    """Raised instead of beginning a batch while the topology is being stopped."""


class _Ingest:
    """Level 0 sees one list of descriptors per partition."""

    def __init__(self, stage: IngestStage) -> None:
        self._stage = stage

    def __call__(self, task: int, groups: Any) -> Any:
        return self._stage(task, (descriptor for group in groups for descriptor in group))
