"""A whole topology without Spark against DuckDB: insert, probe, switch plans, evict, compact, die, recover.

Everything that a batch consists of is the product's own: ingestion and level stages, messages, switch,
successor manifest, commits. Only Spark's part, moving rows from stage to stage, is a loop here.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from unittest.mock import patch

import duckdb
import polars as pl
import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import jobs.worker.task
from jobs.driver.background_compaction import Merging
from jobs.driver.batch_totals import Gathered, gather
from jobs.driver.layouts import layouts_of
from jobs.driver.next_manifest import successor
from jobs.driver.watermarks import Watermarks
from jobs.partitioning.layout import Layouts, spread_stores
from jobs.partitioning.slices import Layout
from jobs.reconfigure.switch import Switched, switch
from jobs.recovery.checkpoint import Change, Checkpoint, Identity
from jobs.recovery.manifest import Manifest
from jobs.sources.files.stream_files import FileRange
from jobs.sources.planner import PlannedBatch
from jobs.storage.partition import CompactionPolicy, PartitionState, state_root
from jobs.worker.exchange import REPORT, Row, open_reports
from jobs.worker.task import BatchContext, IngestStage, JoinStage
from optimizer.adaptation import variation
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query, to_duckdb
from tests.unit.runtime.stepwise import Stepwise

PARTITIONS = 3
EPOCH = 2
START = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    ("k", ColumnType.BIGINT),
    ("j", ColumnType.BIGINT),
    ("n", ColumnType.BIGINT),
)
SCHEMA = {"at": pl.Datetime("us", "UTC"), "k": pl.Int64(), "j": pl.Int64(), "n": pl.Int64()}
CATALOG = Catalog(
    tuple(
        Stream(name, COLUMNS, "at", lateness=timedelta(seconds=3), tuples_per_second=1.0) for name in "rstu"
    )
)
TEXTS = {
    "two": "{r}, {s} WHERE r.k = s.k",
    "narrow": "r [RANGE 2 SECONDS], {s} WHERE r.k = s.k AND s.j > 0",
    "three": "{r}, {s}, {t} WHERE r.k = s.k AND s.j = t.j",
    "mixed": "{r}, {s}, {t} WHERE r.k = s.k AND s.j < t.j",
    "four": "{r}, {s}, {t}, {u} WHERE r.k = s.k AND s.j = t.j AND t.k = u.k",
    "self": "r [RANGE 7 SECONDS] AS a, r [RANGE 4 SECONDS] AS b WHERE a.k = b.j",
    "forever": "t, u WHERE t.k = u.k AND t.j = u.j",
}
Answer = Counter[tuple[object, ...]]
Tuple = tuple[int, int | None, int | None]
"""Seconds before or after the batch's time, k, j."""


def _query(name: str) -> Query:
    ranges = {s: f"{s} [RANGE {w} SECONDS]" for s, w in zip("rstu", (9, 8, 6, 7), strict=True)}
    source = TEXTS[name].format(**ranges)
    aliases = ("a", "b") if name == "self" else [s for s in "rstu" if f"{s}." in source]
    outputs = ", ".join(f"{alias}.at AS {alias}_at, {alias}.n AS {alias}_n" for alias in aliases)
    return parse_query(f"SELECT {outputs} FROM {source}", name, CATALOG)


QUERIES = {name: _query(name) for name in TEXTS}


@lru_cache(maxsize=64)
def graph_of(names: frozenset[str], seed: int) -> PhysicalGraph:
    """Some plan of the queries; different seeds give different ones."""
    queries = [QUERIES[name] for name in sorted(names)]
    plain = plan(queries, CATALOG, method="flat", retain="everything", tasks=2).graph
    return (variation(queries, CATALOG, plain, seed, PARTITIONS) if seed else None) or plain


def rows_of(tuples: list[Tuple], now: int, number: int) -> pl.DataFrame:
    return pl.DataFrame(
        [(START + timedelta(seconds=now + s), k, j, number + i) for i, (s, k, j) in enumerate(tuples)],
        schema=SCHEMA,
        orient="row",
    )


@dataclass(frozen=True, slots=True)
class Begun:
    """A batch before its tasks start."""

    change: Change
    graph: PhysicalGraph
    base: Switched | None
    previous: Manifest | None
    watermarks: Watermarks
    layouts: Layouts
    context: BatchContext
    planned: PlannedBatch


KEYS = st.one_of(st.none(), st.integers(0, 2))
TUPLES = st.lists(st.tuples(st.integers(-5, 2), KEYS, KEYS), max_size=4)
SETS = st.sets(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=4).map(frozenset)
SEEDS = st.integers(0, 11)
CHANGES = st.one_of(st.none(), st.tuples(st.one_of(st.none(), SETS), SEEDS))
FATES = ("ends", "ends", "ends", "dies", "is given up and done again", "dies behind its commit")


