"""What a batch did, put together from its tasks' reports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from jobs.metrics.reports import Answers, Arrived, Tail, TaskReport
from jobs.metrics.tally import Tally
from jobs.partitioning.rescaling import in_first_copy
from jobs.plan.tuples import ARRIVALS_PER_TASK
from jobs.protocol.metrics import EdgeMetrics, ElementCounts, QueryCounts, StoreCounts, StreamProgress, newest
from jobs.recovery.manifest import BatchCounts, OutputFile, QueryState
from jobs.storage.run import RunRef
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class Gathered:
    """The reports of one batch, added up.

    Mappings have every id of the graph, in its order.
    """

    streams: dict[str, StreamProgress]
    stores: dict[str, StoreCounts]
    edges: dict[str, EdgeMetrics]
    queries: dict[str, QueryCounts]
    files: tuple[OutputFile, ...]
    tails: dict[str, tuple[Tail, ...]]
    added: tuple[RunRef, ...]
    dropped: tuple[RunRef, ...]
    level_seconds: tuple[float, ...]
    """The slowest task of each level, from ingestion on; of a level in several stages, their sum."""
    arrivals: dict[str, tuple[Answers, ...]]
    arrived: tuple[Arrived, ...]
    rules: dict[str, int]
    """Tuples that each source and probe rule produced."""

    tuples_in: int
    """Tuples read, whatever became of them: accepted, late or undecodable."""
    fetched_bytes: int = 0
    """Of runs that tasks read on other hosts than the ones where they were written."""
    dead: tuple[pa.Table, ...] = ()
    """The newest dead letters of each task, with the columns of `dead_letters.DEAD_LETTERS`."""
    too_many: dict[str, int] = field(default_factory=dict)
    """Steps that were given up in some task, and how many combinations they had come to in all of them."""
    resident_bytes: int = 0
    """The most that was in memory of the stores, if all partitions had it at the same moment of a stage; zero
    without a limit, when nobody knows."""
    fullest: dict[str, int] = field(default_factory=dict)
    """Tuples that the fullest task of each store received, to keep and to probe with."""
    cpu_us: int = 0
    """Processor time of all tasks, microseconds."""
    element_cpu_us: dict[str, int] = field(default_factory=dict)
    """The part of it that was for a store, or for a rule that receives tuples and stores none, by its id."""
    set_aside: dict[str, int] = field(default_factory=dict)
    """Tuples by stream that the batch fails with, also among the undecodable; streams without are missing."""

    def without(
        self, set_aside: Mapping[str, int], files: tuple[OutputFile, ...], dead: tuple[pa.Table, ...]
    ) -> Gathered:
        """The same without tuples that were set aside.

        All files and dead letters of the batch stay.
        """
        streams = {
            name: replace(counts, undecodable=counts.undecodable + set_aside.get(name, 0))
            for name, counts in self.streams.items()
        }
        tuples_in = self.tuples_in + sum(set_aside.values())
        kept = dict(sorted(set_aside.items()))
        return replace(self, streams=streams, tuples_in=tuples_in, files=files, dead=dead, set_aside=kept)


def gather(graph: PhysicalGraph, reports: Sequence[TaskReport]) -> Gathered:
    """Add up the reports of all tasks of a batch."""
    ordered = sorted(reports, key=lambda r: (r.level, r.task))
    counts = Tally()
    too_many: Counter[str] = Counter()
    slowest: dict[tuple[int, int], float] = defaultdict(float)
    resident: dict[tuple[int, int], int] = defaultdict(int)
    answers: dict[str, list[Answers]] = {query.name: [] for query in graph.queries}
    produced = {rule.id: 0 for rule in graph.rules if rule.kind != "store"}
    received: dict[str, Counter[int]] = {store.id: Counter() for store in graph.stores}
    for report in ordered:
        where = report.level, report.stage
        slowest[where] = max(slowest[where], report.seconds)
        at_work = report.stage, report.task
        resident[at_work] = max(resident[at_work], report.resident_bytes)
        counts.merge(report.counts)
        too_many.update(report.too_many)
        for metric in ("inserted", "probes"):
            for store, tuples in report.counts.of(StoreCounts, metric).items():
                received[store][report.task] += tuples
        for query, answer in report.answers.items():
            answers[query].append(answer)
        for rule, made in report.rules.items():
            produced[rule] += made
    seconds = [0.0] * (graph.depth + 1)
    for (level, _), longest in slowest.items():
        seconds[level] += longest
    together: Counter[int] = Counter()
    for (stage, _), most in resident.items():
        together[stage] += most
    policies = {s.name: s.late for s in graph.streams}
    streams, inner = counts.total(StreamProgress, policies), {stream.name for stream in graph.derived}
    return Gathered(
        streams=streams,
        stores=counts.total(StoreCounts, (store.id for store in graph.stores)),
        edges=counts.total(EdgeMetrics, (edge.id for edge in graph.edges)),
        queries=counts.total(QueryCounts, answers),
        files=tuple(file for report in ordered for file in report.files),
        tails={
            query: tuple(tail for a in parts for tail in a.tail)
            for query, parts in answers.items()
            if any(a.tail for a in parts)
        },
        added=tuple(run for report in ordered for run in report.added),
        dropped=tuple(run for report in ordered for run in report.dropped),
        level_seconds=tuple(round(s, 6) for s in seconds),
        arrivals={query: tuple(parts) for query, parts in answers.items() if parts},
        arrived=tuple(sorted((a for report in ordered for a in report.arrived), key=lambda a: a.base)),
        rules=produced,
        tuples_in=sum(
            s.accepted + s.undecodable + (s.late if policies[name] == "drop" else 0)
            for name, s in streams.items()
            if name not in inner
        ),
        fetched_bytes=sum(report.fetched_bytes for report in ordered),
        resident_bytes=max(together.values(), default=0),
        dead=tuple(report.dead for report in ordered if report.dead is not None),
        too_many=dict(sorted(too_many.items())),
        fullest={store: max(tasks.values(), default=0) for store, tasks in received.items()},
        cpu_us=sum(report.cpu_us for report in ordered),
        element_cpu_us=dict(sorted(counts.of(ElementCounts, "cpu_us").items())),
    )


def latencies_ms(gathered: Gathered, admitted_us: int, committed_us: int) -> dict[str, tuple[float, float]]:
    """Median and 99th percentile of what `waits` finds, per query."""
    answer = {}
    for query, waited in waits(gathered, admitted_us, committed_us).items():
        quantiles = weighted_quantiles(waited.ms, waited.results, (0.5, 0.99))
        answer[query] = (round(quantiles[0], 3), round(quantiles[1], 3))
    return answer


@dataclass(frozen=True, slots=True)
class Waits:
    """How long results waited for their commit."""

    ms: np.ndarray
    """Milliseconds from the completing tuple's arrival at its source to the commit, of a sample."""
    results: np.ndarray
    """For how many results each of them stands."""


