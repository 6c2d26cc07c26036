"""Attempts at a batch until one can be committed.

Batches are tried on all their tuples, on halves of them, and under another plan.

These are steps 3 to 7 of `jobs.driver.batch_protocol`. Nothing here makes a batch final.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jobs.driver.batch_totals import Gathered, gather
from jobs.driver.coordinator import Coordinator, Excess, Outage, Stopping, Trouble
from jobs.driver.layouts import layouts_of
from jobs.driver.settings import Settings
from jobs.driver.split_assignment import assign
from jobs.driver.watermarks import Watermarks
from jobs.failures.bisection import Bisected, QueriesFail, bisect
from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.failures.task_failure import Failure, TaskFailed
from jobs.partitioning.layout import Layouts
from jobs.reconfigure.completeness import certain_from
from jobs.reconfigure.switch import Switched, switch
from jobs.recovery.checkpoint import Change, Checkpoint
from jobs.recovery.manifest import Manifest
from jobs.sinks.parquet import DEAD_LETTER_FOLDER, write_hidden, write_schemas
from jobs.sources.connector import Descriptor
from jobs.sources.halves import halves
from jobs.sources.planner import PlannedBatch
from jobs.sources.redis import RedisEntries
from jobs.sources.results import found_before
from jobs.storage.disk import delete_if_there
from jobs.worker.executor import Executor
from jobs.worker.set_aside import Aside, Describe
from jobs.worker.task import BatchContext
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class Begun:
    """A batch under one plan, before its tasks start."""

    change: Change
    graph: PhysicalGraph
    base: Switched | None
    """The interim manifest behind a switch of plans; None if the plan is the last commit's."""
    previous: Manifest | None
    """What it starts from: the last commit, or the interim manifest."""
    watermarks: Watermarks
    layouts: Layouts
    context: BatchContext


@dataclass(frozen=True, slots=True)
class Worked:
    """A batch that can be committed."""

    begun: Begun
    gathered: Gathered
    trouble: Trouble | None
    """What was set aside of it; None if nothing was."""


