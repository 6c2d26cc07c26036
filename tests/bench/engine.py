"""What a batch costs without Spark: ingestion and all stages of a replay, in one process and thread.

`python -m tests.bench.engine WORKLOAD DATA --batch-rows 300000` prints the processor time of the
last batches, by part; `--profile` adds where Python spent it. The work is that of the tasks of
`jobs replay`: the same messages through shared memory, the same runs, the same result files.
"""

from __future__ import annotations

import os

os.environ["POLARS_MAX_THREADS"] = "1"

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.join.index_columns import limit_of
from jobs.plan.columns import needed_columns
from jobs.plan.index import index_of
from jobs.plan.tuples import Result
from jobs.sinks.parquet import results_as_arrow, write_hidden
from jobs.storage.memory_budget import share
from jobs.storage.partition import PartitionState, state_root
from jobs.storage.run import RunRef
from jobs.worker.exchange import Outbox, Row, open_wires
from jobs.worker.ingest import ingest
from jobs.worker.level import work_stage
from optimizer.algebra.settings import size
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload


class Engine:
    """A topology's batches, one after the other; `seconds` is the processor time by part."""

    def __init__(self, graph: PhysicalGraph, scratch: Path, memory_limit: int | None = None) -> None:
        self.graph = graph
        self.seconds: dict[str, float] = defaultdict(float)
        self.tuples = 0
        self.results = 0
        self._scratch = scratch
        self._tasks = max(store.tasks for store in graph.stores)
        self._limit = limit_of(index_of(graph), share(memory_limit, self._tasks))
        self.resident_bytes = 0
        """The most that one task had of the state in memory, under a limit."""
        self._stages = index_of(graph).stages
        self._runs: dict[str, list[RunRef]] = {}
        self._newest: dict[str, int] = {}
        self._batch = 0

    @property
    def state_bytes(self) -> int:
        return sum(run.bytes for runs in self._runs.values() for run in runs)

    def feed(self, tables: dict[str, pa.Table]) -> None:
        own = {s.name: self._newest[s.name] - s.lateness_us for s in self.graph.streams if self._newest}
        watermark = min(own.values()) if own else None
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            rows: list[Row] = []
            for task, (stream, table) in enumerate(sorted(tables.items())):
                with self._timed("ingest"):
                    base = (self._batch << 36) + (task << 28)
                    done = ingest(self.graph, stream, table, None, base, own.get(stream))
                    near = (task % self._tasks,)
                    with Outbox(self.graph, self._tasks, folder, f"0-{task}", near) as outbox:
                        outbox.send(done.messages)
                rows += outbox.rows
                self._newest[stream] = max(self._newest.get(stream, 0), done.counts.max_event_time_us or 0)
                self.tuples += done.counts.accepted
            self._work(rows, folder, watermark)
        self._batch += 1

    def _work(self, rows: list[Row], folder: str, watermark: int | None) -> None:
        added: list[RunRef] = []
        dropped: list[RunRef] = []
        inserted: list[tuple[RunRef, ...]] = [()] * self._tasks
        for stage in range(1, self._stages.count + 1):
            here = [row for row in rows if self._stages.of_edge[row[1][0]] == stage]
            rows = [row for row in rows if self._stages.of_edge[row[1][0]] > stage]
            for task in range(self._tasks):
                results: list[Result] = []
                with self._timed(f"stage {stage}"):
                    messages = open_wires(task, [wire for target, wire in here if target == task])
                    state = PartitionState(
                        str(self._scratch / "state"),
                        task,
                        self._batch,
                        self._runs,
                        inserted=inserted[task],
                        limit=self._limit,
                    )
                    with Outbox(self.graph, self._tasks, folder, f"{stage}-{task}", (task,)) as outbox:
                        levels = work_stage(self.graph, self._stages, stage, state, messages, watermark)
                        for _, done in levels:
                            outbox.send(done.messages)
                            added += done.added
                            dropped += done.dropped
                            results += done.results
                inserted[task] = state.inserted
                self.resident_bytes = max(self.resident_bytes, state.peak_resident_bytes)
                rows += outbox.rows
                with self._timed("results"):
                    self._write(results, stage, task)
        gone = {run.path for run in dropped}
        listed = [run for runs in self._runs.values() for run in runs if run.path not in gone]
        self._runs = defaultdict(list)
        for run in sorted([*listed, *added], key=lambda run: (run.max_arrival, run.path)):
            self._runs[run.store].append(run)
        state_root(str(self._scratch / "state")).delete(sorted(gone))

    def _write(self, results: list[Result], stage: int, task: int) -> None:
        by_query: dict[str, list[pl.DataFrame]] = defaultdict(list)
        for result in results:
            by_query[result.query].append(result.table)
        for query, parts in sorted(by_query.items()):
            table = results_as_arrow(parts)
            self.results += table.num_rows
            write_hidden(str(self._scratch), query, self._batch, stage, task, table)

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.seconds[part] += time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.engine")
    parser.add_argument("workload", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--batch-rows", type=int, default=300_000)
    parser.add_argument("--measured", type=int, default=4, help="how many of the last batches count")
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--memory-limit", type=size, metavar="BYTES", help="as for replay")
    given = parser.parse_args()
    workload = load_workload(given.workload)
    known = statistics_of_workload(workload.catalog.streams, workload.selectivities)
    graph = plan(workload.queries, workload.catalog, known, tasks=given.tasks).graph
    data = {
        stream.name: pq.read_table(
            given.data / stream.name, columns=sorted(needed_columns(graph, stream.name))
        )
        for stream in graph.streams
    }
    batches = max(1, sum(table.num_rows for table in data.values()) // given.batch_rows)
    profile = cProfile.Profile()
    with tempfile.TemporaryDirectory() as scratch:
        engine = Engine(graph, Path(scratch), given.memory_limit)
        for batch in range(batches):
            if batch == max(0, batches - given.measured):
                engine.seconds.clear()
                engine.tuples = engine.results = 0
                if given.profile:
                    profile.enable()
            engine.feed({name: _part(table, batch, batches) for name, table in data.items()})
        profile.disable()
        spent = sum(engine.seconds.values())
        parts = ", ".join(f"{part} {s / spent:.0%}" for part, s in engine.seconds.items())
        resident = ""
        if given.memory_limit is not None:
            resident = f", in memory {engine.resident_bytes / 1e6:.1f} MB a task"
        sys.stdout.write(
            f"{spent / engine.tuples * 1e6:.3f} CPU us per tuple ({parts}), {engine.results} results, "
            f"state {engine.state_bytes / 1e6:.0f} MB"
            f"{resident}\n"
        )
    if given.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)


def _part(table: pa.Table, batch: int, batches: int) -> pa.Table:
    """An equal share of a stream's rows, so that streams of any length advance and end together."""
    first, stop = (table.num_rows * number // batches for number in (batch, batch + 1))
    return table.slice(first, stop - first)


if __name__ == "__main__":
    main()
