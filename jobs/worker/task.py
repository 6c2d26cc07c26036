"""What a batch's tasks execute: ingestion and the stages behind it.

These classes are pickled into every stage, so they hold names only; the graph and the last
manifest are read from the checkpoint once per worker process and kept.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from jobs.failures.task_failure import Failure, Told, leaving_trail, telling
from jobs.join.index_columns import limit_of
from jobs.metrics.cpu_time import CpuClock
from jobs.metrics.reports import Answers, Arrived, Tail, TaskReport
from jobs.metrics.tally import Tally
from jobs.partitioning.layout import StoreLayout, rescaled_stores
from jobs.plan.columns import needed_columns
from jobs.plan.index import index_of
from jobs.plan.stage_fusion import Stages
from jobs.plan.tuples import Result, first_arrival
from jobs.protocol import TABLE_ROWS
from jobs.protocol.metrics import QueryCounts, StreamProgress, values
from jobs.recovery.manifest import OutputFile, read_manifest
from jobs.sinks.parquet import DEAD_LETTER_FOLDER, result_folder, results_as_arrow, write_hidden
from jobs.sources.ahead import latest_times
from jobs.sources.connector import Away, Descriptor, Raw
from jobs.sources.read import read
from jobs.storage.partition import PartitionState, state_root
from jobs.storage.remote import read_bytes
from jobs.storage.run import new_attempt
from jobs.worker.exchange import Outbox, Row, sort_rows
from jobs.worker.holding import Waiting
from jobs.worker.ingest import Ingested, ingest
from jobs.worker.level import work_stage
from jobs.worker.running import folding
from optimizer.physical.graph import GraphStream, PhysicalGraph

_SAMPLED_RESULTS = 2000
"""Results of a query and task whose latency is looked at."""


@dataclass(frozen=True, slots=True)
class BatchContext:
    """Everything that the tasks of one batch have to know."""

    batch: int
    plan: str
    """Path of the graph."""
    state: str
    """Root of the runs."""
    previous: str | None
    """Path of the manifest before this batch."""
    output: str | None
    """Directory for results and dead letters; None if nobody wants files."""
    exchange: str | None
    """Directory for message bodies; None to send them through Spark."""
    partitions: int
    watermark_us: int | None
    """The topology's, at the end of the previous batch."""
    late_below_us: tuple[tuple[str, int], ...]
    """Per stream: tuples strictly older are late; streams without a watermark are missing."""
    redis_url: str | None
    tail: int
    """How many of a task's newest results per query, and of its dead letters, go to the driver."""
    most: int | None = None
    """How many combinations a step may make in a task before the batch is given up; None for any number."""
    share_bytes: int | None = None
    """How much of the stores each partition may have in memory; None for any amount."""
    merges: bool = True
    """True if tasks merge runs, inside the batch; false if somebody does behind the commits
    (`jobs.driver.background_compaction`)."""
    layouts: tuple[tuple[str, StoreLayout], ...] = ()
    """Of stores that do not lie as the plan alone says, by the store's id: see `jobs.partitioning.layout`."""
    trail: str | None = None
    """Directory for what each process is doing, while somebody looks for what ends processes; else None."""
    arrived_by_ms: int | None = None
    """As in `planner.PlannedBatch`."""
    passed_us: int | None = None
    """The topology's watermark at the end of the batch before the previous one."""
    certain_from_us: tuple[tuple[str, int], ...] = ()
    """Per hold whose partners are not all stored, the event time from which combinations can be settled."""
    earlier_us: tuple[int | None, ...] = ()
    """The topology's watermarks of the batches before that, the newest first."""

    @property
    def waiting(self) -> Waiting:
        """What is due in the batch."""
        return Waiting(self.watermark_us, self.passed_us, dict(self.certain_from_us), self.earlier_us)

    def stages(self, graph: PhysicalGraph) -> Stages:
        """The stages of the batch, whose plan is `graph`."""
        return index_of(graph).stages_under(rescaled_stores(dict(self.layouts)))


