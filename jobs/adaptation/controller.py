"""Re-optimization beside a replay (dissertation section 7.2.3).

Statistics of epoch i are evaluated while epoch i+1 runs, and a better plan holds from the first
batch of epoch i+2. Planning happens in a thread of the driver. A batch waits for it only if planning
took longer than a whole epoch: a replay has no clock to keep up with, and so its plans depend
on its input alone and not on the machine's load.

Shapes of grids do not wait for an epoch: see `shapes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache

from jobs.adaptation.decision import Decision, Decisions, Kind
from jobs.adaptation.observed_epochs import elapsed_s, epoch_counts, observed_statistics
from jobs.adaptation.sample import Samples
from jobs.adaptation.schedule import Schedule
from jobs.recovery.batch_history import BatchLine
from jobs.recovery.checkpoint import Change, Checkpoint
from jobs.recovery.epochs import EpochCounts
from jobs.recovery.manifest import Manifest
from jobs.shapes.policies import Shapes
from jobs.sources.planner import PlannedBatch
from optimizer.adaptation import (
    LearntStatistics,
    learn,
    loads,
    most_moved,
    resize,
    tasks_by_stream,
    variation,
    weigh,
    with_tasks,
)
from optimizer.adaptation.weighing import same_plan
from optimizer.logical.query import Query, registered_inputs
from optimizer.lower.to_graph import graph_stream
from optimizer.partitioning.matrix import keep_groups, with_groups
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import Plan, plan
from optimizer.planner.plan_in_use import Running
from optimizer.search.problem import Options
from optimizer.statistics import (
    ObservedStatistics,
    SampleStatistics,
    statistics_of_workload,
)
from optimizer.workload import Workload

_AGAIN_S = 5.0
"""Time limit of planning again: what runs is a good plan already."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How plans change during a replay."""

    method: str
    tasks: int
    """Of every store at first, and the most that a store is given later."""
    epoch_batches: int
    adaptive: bool
    forced: bool
    """Another valid plan at every epoch, for tests."""
    schedule: Schedule
    evolves: bool
    """True if queries come or go: all their streams are read from the first batch on."""
    batch_rows: int
    """Most tuples of a batch, all streams together."""
    options: Options = field(default_factory=Options)
    """Of planning."""

    @property
    def changes(self) -> bool:
        return self.adaptive or self.forced or self.evolves