class TopologyMachine(RuleBasedStateMachine):
    @initialize(
        names=SETS,
        seed=SEEDS,
        fan=st.integers(2, 4),
        spans=st.sampled_from((1, 4)),
        share_bytes=st.sampled_from((None, 600, 40_000)),
        beside=st.sampled_from((True, True, False)),
    )
    def begin(
        self, names: frozenset[str], seed: int, fan: int, spans: int, share_bytes: int | None, beside: bool
    ) -> None:
        self.share_bytes = share_bytes
        self.merges_beside = beside
        self.folder = Path(tempfile.mkdtemp())
        self.policy = CompactionPolicy(fan=fan, smallest_rows=4, most_rows=60, spans_per_retention=spans)
        small = partial(PartitionState, policy=self.policy)
        self.small_runs = patch.object(jobs.worker.task, "PartitionState", small)
        self.small_runs.start()
        self.checkpoint = Checkpoint(self.folder / "checkpoint", Identity("run", "t", PARTITIONS))
        self.start_merging()
        self.last: Manifest | None = None
        self.now, self.number = 0, 0
        self.accepted = {stream.name: pl.DataFrame(schema=SCHEMA) for stream in CATALOG}
        self.answers: dict[str, Answer] = {name: Counter() for name in TEXTS}
        self.switch_plans(names, seed)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.small_runs.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
        gc.unfreeze()  # workers freeze what they have loaded; they do not live as long as this process

    @rule(
        tuples=st.tuples(TUPLES, TUPLES, TUPLES, TUPLES),
        fate=st.sampled_from(FATES),
        change=CHANGES,
        merged=st.tuples(st.integers(0, 6), st.integers(0, 6)),
        gap_s=st.one_of(st.just(1), st.integers(1, 9)),
    )
    def work_on_a_batch(
        self,
        tuples: tuple[list[Tuple], ...],
        fate: str,
        change: tuple[frozenset[str] | None, int] | None,
        gap_s: int,
        merged: tuple[int, int],
    ) -> None:
        event(f"a batch that {fate}")
        if change is not None:
            self.switch_plans(*change)
        arriving = {}
        for stream, given in zip("rstu", tuples, strict=True):
            arriving[stream] = rows_of(given, self.now, self.number)
            self.number += len(given)
        begun = self.before_tasks(arriving)
        self.stepwise.step(merged[0])
        done = self.tasks(begun)
        if fate == "is given up and done again":
            done = self.tasks(begun)
        self.stepwise.step(merged[1])
        if fate == "dies":
            self.recover()
            return
        self.commit(begun, done, tidy=fate != "dies behind its commit")
        if fate != "ends":
            self.recover()
        self.check(begun, done, arriving)
        self.now += gap_s

    def switch_plans(self, names: frozenset[str] | None, seed: int) -> None:
        """Have the next batch run under some plan of these queries, or of those that run."""
        if names is None:
            newest = self.checkpoint.newest_change()
            assert newest is not None
            names = frozenset(query.name for query in self.checkpoint.graph(newest.plan).queries)
        self.checkpoint.record_change(graph_of(names, seed), None, "test")

    def before_tasks(self, arriving: dict[str, pl.DataFrame]) -> Begun:
        """What `Topology._work` does before it starts a Spark job."""
        before, batch = self.last, 0 if self.last is None else self.last.batch + 1
        change = self.checkpoint.change_at(batch)
        graph = self.checkpoint.graph(change.plan)
        base = None
        if before is not None and before.change != change.number:
            event("a switch of plans")
            old = self.checkpoint.graph(before.plan)
            base = switch(self.checkpoint, before, old, graph, change, batch, self.share_bytes)
        previous = before if base is None else base.manifest
        watermarks = Watermarks.of(graph, previous, batch, None, 0)
        layouts = layouts_of(graph, previous, batch, EPOCH)
        slices = [layout for layout in layouts.values() if isinstance(layout, Layout)]
        if slices:
            event("slices of event time")
        if any(len(layout.segments) > 1 for layout in slices):
            event("slices whose boundaries moved")
        if spread_stores(layouts):
            event("tuples under older numbers of tasks")
        descriptors = []
        for stream in graph.streams:
            if rows := arriving[stream.name].height:
                file = self.folder / f"{stream.name}-{self.number}.parquet"
                arriving[stream.name].write_parquet(file)
                descriptors.append(FileRange(stream.name, str(file), 0, rows))
        path = base.path if base is not None else None
        if path is None and before is not None:
            path = str(self.checkpoint.commits.path(before.batch))
        context = BatchContext(
            batch=batch,
            plan=str(self.checkpoint.plan_path(change.plan)),
            state=self.checkpoint.state,
            previous=path,
            output=None,
            exchange=None,
            partitions=PARTITIONS,
            watermark_us=watermarks.topology_us,
            late_below_us=watermarks.late_below_us,
            redis_url=None,
            tail=1_000_000,
            share_bytes=self.share_bytes,
            merges=self.merging is None,
            layouts=tuple(layouts.items()),
        )  # fmt: skip
        planned = PlannedBatch(batch, {"batch": batch + 1}, tuple(descriptors), (), None)
        return Begun(change, graph, base, previous, watermarks, layouts, context, planned)

    def tasks(self, begun: Begun) -> Gathered:
        """What Spark has its tasks do, one after the other."""
        rows: list[Row] = []
        for number, descriptor in enumerate(begun.planned.descriptors):
            rows.extend(IngestStage(begun.context)(number, [(descriptor,)]))
        for number in range(1, begun.context.stages(begun.graph).count + 1):
            stage = JoinStage(begun.context, number)
            reports = [row for row in rows if row[1][0] == REPORT]
            moving = [row for row in rows if row[1][0] != REPORT]
            rows = reports + [
                row
                for partition in range(PARTITIONS)
                for row in stage(partition, [row for row in moving if row[0] == partition])
            ]
        assert all(row[1][0] == REPORT for row in rows)
        return gather(begun.graph, open_reports(rows))

    def commit(self, begun: Begun, done: Gathered, *, tidy: bool) -> None:
        """What `Topology._work` does with the tasks' reports; not `tidy`: as far as the manifest."""
        unused = begun.base.removed if begun.base is not None else ()
        if self.merging is not None:
            known = done.added
            done = self.merging.adopted(done, begun.previous)
            event("runs merged beside a batch" if done.added != known else "nothing merged beside a batch")
        self.last = successor(
            begun.previous, unused, begun.graph, begun.change, 0, begun.planned, begun.watermarks,
            begun.layouts, done, 1, 2,
        )  # fmt: skip
        self.checkpoint.commits.write(self.last)
        state_root(self.checkpoint.state).verify(self.last.runs)
        if tidy:
            state_root(self.checkpoint.state).delete(self.last.removed)
            if begun.base is not None:
                Path(begun.base.path).unlink()
        if self.merging is not None:
            self.merging.begin(self.last, begun.graph)

    def recover(self) -> None:
        """What a process does that starts behind another one."""
        self.last = self.checkpoint.commits.last()
        root = state_root(self.checkpoint.state)
        root.delete_others(self.last.runs if self.last is not None else ())
        self.checkpoint.remove_unfinished()
        self.checkpoint.verify()
        self.start_merging()

    def start_merging(self) -> None:
        """What merges runs behind commits, unless tasks do inside their batches."""
        self.stepwise = Stepwise()
        self.merging = (
            Merging(self.checkpoint.state, self.share_bytes, self.policy, self.stepwise)
            if self.merges_beside
            else None
        )

    def check(self, begun: Begun, done: Gathered, arriving: dict[str, pl.DataFrame]) -> None:
        """The batch's results are those that its tuples complete, as far as the manifest promises them."""
        assert self.last is not None
        late_below = dict(begun.watermarks.late_below_us)
        for stream in begun.graph.streams:
            oldest = late_below.get(stream.name)
            kept = arriving[stream.name]
            if oldest is not None:
                kept = kept.filter(pl.col("at").to_physical() >= oldest)
            assert done.streams[stream.name].accepted == kept.height
            self.accepted[stream.name] = self.accepted[stream.name].vstack(kept)
        listed = {run.path for run in self.last.runs}
        state = Path(self.checkpoint.state)
        files = {str(path.relative_to(state)) for path in state.rglob("*.arrow")}
        assert listed <= files
        if any(not store.is_base for store in begun.graph.stores):
            event("an intermediate result")
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
            for name, frame in self.accepted.items():
                connection.register(name, frame.to_arrow())
            for name, query in QUERIES.items():
                now = Counter(connection.execute(to_duckdb(query, CATALOG)).fetchall())
                new, self.answers[name] = now - self.answers[name], now
                if name in self.last.queries:
                    self.compare(name, new, done)

    def compare(self, name: str, new: Answer, done: Gathered) -> None:
        assert self.last is not None
        tables = [tail.table for tail in done.tails.get(name, ())]
        found = Counter(row for table in tables for row in pl.DataFrame(pl.from_arrow(table)).rows())
        since = self.last.queries[name].complete_since_us
        # Every other output is an event time.
        needed = Counter(
            {
                row: count
                for row, count in new.items()
                if since is None or max(_microseconds(at) for at in row[::2]) >= since
            }
        )
        if since is None and new:
            event("complete results")
        assert not found - new, f"{name}: not results {found - new}"
        assert not needed - found, f"{name}, complete since {since}: missing {needed - found}"


def _microseconds(moment: object) -> int:
    assert isinstance(moment, datetime)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


TopologyMachine.TestCase.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None, derandomize=True
)
TestTopology = TopologyMachine.TestCase


@pytest.mark.parametrize("names", [frozenset({"three", "mixed"}), frozenset({"four", "two"})])
def test_the_plans_differ_in_all_that_a_switch_has_to_carry_over(names: frozenset[str]) -> None:
    graphs = [graph_of(names, seed) for seed in range(12)]
    stores = {store.id: store for graph in graphs for store in graph.stores}
    of_s = [store for store in stores.values() if store.is_base and store.inputs[0].stream == "s"]
    assert any(not store.is_base for store in stores.values())
    assert len({store.partitioning for store in of_s}) >= 2
    assert len({store.tasks for store in of_s}) >= 2