@dataclass(slots=True)
class Attempts:
    """Works on batches; the fields are as for `BatchProtocol`."""

    checkpoint: Checkpoint
    executor: Executor
    coordinator: Coordinator
    settings: Settings
    share_bytes: int | None
    merges: bool
    """True if tasks merge runs inside their batches."""
    given_up: bool = False
    """True once tasks were given up: they may have left files that nothing lists."""

    def work_on(self, planned: PlannedBatch, last: Manifest | None, started_us: int) -> Worked:
        """Work on a batch until it can be committed.

        Args:
            planned: the batch.
            last: the manifest of the last commit; None before the first.
            started_us: wall clock, microseconds since 1970.
        Raises:
            Stopping: the coordinator has no plan under which the batch could be worked on.
        """
        change = self.coordinator.plan_of(planned)
        aside: tuple[Aside, ...] = ()
        descriptors: Sequence[Descriptor] | None = None
        while True:
            begun = self._begin(planned, last, change, started_us)
            if descriptors is None:
                runs = () if last is None else last.runs
                found = found_before(begun.graph, runs, self.checkpoint.state, planned.batch)
                descriptors = (*planned.descriptors, *found)
            # A plan that relieves a batch may read fewer streams than the one it was planned under.
            read = {stream.name for stream in begun.graph.streams}
            try:
                done = self._mended(begun, [one for one in descriptors if one.stream in read])
            except QueriesFail as error:
                change = self._relieved(begun, {}, error.failure)
                continue
            if done.aside:
                aside, descriptors = (*aside, *done.aside), done.accepted
            if not done.done.too_many:
                return self._letters_written(begun, done.done, aside)
            change = self._relieved(begun, done.done.too_many, None)

    def _begin(
        self, planned: PlannedBatch, before: Manifest | None, change: Change, started_us: int
    ) -> Begun:
        batch, settings = planned.batch, self.settings
        graph = self.checkpoint.graph(change.plan)
        most = max((store.tasks for store in graph.stores), default=1)
        partitions = self.checkpoint.identity.partitions
        if most > partitions:
            # What is sent to a task that no partition does would be lost.
            raise RuntimeError(
                f"plan {change.plan}: found a store of {most} tasks, expected {partitions} at most"
            )
        base = self._switch(before, graph, change, batch) if switches(before, change) else None
        previous = base.manifest if base is not None else before
        watermarks = Watermarks.of(
            graph, previous, started_us, settings.idle_timeout_us, planned.reachable_since_us
        )
        layouts = layouts_of(graph, previous, batch, settings.epoch_batches)
        context = BatchContext(
            batch=batch,
            plan=self.checkpoint.shown(self.checkpoint.plan_path(change.plan)),
            state=self.checkpoint.state,
            previous=self._path(before, base),
            output=str(settings.output) if settings.output is not None else None,
            exchange=None,
            partitions=self.checkpoint.identity.partitions,
            watermark_us=watermarks.topology_us,
            late_below_us=watermarks.late_below_us,
            redis_url=settings.redis_url,
            tail=settings.tail,
            most=settings.most,
            share_bytes=self.share_bytes,
            merges=self.merges,
            layouts=tuple(layouts.items()),
            arrived_by_ms=planned.arrived_by_ms,
            passed_us=previous.watermark_us if previous is not None else None,
            certain_from_us=tuple(certain_from(graph, previous, watermarks.topology_us).items()),
            earlier_us=previous.earlier_us if previous is not None else (),
        )
        return Begun(change, graph, base, previous, watermarks, layouts, context)

    def _switch(
        self, before: Manifest | None, graph: PhysicalGraph, change: Change, batch: int
    ) -> Switched | None:
        if self.settings.output is not None:
            write_schemas(self.settings.output, graph.answered, DEAD_LETTERS)
        if before is None:
            return None
        old = self.checkpoint.graph(before.plan)
        return switch(self.checkpoint, before, old, graph, change, batch, self.share_bytes)

    def _path(self, before: Manifest | None, base: Switched | None) -> str | None:
        """Where tasks find the manifest that they start from."""
        if base is not None:
            return self.checkpoint.shown(Path(base.path))
        return None if before is None else self.checkpoint.shown(self.checkpoint.commits.path(before.batch))

    def _mended(self, begun: Begun, descriptors: Sequence[Descriptor]) -> Bisected[Descriptor, Gathered]:
        """Work on tuples, without those that the batch fails with.

        Raises as `bisect` does.
        """
        try:
            return Bisected(self._answered(begun, descriptors, once=False), tuple(descriptors), (), 1)
        except TaskFailed as error:
            failure = error.failure
        self.given_up = True
        self.coordinator.batch_failed(Trouble(begun.context.batch, begun.change, str(failure), {}))
        attempt = partial(self._answered, begun, once=True)
        cut = partial(halves, server=RedisEntries(self.settings.redis_url))
        return bisect(descriptors, attempt, cut, failure)

    def _answered(self, begun: Begun, descriptors: Sequence[Descriptor], *, once: bool) -> Gathered:
        """As `_attempt`, again and again while a server is away.

        Raises `TaskFailed` for other failures only, and `Stopping`.
        """
        tries = 0
        while True:
            try:
                return self._attempt(begun, descriptors, once=once)
            except TaskFailed as error:
                if not error.failure.away:
                    raise
                reason = str(error.failure)
            self.given_up = True
            tries += 1
            self.coordinator.batch_waits(Outage(begun.context.batch, begun.change, reason, tries))

    def _attempt(self, begun: Begun, descriptors: Sequence[Descriptor], *, once: bool) -> Gathered:
        """Work on tuples under a plan; nothing is committed.

        Raises `TaskFailed` if tasks fail; unless `once`, if they fail again on the same tuples.
        """
        groups = assign(descriptors, begun.context.partitions)
        done = self.executor.execute(begun.graph, begun.context, groups, once=once)
        self.given_up |= done.given_up
        return gather(begun.graph, done.reports)

    def _relieved(self, begun: Begun, too_many: Mapping[str, int], failure: Failure | None) -> Change:
        """The change for another try at a batch that made too much, or whose queries fail."""
        self.given_up = True
        change = begun.change
        if begun.base is not None:
            delete_if_there(Path(begun.base.path))
        failed = {} if failure is None else dict.fromkeys(failure.queries, str(failure))
        excess = Excess(begun.context.batch, change, too_many, self.settings.most or 0, failed)
        instead = self.coordinator.batch_given_up(excess)
        if instead is None:
            raise Stopping
        assert instead.number > change.number, "a batch is worked on again under a newer plan only"
        return instead

    def _letters_written(self, begun: Begun, gathered: Gathered, aside: Sequence[Aside]) -> Worked:
        """What came of a batch, with the dead letters of what was set aside."""
        # Those of streams that only an earlier plan for the batch read are none of it.
        read = {stream.name for stream in begun.graph.streams}
        aside = [one for one in aside if one[0].stream in read]
        if not aside:
            return Worked(begun, gathered, None)
        batch, output, tail = begun.context.batch, self.settings.output, self.settings.tail
        letters = self.executor.letters(Describe(begun.context.plan, self.settings.redis_url), aside)
        counted: Counter[str] = Counter(letters.column("stream").to_pylist())
        files = gathered.files
        if output is not None:
            behind = begun.graph.depth + 1
            files = (*files, write_hidden(str(output), DEAD_LETTER_FOLDER, batch, behind, 0, letters))
        newest = letters.slice(max(0, letters.num_rows - tail))
        dead = (*gathered.dead, newest) if tail else gathered.dead
        told = Trouble(batch, begun.change, str(aside[0][1]), dict(sorted(counted.items())))
        return Worked(begun, gathered.without(counted, files, dead), told)


def switches(before: Manifest | None, change: Change) -> bool:
    """True if a change is not the last commit's, or its plan is arranged otherwise."""
    return before is None or (before.change, before.plan) != (change.number, change.plan)