class Controller:
    """Decides about the plan at every batch at which it may change, once and for good.

    Arguments: the checkpoint; the workload with all queries that the schedule names; the policy.
    """

    def __init__(self, checkpoint: Checkpoint, workload: Workload, policy: Policy) -> None:
        self._checkpoint = checkpoint
        self._workload = workload
        self._policy = policy
        self._declared = statistics_of_workload(workload.catalog, workload.selectivities)
        self._samples = Samples(checkpoint)
        self._thread = ThreadPoolExecutor(1, "planning")
        self._pending: list[tuple[int, Future[None]]] = []
        # Plans that are exchanged for tests have shapes for tests too.
        follows = policy.adaptive and not policy.forced and policy.options.grids != "off"
        self._shapes = Shapes(policy.options.storage_weight) if follows else None
        self._shaped: tuple[str, dict[str, tuple[int, ...]], str] | None = None
        """A plan as it was decided, the rows that its grids have instead, and the plan that it is so."""
        self.decisions = Decisions(checkpoint.root)
        self._asked = self.decisions.all[-1].batch if self.decisions.all else 0

    @property
    def begun(self) -> bool:
        """True if the first plan and the reasons that later decisions need are recorded."""
        if self._checkpoint.newest_change() is None:
            return False
        return bool(self.decisions.all) or not self._policy.changes

    def first_plan(self, graph: PhysicalGraph | None = None) -> PhysicalGraph:
        """Plan the queries of batch 0 and record the plan.

        `graph`, if it is given, is the plan to begin with.
        """
        queries = self._queries(0)
        learnt = learn(queries, self._declared)
        planned = None
        if graph is None:
            planned = self._plan(0, learnt, self._policy.options)
            graph = planned.graph
        made = self._with_streams(graph)
        change = self._checkpoint.record_change(made, None, "start")
        if self._policy.changes:
            names = tuple(q.name for q in queries)
            document = _document(planned)
            self.decisions.record(
                Decision(0, "start", None, names, change.plan, None, "start", None, learnt, None, document)
            )
        return made

    def resume(self, last: Manifest | None, lines: Sequence[BatchLine]) -> None:
        """Take up decisions where a killed process left them."""
        if last is not None:
            self._sample(last)
        if self._shapes is not None:
            graph_of = cache(self._checkpoint.graph)
            for line in lines:
                self._shapes.add(line, graph_of(line.plan))
        self._decide_ahead(lines)

    def committed(self, manifest: Manifest, lines: Sequence[BatchLine]) -> None:
        """After a commit, sample an epoch that has just ended.

        What can be decided begins to be decided.
        """
        self._sample(manifest)
        if self._shapes is not None:
            self._shapes.add(lines[-1], self._checkpoint.graph(lines[-1].plan))
        if self._ends_epoch(manifest.batch):
            self._decide_ahead(lines)

    def prepare(self, batch: int) -> None:
        """Wait until everything about the plan of `batch` is decided.

        Raises what went wrong.
        """
        while self._pending and self._pending[0][0] <= batch:
            self._pending.pop(0)[1].result()

    def shaped(self, planned: PlannedBatch, change: Change) -> Change:
        """The plan of the next batch, its grids in the shapes for what that brings.

        Args:
            planned: the batch, all before it being committed.
            change: the plan decided for it.
        """
        if self._shapes is None:
            return change
        graph = self._checkpoint.graph(change.plan)
        rows = self._shapes.chosen(graph, planned.rows)
        if self._shaped is None or self._shaped[:2] != (change.plan, rows):
            # Of a large plan the id takes a while to find, and shapes mostly stay.
            plan_id = self._checkpoint.keep_plan(with_groups(graph, rows)) if rows else change.plan
            self._shaped = change.plan, rows, plan_id
        return replace(change, plan=self._shaped[2])

    def close(self) -> None:
        """End the planning thread.

        The next process decides what this one was about to decide.
        """
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _sample(self, manifest: Manifest) -> None:
        if self._policy.adaptive and self._ends_epoch(manifest.batch):
            epoch = manifest.batch // self._policy.epoch_batches
            graph = self._checkpoint.graph(manifest.plan)
            self._samples.take(epoch, epoch * self._policy.epoch_batches, manifest, graph)

    def _ends_epoch(self, batch: int) -> bool:
        return (batch + 1) % self._policy.epoch_batches == 0

    def _decide_ahead(self, lines: Sequence[BatchLine]) -> None:
        """Hand all batches that can be decided, and are not yet, to the planning thread."""
        whole = (lines[-1].batch + 1) // self._policy.epoch_batches if lines else 0
        until = (whole + 2) * self._policy.epoch_batches
        for batch in self._points(until):
            if batch > self._asked:
                self._pending.append((batch, self._thread.submit(self._decide, batch, list(lines))))
                self._asked = batch

    def _points(self, until: int) -> list[int]:
        """The batches before `until` at which the plan may change, ascending."""
        size = self._policy.epoch_batches
        found = {batch for batch in self._policy.schedule.batches if batch < until}
        if self._policy.adaptive:
            found |= set(range(2 * size, until, size))
        if self._policy.forced:
            found |= set(range(size, until, size))
        return sorted(found)

    def _decide(self, batch: int, lines: Sequence[BatchLine]) -> None:
        last = self.decisions.all[-1]
        adopted = self.decisions.adopted()
        assert adopted is not None, "the first plan is a decision too"
        assert adopted.plan is not None
        queries = self._queries(batch)
        epoch = batch // self._policy.epoch_batches - 2 if self._policy.adaptive else -1
        running = self._in_shape(adopted.plan, lines, epoch)
        counts = epoch_counts(lines, epoch) if epoch >= 0 else None
        learnt = learn(
            queries,
            self._declared,
            self._observed(lines, epoch, counts),
            SampleStatistics(self._samples.read(epoch)) if epoch >= 0 else None,
            last.learnt,
        )
        names = tuple(q.name for q in queries)
        moved = most_moved(adopted.learnt, learnt)
        tasks = tasks_by_stream(running)
        weighed = None
        kind: Kind = "statistics"
        planned: Plan | None = None
        made: PhysicalGraph | None = None
        if names != adopted.queries:
            kind, cause = "schedule", _difference(adopted.queries, names)
            made = self._another(batch, queries, running) if self._policy.forced else None
            if made is None:
                planned = self._plan(batch, learnt, self._policy.options, tasks, self._running(adopted))
        elif self._policy.forced and batch % self._policy.epoch_batches == 0:
            made = self._another(batch, queries, running)
            kind, cause = "forced", "another plan on purpose" if made else "no other plan was found"
        elif counts is None or counts.seconds <= 0:
            cause = "event time did not advance, so there are no new statistics"
        elif resized := resize(tasks, self._loads(lines, epoch, counts), self._fixed, self._policy.tasks):
            kind, cause, moved = "load", "; ".join(map(str, resized)), None
            tasks |= {one.stream: one.after for one in resized}
            planned = self._plan(batch, learnt, self._again, tasks, self._running(adopted))
        else:
            planned = self._plan(batch, learnt, self._again, tasks, self._running(adopted))
            made = keep_groups(self._with_streams(planned.graph), running)
            if same_plan(made, running):
                planned, made, cause = None, None, "the running plan is still the best"
            else:
                weighed = weigh(running, made, learnt, planned.options, counts.seconds, elapsed_s(lines))
                cause = str(moved) if moved is not None else "statistics became more exact"
                if not weighed.worthwhile:
                    planned, made, cause = None, None, "another plan would not repay the switch"
        if made is None and planned is not None:
            made = planned.graph
        plan_id = None if made is None else self._adopt(self._with_streams(made), cause, batch)
        self.decisions.record(
            Decision(
                batch, kind, epoch if epoch >= 0 else None, names, plan_id, adopted.plan, cause, moved,
                learnt, weighed, _document(planned),
            )
        )  # fmt: skip
        self._samples.drop_before(epoch)

    def _adopt(self, made: PhysicalGraph, cause: str, batch: int) -> str:
        """Record the change, unless a process that was killed right behind it did."""
        newest = self._checkpoint.newest_change()
        plan_id = self._checkpoint.keep_plan(made)
        if newest is None or newest.from_batch != batch or newest.plan != plan_id:
            self._checkpoint.record_change(made, None, cause, batch)
        return plan_id

    def _observed(
        self, lines: Sequence[BatchLine], epoch: int, counts: EpochCounts | None
    ) -> ObservedStatistics | None:
        if counts is None or counts.seconds <= 0:
            return None
        return observed_statistics(self._ran(lines, epoch), counts)

    def _loads(self, lines: Sequence[BatchLine], epoch: int, counts: EpochCounts) -> dict[str, float]:
        return loads(self._ran(lines, epoch), counts.edges, counts.batches)

    def _in_shape(self, plan: str, lines: Sequence[BatchLine], epoch: int) -> PhysicalGraph:
        """A decided plan with its grids in the shapes of an epoch's end."""
        graph = self._checkpoint.graph(plan)
        ran = [line.plan for line in lines if line.epoch <= epoch]
        if self._shapes is None or not ran:
            return graph
        return keep_groups(graph, self._checkpoint.graph(ran[-1]))

    @property
    def _again(self) -> Options:
        return replace(self._policy.options, time_limit_s=_AGAIN_S)

    def _ran(self, lines: Sequence[BatchLine], epoch: int) -> PhysicalGraph:
        """The plan under which an epoch's counts were made."""
        return self._checkpoint.graph([line for line in lines if line.epoch == epoch][-1].plan)

    @property
    def _fixed(self) -> list[str]:
        """Streams whose number of tasks is declared."""
        return [s.name for s in self._workload.catalog.streams if s.parallelism is not None]

    def _running(self, adopted: Decision) -> Running | None:
        """The plan that a decision put in place, to plan from; None if given or made up."""
        return Running.from_json(adopted.running, self._queries(adopted.batch)) if adopted.running else None

    def _queries(self, batch: int) -> list[Query]:
        names = self._policy.schedule.at(batch)
        return [query for query in self._workload.queries if query.name in names]

    def _plan(
        self,
        batch: int,
        learnt: LearntStatistics,
        options: Options,
        tasks: Mapping[str, int] | None = None,
        running: Running | None = None,
    ) -> Plan:
        """Plan the queries of a batch.

        `tasks` is for streams that set none, where it names them.
        """
        queries = self._queries(batch)
        names = {query.name for query in queries}
        return plan(
            queries,
            with_tasks(self._workload.catalog, tasks or {}),
            learnt,
            self._policy.method,
            options,
            # A plan that changes must find what it needs, so whole tuples are stored.
            "everything" if self._policy.changes else "needed",
            tasks=self._policy.tasks,
            batch_s=self._batch_s(queries, learnt),
            running=running,
            texts={name: sql for name, sql in self._workload.sql if name in names},
        )

    def _batch_s(self, queries: Sequence[Query], learnt: LearntStatistics) -> float:
        """Seconds of event time that a full batch spans, by the rates that are known."""
        streams = sorted({item.stream for query in queries for item in registered_inputs(query)})
        rates = [rate.expected for stream in streams if (rate := learnt.rate(stream)) is not None]
        return self._policy.batch_rows / sum(rates) if sum(rates) > 0 else 0.0

    def _another(self, batch: int, queries: Sequence[Query], running: PhysicalGraph) -> PhysicalGraph | None:
        texts = dict(self._workload.sql)
        catalog = self._workload.catalog
        grids = self._policy.options.grids
        return variation(queries, catalog, running, batch, self._policy.tasks, texts, grids)

    def _with_streams(self, graph: PhysicalGraph) -> PhysicalGraph:
        """The plan with the streams of all queries that ever come.

        Where queries come and go, the plan reads all of them from the beginning, so that every batch knows
        how far each stream is.
        """
        if not self._policy.evolves:
            return graph
        used = {item.stream for query in self._workload.queries for item in registered_inputs(query)}
        there = {stream.name for stream in graph.streams}
        more = tuple(graph_stream(stream) for stream in self._workload.catalog if stream.name in used - there)
        return replace(graph, streams=tuple(sorted((*graph.streams, *more), key=lambda s: s.name)))


def _difference(before: Sequence[str], after: Sequence[str]) -> str:
    added, removed = sorted(set(after) - set(before)), sorted(set(before) - set(after))
    parts = [f"added {', '.join(added)}"] if added else []
    return "; ".join([*parts, *([f"removed {', '.join(removed)}"] if removed else [])])


def _document(planned: Plan | None) -> str:
    return "" if planned is None else planned.running.to_json()
