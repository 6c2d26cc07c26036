"""A store partition against a list: insert, evict, compact, commit, die before the commit, recover."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jobs.plan.tuples import ARRIVAL
from jobs.storage.partition import CompactionPolicy, PartitionState, state_root
from jobs.storage.run import RUNS, RunRef
from optimizer.logical.window import UNBOUNDED, Sliding, window_of
from optimizer.physical.graph import GraphStore, StoredInput

TIMES = ("r.at", "s.at")
RETENTION = (20, 50)
Row = tuple[int, int, int]
"""Event times of both inputs, arrival number."""


class PartitionMachine(RuleBasedStateMachine):
    """A materialized result of two inputs; `model` holds every tuple ever committed."""

    @initialize(
        fan=st.integers(2, 4),
        spans=st.sampled_from((1, 4)),
        retention=st.sampled_from((RETENTION, (None, 30), (None, None))),
    )
    def begin(self, fan: int, spans: int, retention: tuple[int | None, int | None]) -> None:
        self.folder = tempfile.mkdtemp()
        self.policy = CompactionPolicy(fan=fan, smallest_rows=2, most_rows=40, spans_per_retention=spans)
        self.store = GraphStore(
            id="S/1",  # an id need not be a file name
            label="r*s",
            inputs=(StoredInput("r", "r", ("at",)), StoredInput("s", "s", ("at",))),
            partitioning=None,
            tasks=2,
            retention=(window_of(retention[0]), window_of(retention[1])),
        )
        self.batch = 0
        self.watermark: int | None = None
        self.committed: tuple[RunRef, ...] = ()
        self.model: list[Row] = []
        self.evicted = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @rule(
        rows=st.lists(st.tuples(st.integers(-15, 15), st.integers(-15, 15)), max_size=6),
        more=st.lists(st.tuples(st.integers(-15, 15), st.integers(-15, 15)), max_size=2),
        dies=st.booleans(),
        advance=st.integers(0, 4),
    )
    def work_on_a_batch(
        self, rows: list[tuple[int, int]], more: list[tuple[int, int]], dies: bool, advance: int
    ) -> None:
        now = self.batch * 5
        state = self.state()
        evicted = state.evict(self.store, self.watermark)
        compacted = state.compact(self.store, TIMES, self.watermark, level=1)
        added = list(compacted.added)
        fresh: list[Row] = []
        inserted: tuple[RunRef, ...] = ()
        for level, part in ((1, rows), (3, more)):
            if part:
                new = [
                    (now + a, now + b, (self.batch << 8) + (level << 4) + i) for i, (a, b) in enumerate(part)
                ]
                # A later level runs in a process of its own, which is told what was inserted.
                at_work = self.state(inserted)
                added.append(at_work.insert(self.store, TIMES, level, frame(new)))
                inserted = at_work.inserted
                fresh += new
        visible = self.read(self.state(inserted).runs(self.store.id))
        assert visible == sorted(self.read(self.committed) + fresh)
        if dies:
            listed = {run.path for run in self.committed}
            stale = set(state_root(self.folder).delete_others(self.committed))
            assert stale == {run.path for run in added if run.path not in listed}
            return
        gone = {run.path for run in (*evicted.dropped, *compacted.dropped)}
        kept = [run for run in self.committed if run.path not in gone]
        assert all(self.within_retention(run) for run in kept)
        self.committed = RUNS.validate_json(RUNS.dump_json((*kept, *added)))
        state_root(self.folder).delete(sorted(gone))
        self.model += fresh
        self.evicted += evicted.tuples + compacted.expired
        self.batch += 1
        newest = max((max(a, b) for a, b, _ in fresh), default=None)
        if newest is not None:
            self.watermark = max(
                self.watermark or newest - 10, newest - 10, (self.watermark or 0) + advance - 12
            )

    @invariant()
    def what_is_needed_is_stored_and_nothing_else_appears(self) -> None:
        if not hasattr(self, "model"):
            return
        stored = self.read(self.committed)
        assert set(stored) <= set(self.model)
        assert len(set(stored)) == len(stored)
        assert {row for row in self.model if self.needed(row)} <= set(stored)
        assert len(self.model) - self.evicted == len(stored) == sum(run.rows for run in self.committed)

    @invariant()
    def figures_and_files_agree(self) -> None:
        if not hasattr(self, "model"):
            return
        files = {
            str(path.relative_to(self.folder)) for path in Path(self.folder).rglob("*") if path.is_file()
        }
        assert files == {run.path for run in self.committed}
        for run in self.committed:
            rows = self.read((run,))
            assert run.bytes == os.path.getsize(Path(self.folder) / run.path)
            assert run.min_times_us == (min(r[0] for r in rows), min(r[1] for r in rows))
            assert run.max_times_us == (max(r[0] for r in rows), max(r[1] for r in rows))
            assert (run.min_arrival, run.max_arrival) == (min(r[2] for r in rows), max(r[2] for r in rows))

    def state(self, inserted: tuple[RunRef, ...] = ()) -> PartitionState:
        committed = {self.store.id: self.committed}
        return PartitionState(self.folder, 1, self.batch, committed, self.policy, inserted)

    def needed(self, row: Row) -> bool:
        if self.watermark is None:
            return True
        return all(
            retention.reach_us is None or time + retention.reach_us >= self.watermark
            for time, retention in zip(row, self.store.retention, strict=False)
        )

    def within_retention(self, run: RunRef) -> bool:
        return self.watermark is None or all(
            retention.reach_us is None or newest + retention.reach_us >= self.watermark
            for newest, retention in zip(run.max_times_us, self.store.retention, strict=True)
        )

    def read(self, runs: tuple[RunRef, ...]) -> list[Row]:
        state = self.state()
        return sorted(
            row
            for run in runs
            for row in state.scan(run).select(pl.col(pl.Datetime).to_physical(), pl.col(ARRIVAL)).rows()
        )


def frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(
        rows, schema={"r.at": pl.Int64, "s.at": pl.Int64, ARRIVAL: pl.Int64}, orient="row"
    ).with_columns(pl.col(*TIMES).cast(pl.Datetime("us", "UTC")))


PartitionMachine.TestCase.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, derandomize=True
)
TestPartition = PartitionMachine.TestCase


def test_small_runs_are_merged_and_ordered_by_time(tmp_path: Path) -> None:
    store = GraphStore("S", "r", (StoredInput("r", "r", ("at",)),), None, 1, (UNBOUNDED,))
    policy = CompactionPolicy(fan=3, smallest_rows=10)
    runs: tuple[RunRef, ...] = ()
    for batch in range(3):
        state = PartitionState(str(tmp_path), 0, batch, {"S": runs}, policy)
        rows = [(10 - batch, 0, batch)]
        runs = (*runs, state.insert(store, ("r.at",), 1, frame(rows).drop("s.at")))
    state = PartitionState(str(tmp_path), 0, 3, {"S": runs}, policy)
    merged = state.compact(store, ("r.at",), None, level=1)
    assert merged.dropped == runs
    assert [run.rows for run in merged.added] == [3]
    assert state.scan(merged.added[0])["r.at"].to_physical().to_list() == [8, 9, 10]


def test_a_run_stays_until_the_watermark_passes_retention(tmp_path: Path) -> None:
    store = GraphStore("S", "r", (StoredInput("r", "r", ("at",)),), None, 1, (Sliding(60),))
    state = PartitionState(str(tmp_path), 0, 0, {})
    run = state.insert(store, ("r.at",), 1, frame([(100, 0, 1)]).drop("s.at"))
    later = PartitionState(str(tmp_path), 0, 1, {"S": (run,)})
    assert later.evict(store, 160).dropped == ()
    assert later.evict(store, 161).dropped == (run,)
    assert later.evict(replace(store, retention=(UNBOUNDED,)), 161).dropped == ()


def test_runs_of_results_are_written_anew_as_results_expire(tmp_path: Path) -> None:
    """Pairs live for up to a window, as long as their older tuple: half as many are needed as were found."""
    inputs = (StoredInput("r", "r", ("at",)), StoredInput("s", "s", ("at",)))
    store = GraphStore("S", "r*s", inputs, None, 1, (Sliding(100), Sliding(100)))
    runs: tuple[RunRef, ...] = ()
    model: list[Row] = []
    written, shares = 0, []
    for batch in range(60):
        now = 5 * batch
        state = PartitionState(str(tmp_path), 0, batch, {"S": runs})
        gone = state.evict(store, now).dropped
        merged = state.compact(store, TIMES, now, level=1)
        new = [
            (now - age * (age % 2), now - age * (1 - age % 2), (batch << 8) + age) for age in range(0, 100, 3)
        ]
        left = [run for run in runs if run not in {*gone, *merged.dropped}]
        runs = (*left, *merged.added, state.insert(store, TIMES, 2, frame(new)))
        written += sum(run.rows for run in merged.added)
        model = [row for row in [*model, *new] if min(row[:2]) + 100 >= now]
        held = [row for run in runs for row in state.scan(run)[ARRIVAL].to_list()]
        assert {arrival for _, _, arrival in model} <= set(held)
        assert len(held) == len(set(held))
        shares.append(len(held) / len(model))
    full = shares[20:]
    assert max(full) < 1.5
    assert sum(full) / len(full) < 1.3
    assert written < 4 * 34 * 60