@lru_cache(maxsize=4)
def load_graph(path: str) -> PhysicalGraph:
    """A plan file's graph, always the same object, as `jobs.plan.index.index_of` asks."""
    return graph_of(PlanFile(path, read_bytes(path)))


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan as it was read; equal to others with the same bytes, wherever they lie."""

    path: str = field(compare=False)
    text: bytes = field(repr=False)


@lru_cache(maxsize=4)
def graph_of(file: PlanFile) -> PhysicalGraph:
    """The graph that a plan file describes, with what was made ready for it.

    Topologies that follow one another in a process, as in calibrations and tests, have the same plan in other
    folders.
    """
    graph = PhysicalGraph.from_json(file.text, file.path)
    index_of(graph)
    # PySpark has its workers collect garbage after every task. What is loaded by now, some 300,000
    # objects of modules and plans, stays for good: walking over it each time took half the
    # processor time of small batches.
    gc.freeze()
    return graph


@dataclass(frozen=True, slots=True)
class IngestStage:
    """Level 0: read descriptors, ingest them, send the first messages."""

    context: BatchContext
    near: Collection[int] = ()
    """The partitions that this process goes on to work on."""

    def __call__(self, task: int, descriptors: Iterable[Sequence[Descriptor]]) -> Iterator[Row]:
        started, clock = time.perf_counter(), CpuClock()
        context = self.context
        graph = load_graph(context.plan)
        late_below = dict(context.late_below_us)
        counts = Tally()
        arrived: list[Arrived] = []
        files: list[OutputFile] = []
        results: list[Result] = []
        letters: list[pa.Table] = []
        passed: dict[str, int] = {}
        position = 0
        trail = leaving_trail(context.trail)
        with trail, telling("taking in tuples"), _outbox(context, graph, 0, task, self.near) as outbox:
            for descriptor in (d for group in descriptors for d in group):
                base = first_arrival(context.batch, task) + position
                raw, done = _ingest_one(graph, descriptor, base, late_below.get(descriptor.stream), context)
                position += raw.table.num_rows
                outbox.send(done.messages)
                results.extend(done.results)
                for rule, made in done.rule_tuples.items():
                    passed[rule] = passed.get(rule, 0) + made
                if done.dead is not None:
                    letters.append(done.dead)
                counts.add(StreamProgress, descriptor.stream, **values(done.counts, StreamProgress))
                for query, calls in done.failed_calls.items():
                    counts.add(QueryCounts, query, failed_calls=calls)
                arrived.extend(_arrived(base, raw))
            dead = _bury(context, 0, task, letters, files)
            answers = _answer(context, 0, task, results, files, counts)
            seconds = time.perf_counter() - started
            outbox.report(
                TaskReport(
                    0,
                    task,
                    seconds,
                    counts,
                    tuple(files),
                    answers,
                    (),
                    (),
                    passed,
                    dead=dead,
                    arrived=tuple(arrived),
                    cpu_us=clock.lap_us(),
                )
            )
        yield from outbox.rows


@dataclass(frozen=True, slots=True)
class JoinStage:
    """One stage behind the sources, of one level or several, in every partition."""

    context: BatchContext
    stage: int
    near: Collection[int] = ()
    """As in `IngestStage`."""

    def __call__(self, partition: int, rows: Iterable[Row]) -> Iterator[Row]:
        context = self.context
        graph = load_graph(context.plan)
        stages = context.stages(graph)
        received = list(rows)
        started, clock = time.perf_counter(), CpuClock()
        inbox = sort_rows(received, stages.of_edge, self.stage, partition)
        yield from inbox.passing
        committed = read_manifest(context.previous).runs_by_store() if context.previous else {}
        fetched = state_root(context.state).fetched_bytes
        limit = limit_of(index_of(graph), context.share_bytes)
        state = PartitionState(
            context.state,
            partition,
            context.batch,
            committed,
            inserted=inbox.stored,
            limit=limit,
            merges=context.merges,
            folding=folding(index_of(graph)),
        )
        done = work_stage(
            graph,
            stages,
            self.stage,
            state,
            inbox.messages,
            context.watermark_us,
            context.most,
            dict(context.layouts),
            context.waiting,
        )
        results: list[Result] = []
        files: list[OutputFile] = []
        answers: dict[str, Answers] = {}
        letters: list[pa.Table] = []
        dead: pa.Table | None = None
        working = telling("working on level", (), stages.levels[self.stage - 1][0])
        trail = leaving_trail(context.trail)
        with trail, working, _outbox(context, graph, self.stage, partition, self.near) as outbox:
            for level, worked in done:
                outbox.send(worked.messages)
                results.extend(worked.results)
                if worked.dead is not None:
                    letters.append(worked.dead)
                if level == stages.levels[self.stage - 1][-1]:
                    dead = _bury(context, self.stage, partition, letters, files)
                    answers = _answer(context, self.stage, partition, results, files, worked.counts)
                now = time.perf_counter()
                outbox.report(
                    TaskReport(
                        level,
                        partition,
                        now - started,
                        worked.counts,
                        tuple(files),
                        answers,
                        worked.added,
                        worked.dropped,
                        worked.rule_tuples,
                        state.root.fetched_bytes - fetched,
                        dead=dead,
                        too_many=worked.too_many,
                        resident_bytes=state.peak_resident_bytes,
                        stage=self.stage,
                        cpu_us=clock.lap_us(),
                    )
                )
                started, fetched = now, state.root.fetched_bytes
            if self.stage < stages.count:
                outbox.stored(partition, state.inserted)
        yield from outbox.rows


def _outbox(
    context: BatchContext, graph: PhysicalGraph, level: int, task: int, near: Collection[int]
) -> Outbox:
    return Outbox(graph, context.partitions, context.exchange, f"{level}-{task}-{new_attempt()}", near)


def _read(
    descriptor: Descriptor,
    stream: GraphStream,
    columns: Collection[str],
    redis_url: str | None,
    *,
    whole: bool = False,
) -> Raw:
    """As `read`; what it raises is told, and a server that is away as one."""
    try:
        with telling("reading", (), stream.name):
            return read(descriptor, stream, columns, redis_url, whole=whole)
    except Away as error:
        raise Told(Failure(f"reading {stream.name}", str(error), away=True)) from error


def _ingest_one(
    graph: PhysicalGraph, descriptor: Descriptor, base: int, late_below: int | None, context: BatchContext
) -> tuple[Raw, Ingested]:
    stream = index_of(graph).streams[descriptor.stream]
    needed = needed_columns(graph, descriptor.stream)
    raw = _read(descriptor, stream, needed, context.redis_url)
    times = raw.table.column(stream.event_time)
    span = pc.min_max(times.cast(pa.int64())).as_py()
    oldest, newest = span["min"], span["max"]
    latest = latest_times(stream, raw.arrived_ms, context.arrived_by_ms)
    letters = (
        times.null_count
        or (late_below is not None and oldest is not None and oldest < late_below)
        or (isinstance(latest, int) and newest is not None and newest > latest)
    )
    wanted = context.output is not None or context.tail
    if letters and wanted and raw.table.num_columns < len(stream.columns):
        # Some of these become dead letters, which keep the whole tuple.
        raw = _read(descriptor, stream, needed, context.redis_url, whole=True)
    layouts = dict(context.layouts)
    with telling("taking in", (), descriptor.stream):
        done = ingest(
            graph,
            descriptor.stream,
            raw.table,
            raw.undecodable,
            base,
            late_below,
            layouts,
            latest,
            context.waiting,
        )
    return raw, done


def _arrived(base: int, raw: Raw) -> Iterator[Arrived]:
    if raw.arrived_ms is not None and len(raw.arrived_ms):
        starts = np.flatnonzero(np.diff(raw.arrived_ms, prepend=raw.arrived_ms[0] - 1))
        yield Arrived(base, starts, raw.arrived_ms[starts])


def _bury(
    context: BatchContext, stage: int, task: int, letters: Sequence[pa.Table], files: list[OutputFile]
) -> pa.Table | None:
    """Write the task's dead letters; returns the newest ones, for the driver."""
    if not letters:
        return None
    dead = pa.concat_tables(letters)
    if context.output is not None:
        files.append(write_hidden(context.output, DEAD_LETTER_FOLDER, context.batch, stage, task, dead))
    return dead.slice(max(0, dead.num_rows - context.tail)) if context.tail else None


