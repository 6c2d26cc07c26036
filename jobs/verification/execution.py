"""Answer a case by the batch protocol, with its tasks in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.aggregation.changes import current_table
from jobs.driver.batch_protocol import BatchProtocol
from jobs.driver.coordinator import Committed, Excess, Outage, Trouble
from jobs.driver.settings import Settings
from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.recovery.checkpoint import Change, Checkpoint, Identity
from jobs.recovery.manifest import CommitLog, Manifest
from jobs.sinks.parquet import DEAD_LETTER_FOLDER, read_file, result_folder, write_schemas
from jobs.sources.files.stream_files import FileRange
from jobs.sources.planner import PlannedBatch
from jobs.storage.partition import state_root
from jobs.verification.setups import KillPoint, Setup, by_stream
from jobs.worker.exchange import Row
from jobs.worker.executor import Groups
from jobs.worker.in_process import InProcessExecutor
from jobs.worker.task import BatchContext
from optimizer.logical.catalog import Catalog
from optimizer.physical.graph import PhysicalGraph
from optimizer.udf.arrow import ARROW_TYPES
from optimizer.workload.fixtures import GivenTuple


class Killed(KeyboardInterrupt):
    """In place of what ends a process; no task takes an interrupt for its own failure."""


class _DyingExecutor(InProcessExecutor):
    """Ends once when the batch's first stage has done its work."""

    def __init__(self) -> None:
        super().__init__()
        self.dies = False

    def stages(self, graph: PhysicalGraph, context: BatchContext, groups: Groups) -> Iterator[list[Row]]:
        for number, rows in enumerate(super().stages(graph, context, groups)):
            yield rows
            if self.dies and number == 1:
                self.dies = False
                raise Killed


class _DyingLog(CommitLog):
    """Ends once around the manifest that is written next."""

    dies: KillPoint | None = None

    def write(self, manifest: Manifest) -> None:
        point, self.dies = self.dies, None
        if point == "before its manifest":
            raise Killed
        super().write(manifest)
        if point == "behind its manifest":
            raise Killed


class Execution:
    """A topology that works on the batches of one setup.

    Arguments: the plan; the catalog of its streams; a folder of its own.
    """

    def __init__(self, graph: PhysicalGraph, catalog: Catalog, folder: Path) -> None:
        self._graph = graph
        self._catalog = catalog
        self._folder = folder
        self._output = folder / "out"
        self._arrived = folder / "arrived"
        self._arrived.mkdir(parents=True)
        partitions = max((store.tasks for store in graph.stores), default=1)
        self._identity = Identity("run", "test", partitions)
        self._executor = _DyingExecutor()
        self._checkpoint = self._opened()
        self._checkpoint.record_change(graph, None, "test")
        self._protocol = self._started()

    def run(self, setup: Setup, late: Sequence[GivenTuple]) -> None:
        """Work on everything that arrives, then on what is late, until nothing waits."""
        begin = 0
        for end in setup.ends:
            self._feed(setup.arrivals[begin:end], (), setup.kill)
            begin = end
        if late:
            self._feed(late, (), setup.kill)
        ended = tuple(stream.name for stream in self._graph.streams)
        self._feed((), ended, setup.kill)
        # What waits falls due behind the end.
        self._feed((), ended, setup.kill)
        state_root.cache_clear()

    def results(self, query: str) -> pl.DataFrame:
        """What the query has published; of running groups the table that this comes to."""
        folder = self._output / result_folder(query)
        files = sorted(folder.glob("[0-9]*.parquet")) or sorted(folder.glob("*.parquet"))
        frame = pl.concat([read_file(file) for file in files])
        key = next(one.key for one in self._graph.queries if one.name == query)
        return frame.drop("_late", strict=False) if key is None else current_table(frame, key)

    def letters(self) -> list[dict[str, object]]:
        """The dead letters that were published."""
        files = sorted((self._output / DEAD_LETTER_FOLDER).glob("[0-9]*.parquet"))
        return [letter for file in files for letter in pl.read_parquet(file).to_dicts()]

    def _opened(self) -> Checkpoint:
        checkpoint = Checkpoint(self._folder / "checkpoint", self._identity)
        self._log = _DyingLog(checkpoint.root)
        checkpoint.commits = self._log
        return checkpoint

    def _started(self) -> BatchProtocol:
        settings = Settings(output=self._output.absolute())
        protocol = BatchProtocol(self._checkpoint, self._executor, self, settings)
        protocol.recover()
        write_schemas(self._output, self._graph.queries, DEAD_LETTERS)
        return protocol

    def _feed(self, arrivals: Sequence[GivenTuple], ended: tuple[str, ...], kill: KillPoint | None) -> None:
        last = self._protocol.last
        batch, start = (0, {}) if last is None else (last.batch + 1, last.position)
        used = {stream.name for stream in self._graph.streams}
        ranges = []
        for stream, rows in sorted(by_stream(arrivals).items()):
            if stream in used:
                file = self._arrived / f"{stream}-{batch}.parquet"
                pq.write_table(table_of(rows, self._catalog, stream), file)
                ranges.append(FileRange(stream, str(file), 0, len(rows)))
        planned = PlannedBatch(batch, {"batch": batch + 1}, tuple(ranges), ended, None, start)
        if kill is not None:
            self._end_in(planned, kill)
        if not self._protocol.is_committed(batch):
            self._protocol.work(batch, planned)

    def _end_in(self, planned: PlannedBatch, kill: KillPoint) -> None:
        """Work on a batch until the process ends, and begin another one."""
        if kill == "in its tasks":
            self._executor.dies = True
        else:
            self._log.dies = kill
        try:
            self._protocol.work(planned.batch, planned)
        except Killed:
            pass
        finally:
            # A batch without tasks has no stage to end in.
            self._executor.dies = False
        self._checkpoint = self._opened()
        self._checkpoint.remove_unfinished()
        self._protocol = self._started()

    def plan_of(self, planned: PlannedBatch) -> Change:
        """As in `Coordinator`."""
        return self._checkpoint.change_at(planned.batch)

    def batch_failed(self, trouble: Trouble) -> NoReturn:
        """As in `Coordinator`."""
        raise RuntimeError(f"batch {trouble.batch} fails: {trouble.error}")

    def batch_waits(self, outage: Outage) -> NoReturn:
        """As in `Coordinator`."""
        raise RuntimeError(f"batch {outage.batch} waits: {outage.reason}")

    def batch_given_up(self, excess: Excess) -> NoReturn:
        """As in `Coordinator`."""
        raise RuntimeError(f"batch {excess.batch} is given up")

    def batch_committed(self, committed: Committed) -> None:
        """As in `Coordinator`."""


def table_of(rows: Sequence[GivenTuple], catalog: Catalog, stream: str) -> pa.Table:
    """Tuples of a stream in the types of its columns."""
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in catalog[stream].columns])
    return pa.Table.from_pylist([dict(one.row) for one in rows], schema)


def tables_of(arrivals: Sequence[GivenTuple], catalog: Catalog) -> Mapping[str, pa.Table]:
    """The same of every stream of a catalog."""
    grouped = by_stream(arrivals)
    return {name: table_of(grouped.get(name, ()), catalog, name) for name in catalog.names}
