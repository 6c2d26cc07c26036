"""The batch protocol against DuckDB, without Spark: insert, probe, switch plans, evict, compact, fail, be
given up, die at any change of the disk, recover. Only what executes the tasks is another than a job's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
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
from jobs.partitioning.layout import Layouts, rescaled_stores
from jobs.partitioning.slices import Layout
from jobs.recovery.manifest import Manifest
from jobs.storage.partition import CompactionPolicy, PartitionState, state_root
from optimizer.adaptation import variation
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query, to_duckdb
from tests.unit.runtime.killed_job import FAST, PARTITIONS, Faults, Job, planned_batch

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


KEYS = st.one_of(st.none(), st.integers(0, 2))
TUPLES = st.lists(st.tuples(st.integers(-5, 2), KEYS, KEYS), max_size=4)
SETS = st.sets(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=4).map(frozenset)
SEEDS = st.integers(0, 11)
CHANGES = st.one_of(st.none(), st.tuples(st.one_of(st.none(), SETS), SEEDS))
POISON = st.frozensets(st.tuples(st.sampled_from("rstu"), st.integers(0, 3)), max_size=2)
FAULTS = st.builds(
    Faults,
    poison=st.one_of(st.just(frozenset()), st.just(frozenset()), POISON),
    repeated=st.sampled_from((False, False, True)),
    too_many=st.sampled_from((0, 0, 0, 1)),
    merged=st.tuples(st.integers(0, 6), st.integers(0, 6)),
)
KILLS = st.one_of(st.just([]), st.lists(st.integers(0, 60), min_size=1, max_size=3))


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
        self.folder = Path(tempfile.mkdtemp(dir=FAST))
        policy = CompactionPolicy(fan=fan, smallest_rows=4, most_rows=60, spans_per_retention=spans)
        small = partial(PartitionState, policy=policy)
        self.small_runs = patch.object(jobs.worker.task, "PartitionState", small)
        self.small_runs.start()
        self.job = Job(self.folder, self.plan_of, share_bytes, beside, policy)
        self.beside = beside
        self.batch, self.now, self.number = 0, 0, 0
        self.accepted = {stream.name: pl.DataFrame(schema=SCHEMA) for stream in CATALOG}
        self.answers: dict[str, Answer] = {name: Counter() for name in TEXTS}
        self.job.deploy(names, seed)

    def plan_of(self, names: frozenset[str], seed: int) -> PhysicalGraph:
        return graph_of(names, seed)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.small_runs.stop()
            shutil.rmtree(self.folder, ignore_errors=True)

    @rule(
        tuples=st.tuples(TUPLES, TUPLES, TUPLES, TUPLES),
        change=CHANGES,
        faults=FAULTS,
        kills=KILLS,
        gap_s=st.one_of(st.just(1), st.integers(1, 9)),
    )
    def work_on_a_batch(
        self,
        tuples: tuple[list[Tuple], ...],
        change: tuple[frozenset[str] | None, int] | None,
        faults: Faults,
        kills: list[int],
        gap_s: int,
    ) -> None:
        if change is not None:
            self.job.deploy(*change)
        arriving = {}
        for stream, given in zip("rstu", tuples, strict=True):
            arriving[stream] = rows_of(given, self.now, self.number)
            self.number += len(given)
        self.before = self.job.protocol.last
        self.job.work(planned_batch(self.folder, self.batch, arriving), faults, kills)
        self.check(arriving, faults.poison)
        self.batch += 1
        self.now += gap_s

    def check(self, arriving: dict[str, pl.DataFrame], poison: frozenset[tuple[str, int]]) -> None:
        """The batch's results are those that its tuples complete, as far as the manifest promises them."""
        last = self.job.last
        graph = self.job.checkpoint.graph(last.plan)
        late_below = dict(self.job.executor.context.late_below_us)
        aside = late = 0
        self.kept: dict[str, pl.DataFrame] = {}
        for stream in graph.streams:
            bad = [row for name, row in poison if name == stream.name]
            rows = arriving[stream.name].with_row_index("row")
            read = rows.filter(~pl.col("row").is_in(bad)).drop("row")
            oldest = late_below.get(stream.name)
            kept = read if oldest is None else read.filter(pl.col("at").to_physical() >= oldest)
            self.kept[stream.name] = kept
            aside, late = aside + rows.height - read.height, late + read.height - kept.height
            self.accepted[stream.name] = self.accepted[stream.name].vstack(kept)
            assert last.streams[stream.name].accepted == self.accepted[stream.name].height
        reasons = Counter(str(letter["reason"]) for letter in self.job.letters(last.batch))
        assert reasons == +Counter({"late": late, "set aside: ValueError: poison": aside})
        self.check_files(last)
        self.check_plan(graph, last)
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
            for name, frame in self.accepted.items():
                connection.register(name, frame.to_arrow())
            for name, query in QUERIES.items():
                now = Counter(connection.execute(to_duckdb(query, CATALOG)).fetchall())
                new, self.answers[name] = now - self.answers[name], now
                if name in last.queries:
                    self.compare(name, new)

    def check_files(self, last: Manifest) -> None:
        """Everything that the manifest lists is there as it was written, and nothing else is."""
        state = Path(self.job.checkpoint.state)
        state_root(str(state)).verify(last.runs)
        listed = {run.path for run in last.runs}
        files = {str(path.relative_to(state)) for path in state.rglob("*.arrow")}
        assert files == listed or (self.beside and all("-merged-" in path for path in files - listed))
        assert not list(self.job.output.rglob(".*.pending*"))
        assert not list((self.job.checkpoint.root / "commits").glob("switch-*"))

    def check_plan(self, graph: PhysicalGraph, last: Manifest) -> None:
        """Tell what the batch's plan has."""
        layouts = layouts_under(last)
        slices = [layout for layout in layouts.values() if isinstance(layout, Layout)]
        if slices:
            event("slices of event time")
        if any(len(layout.segments) > 1 for layout in slices):
            event("slices whose boundaries moved")
        if rescaled_stores(layouts):
            event("tuples under older numbers of tasks")
        if any(not store.is_base for store in graph.stores):
            event("an intermediate result")

    def compare(self, name: str, new: Answer) -> None:
        found = self.job.rows(name, self.batch)
        since = self.job.last.queries[name].complete_since_us
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


def layouts_under(manifest: Manifest) -> Layouts:
    """The layouts under which a batch was worked on."""
    return {store: state.layout for store, state in manifest.stores.items() if state.layout is not None}


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
