"""A topology without Spark: the batch protocol itself, with a batch's tasks executed in this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import jobs.worker.task
from jobs.driver.batch_protocol import BatchProtocol
from jobs.driver.coordinator import Committed, Excess, Outage, Trouble
from jobs.driver.settings import Settings
from jobs.driver.watermarks import Watermarks
from jobs.metrics.reports import TaskReport
from jobs.recovery.checkpoint import Change, Checkpoint, Identity
from jobs.recovery.manifest import Manifest
from jobs.sources import connector
from jobs.sources.files.stream_files import FileRange
from jobs.sources.planner import PlannedBatch
from jobs.storage.partition import CompactionPolicy, PartitionState
from jobs.storage.run import RunRef
from jobs.worker.exchange import REPORT, Row
from jobs.worker.executor import Executed, Groups
from jobs.worker.in_process import InProcessExecutor
from jobs.worker.task import BatchContext
from optimizer.physical.graph import PhysicalGraph
from tests.unit.runtime.crashes import Killed
from tests.unit.runtime.in_memory import REGISTERED, TableRange


class InProcess(InProcessExecutor):
    """Remembers what the last batch's tasks knew, sent and told."""

    def __init__(self, near: Collection[int] = ()) -> None:
        super().__init__(near)
        self.context: BatchContext
        """What the last batch's tasks knew."""
        self.sent: list[Row] = []
        """What they sent to each other."""
        self.reports: Sequence[TaskReport] = ()
        """What they told the driver."""

    def execute(self, graph: PhysicalGraph, context: BatchContext, groups: Groups, *, once: bool) -> Executed:
        self.context, self.sent = context, []
        done = super().execute(graph, context, groups, once=once)
        self.reports = done.reports
        return done

    def stages(self, graph: PhysicalGraph, context: BatchContext, groups: Groups) -> Iterator[list[Row]]:
        for rows in super().stages(graph, context, groups):
            self.sent += [row for row in rows if row[1][0] != REPORT]
            yield rows


class Topology:
    """Feeds batches of tables to a plan.

    Arguments: the plan; a folder for its checkpoint; when runs are merged; what each partition may have of
    the stores in memory; whether tables are read where they are, and not from Parquet files; whether tasks
    hand messages over to each other and write none.
    """

    def __init__(
        self,
        graph: PhysicalGraph,
        folder: str | Path,
        policy: CompactionPolicy | None = None,
        share_bytes: int | None = None,
        *,
        in_memory: bool = False,
        near: bool = False,
    ) -> None:
        self.graph = graph
        partitions = max((store.tasks for store in graph.stores), default=1)
        self.executor = InProcess(range(partitions) if near else ())
        self.dead: list[pa.Table] = []
        self._folder = Path(folder)
        self._policy = policy
        self._share_bytes = share_bytes
        self._in_memory = in_memory
        self._results: dict[str, list[pl.DataFrame]] = defaultdict(list)
        self._committed: list[Committed] = []
        self.checkpoint = Checkpoint(self._folder / "checkpoint", Identity("run", "t", partitions))
        self.checkpoint.record_change(graph, None, "test")
        self._protocol = self._new_protocol()

    def _new_protocol(self) -> BatchProtocol:
        settings = Settings(tail=10_000_000)
        return BatchProtocol(self.checkpoint, self.executor, self, settings, share_bytes=self._share_bytes)

    @property
    def last(self) -> Manifest | None:
        return self._protocol.last

    @property
    def runs(self) -> tuple[RunRef, ...]:
        return self.last.runs if self.last is not None else ()

    def late_below_us(self) -> dict[str, int]:
        """Per stream that has tuples: older ones are late in the next batch."""
        return dict(Watermarks.of(self.graph, self.last, 0, None, 0).late_below_us)

    def change(self, graph: PhysicalGraph) -> None:
        """Have the next batch, and those behind it, worked on by another plan."""
        self.checkpoint.record_change(graph, None, "test")
        self.graph = graph

    def feed(
        self,
        tables: Mapping[str, pa.Table],
        ended: Sequence[str] = (),
        *,
        away: bool = False,
        waiting: Sequence[str] | None = None,
    ) -> Committed:
        """Work on one batch, behind which the streams in `ended` bring nothing.

        While a server is `away`, the source cannot tell what waits; else it may tell `waiting` streams.
        """
        batch = 0 if self.last is None else self.last.batch + 1
        ranges = [
            self._range(stream, batch, table) for stream, table in sorted(tables.items()) if table.num_rows
        ]
        start = {} if self.last is None else self.last.position
        with (
            patch.object(jobs.worker.task, "PartitionState", partial(PartitionState, policy=self._policy)),
            patch.object(connector, "BUILT_IN", {**connector.BUILT_IN, **REGISTERED}),
        ):
            planned = PlannedBatch(
                batch,
                {"batch": batch + 1},
                tuple(ranges),
                tuple(ended),
                None,
                start,
                waiting=None if waiting is None else tuple(waiting),
                away=away,
            )
            self._protocol.work(batch, planned)
        return self._committed[-1]

    def _range(self, stream: str, batch: int, table: pa.Table) -> Any:
        """What describes a table's rows to the tasks."""
        if self._in_memory:
            return TableRange(stream, table, 0, table.num_rows)
        file = self._folder / f"{stream}-{batch}.parquet"
        pq.write_table(table, file)
        return FileRange(stream, str(file), 0, table.num_rows)

    def die_in(self, tables: Mapping[str, pa.Table]) -> None:
        """Work on a batch, die just before its commit, and start again."""
        with patch.object(self.checkpoint.commits, "write", side_effect=Killed), suppress(Killed):
            self.feed(tables)
        self._protocol = self._new_protocol()
        self._protocol.recover()

    def answers(self, query: str) -> pl.DataFrame:
        return pl.concat(self._results[query]) if self._results[query] else pl.DataFrame()

    def plan_of(self, planned: PlannedBatch) -> Change:
        return self.checkpoint.change_at(planned.batch)

    def batch_failed(self, trouble: Trouble) -> None:
        raise AssertionError(trouble)

    def batch_waits(self, outage: Outage) -> None:
        raise AssertionError(outage)

    def batch_given_up(self, excess: Excess) -> Change | None:
        raise AssertionError(excess)

    def batch_committed(self, committed: Committed) -> None:
        self._committed.append(committed)
        self.dead.extend(committed.gathered.dead)
        for query, tails in committed.gathered.tails.items():
            self._results[query].extend(pl.DataFrame(pl.from_arrow(tail.table)) for tail in tails)