def _answer(
    context: BatchContext,
    stage: int,
    task: int,
    results: Sequence[Result],
    files: list[OutputFile],
    counts: Tally,
) -> dict[str, Answers]:
    """Write the task's results, one file per query, count them and report on them."""
    by_query: dict[str, list[Result]] = {}
    for result in results:
        if result.table.height:
            by_query.setdefault(result.query, []).append(result)
    answers = {}
    for query, parts in sorted(by_query.items()):
        arrivals = np.concatenate([part.arrivals.to_numpy() for part in parts])
        if context.output is not None:
            folder, outputs = result_folder(query), index_of(load_graph(context.plan)).queries[query].outputs
            table = results_as_arrow([part.table for part in parts], outputs)
            files.append(write_hidden(context.output, folder, context.batch, stage, task, table))
        counts.add(QueryCounts, query, results=len(arrivals))
        step = max(1, len(arrivals) // _SAMPLED_RESULTS)
        most = context.tail
        if most and index_of(load_graph(context.plan)).queries[query].key is not None:
            # All of it: what a table lost by a batch it would not know.
            most = max(most, TABLE_ROWS)
        answers[query] = Answers(len(arrivals), arrivals[::step], newest_results(parts, most))
    return answers


def newest_results(parts: Sequence[Result], most: int) -> tuple[Tail, ...]:
    """The last `most` results of a task's parts together, as they travel to a driver."""
    tails: list[Tail] = []
    for part in reversed(parts):
        if most <= 0:
            break
        first = max(0, part.table.height - most)
        most -= part.table.height - first
        # These travel to the driver: copied, or all that they are a part of would travel with them.
        last = np.arange(first, part.table.height)
        table, times = (
            # Of a result with constants only, no time came along.
            (rows[last] if rows.width else rows).to_arrow(compat_level=pl.CompatLevel.oldest())
            for rows in (part.table, part.times)
        )
        tails.append(Tail(table, tuple(part.arrivals.slice(first)), part.rule, times))
    return tuple(reversed(tails))