def waits(gathered: Gathered, admitted_us: int, committed_us: int) -> dict[str, Waits]:
    """Latencies of each query with results.

    A source that keeps no arrival times (files, generated tuples) has its tuples arrive when
    their batch begins, at `admitted_us`. All times are wall clock, microseconds since 1970.
    """
    answer = {}
    for query, parts in sorted(gathered.arrivals.items()):
        ms, results = [], []
        for part in parts:
            ms.append(committed_us / 1000 - _arrival_ms(part.arrivals, gathered.arrived, admitted_us / 1000))
            results.append(np.full(len(part.arrivals), part.rows / max(1, len(part.arrivals))))
        answer[query] = Waits(np.concatenate(ms), np.concatenate(results))
    return answer


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, at: Iterable[float]) -> list[float]:
    """The values below which the given shares of the weight lie.

    >>> weighted_quantiles(np.array([1.0, 9.0]), np.array([99.0, 1.0]), (0.5, 0.995))
    [1.0, 9.0]
    """
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order])
    positions = np.searchsorted(shares, np.asarray(list(at)) * shares[-1])
    return [float(values[order[min(p, len(order) - 1)]]) for p in positions]


def _arrival_ms(arrivals: np.ndarray, arrived: Sequence[Arrived], otherwise_ms: float) -> np.ndarray:
    times = np.full(len(arrivals), otherwise_ms)
    for part in arrived:
        # A descriptor's tuples are numbered in a row, inside the room of its task.
        inside = (arrivals >= part.base) & (arrivals // ARRIVALS_PER_TASK == part.base // ARRIVALS_PER_TASK)
        if inside.any():
            steps = np.searchsorted(part.starts, arrivals[inside] - part.base, side="right") - 1
            times[inside] = part.at_ms[np.clip(steps, 0, len(part.at_ms) - 1)]
    return times


def counts(
    graph: PhysicalGraph,
    gathered: Gathered,
    runs: Iterable[RunRef],
    queries: Mapping[str, QueryState],
) -> BatchCounts:
    """What the batch tells about rates, selectivities and completeness.

    `runs` are those behind it, `queries` those before it.
    """
    by_task: dict[str, Counter[int]] = {store.id: Counter() for store in graph.stores}
    for run in runs:
        by_task[run.store][run.partition] += run.rows
    newest_us: int | None = None
    for stream in gathered.streams.values():
        newest_us = newest(newest_us, stream.max_event_time_us)
    return BatchCounts(
        accepted={name: stream.accepted for name, stream in gathered.streams.items()},
        edges={edge: work.tuples for edge, work in gathered.edges.items()},
        rules=gathered.rules,
        held={
            s.id: sum(rows for task, rows in by_task[s.id].items() if in_first_copy(s, task))
            for s in graph.stores
        },
        fullest=gathered.fullest,
        fullest_held={store: max(tasks.values(), default=0) for store, tasks in by_task.items()},
        oldest_us=min((time for run in gathered.added for time in run.min_times_us), default=None),
        newest_us=newest_us,
        complete_since_us={
            name: state.complete_since_us
            for name, state in queries.items()
            if state.complete_since_us is not None
        },
        cpu_us=gathered.cpu_us,
        element_cpu_us=gathered.element_cpu_us,
    )


def state_bytes(runs: Iterable[RunRef]) -> int:
    return sum(run.bytes for run in runs)


def held(graph: PhysicalGraph, runs: Mapping[str, Sequence[RunRef]]) -> dict[str, tuple[int, int, list[int]]]:
    """Per store: tuples, bytes, and tuples per task.

    There may be more tasks than the plan has, while tuples lie under an older number of tasks.
    """
    answer = {}
    for store in graph.stores:
        mine = runs.get(store.id, ())
        per_task = [0] * max(store.tasks, *(run.partition + 1 for run in mine), 1)
        for run in mine:
            per_task[run.partition] += run.rows
        answer[store.id] = (sum(per_task), state_bytes(mine), per_task)
    return answer
