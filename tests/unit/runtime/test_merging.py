"""Runs merged behind a commit: listed by a later one, or given up, and never seen in between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from jobs.driver.background_compaction import LONGEST_BATCHES, Merging
from jobs.driver.batch_totals import Gathered, gather
from jobs.plan.index import index_of
from jobs.plan.tuples import ARRIVAL
from jobs.recovery.manifest import BatchFigures, Manifest
from jobs.storage.partition import CompactionPolicy, PartitionState, state_root
from jobs.storage.run import RunRef
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.stepwise import Stepwise

COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT))
CATALOG = Catalog(tuple(Stream(name, COLUMNS, "at") for name in "rs"))
TEXT = "SELECT r.k AS k FROM r [RANGE 60 SECONDS], s [RANGE 60 SECONDS] WHERE r.k = s.k"
GRAPH = plan([parse_query(TEXT, "q", CATALOG)], CATALOG, method="flat", tasks=1).graph
STORE = next(store for store in GRAPH.stores if store.inputs[0].stream == "r")
TIMES = index_of(GRAPH).stored_times(STORE)
KEY = TIMES[0].replace(".at", ".k")
NOTHING = gather(GRAPH, ())
POLICY = CompactionPolicy(fan=3, smallest_rows=10, spans_per_retention=1)
SECOND = 1_000_000


class Batches:
    """Batches of two tuples each, a second apart, committed with what was merged meanwhile."""

    def __init__(self, folder: Path, share_bytes: int | None = None, change: int = 1) -> None:
        self.root = str(folder)
        self.stepwise = Stepwise()
        self.merging = Merging(self.root, share_bytes, POLICY, self.stepwise)
        self.change = change
        self.last: Manifest | None = None
        self.watermark_us: int | None = None

    def commit(self, dropped: tuple[RunRef, ...] = ()) -> Gathered:
        batch = 0 if self.last is None else self.last.batch + 1
        state = PartitionState(self.root, 0, batch, {}, POLICY)
        run = state.insert(STORE, TIMES, 1, frame(batch))
        done = replace(NOTHING, added=(run,), dropped=dropped)
        before = None if self.last is None else replace(self.last, change=self.change)
        done = self.merging.adopted(done, before)
        gone = {run.path for run in done.dropped}
        runs = (*(r for r in (before.runs if before else ()) if r.path not in gone), *done.added)
        ordered = tuple(sorted(runs, key=lambda run: run.min_arrival))
        figures = BatchFigures(2, {}, {}, 0, ())
        self.last = Manifest(
            batch, "p", 0, ordered, {}, {}, {}, (), self.watermark_us, self.change, figures, tuple(gone)
        )
        state_root(self.root).delete(gone)
        self.merging.begin(self.last, GRAPH)
        return done

    def begin_a_merge(self) -> tuple[RunRef, ...]:
        """Three commits, behind the last of which a merge of their runs begins."""
        for _ in range(2):
            self.commit()
            self.stepwise.step(1)
        self.commit()
        assert self.last is not None
        return self.last.runs

    def seconds(self) -> list[int]:
        """When the tuples of the listed runs were."""
        assert self.last is not None
        frames = [state_root(self.root).read(run, keep=False) for run in self.last.runs]
        return sorted(t // SECOND for f in frames for t in f[TIMES[0]].to_physical().to_list())

    def files(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in Path(self.root).rglob("*.arrow")}

    def listed(self) -> set[str]:
        assert self.last is not None
        return {run.path for run in self.last.runs}


def frame(batch: int) -> pl.DataFrame:
    seconds = [batch, batch + 10]
    columns = {
        TIMES[0]: [second * SECOND for second in seconds],
        KEY: seconds,
        ARRIVAL: [2 * batch, 2 * batch + 1],
    }
    return pl.DataFrame(columns).with_columns(pl.col(TIMES[0]).cast(pl.Datetime("us", "UTC")))


def expected(batches: range) -> list[int]:
    return sorted(second for batch in batches for second in (batch, batch + 10))


@pytest.mark.parametrize("share_bytes", [None, 40_000])
def test_a_commit_lists_what_was_merged_before_it(tmp_path: Path, share_bytes: int | None) -> None:
    batches = Batches(tmp_path, share_bytes)
    batches.begin_a_merge()
    batches.stepwise.step(1)
    assert len(batches.listed()) == 3
    merged = batches.files() - batches.listed()
    assert len(merged) == 1
    done = batches.commit()
    assert [run.rows for run in done.added] == [2, 6]
    assert batches.files() == batches.listed() > merged
    assert batches.seconds() == expected(range(4))
    assert (done.resident_bytes > 0) == (share_bytes is not None)


def test_a_slow_merge_is_waited_for_in_the_end(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    batches.begin_a_merge()
    for _ in range(LONGEST_BATCHES - 1):
        assert [run.rows for run in batches.commit().added] == [2]
    assert [run.rows for run in batches.commit().added] == [2, 6]
    assert batches.seconds() == expected(range(3 + LONGEST_BATCHES))


def test_runs_that_have_left_are_not_brought_back(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    runs = batches.begin_a_merge()
    batches.stepwise.step(1)
    batches.commit(dropped=runs[:1])
    assert batches.seconds() == expected(range(1, 4))
    assert batches.files() == batches.listed()


def test_runs_that_are_gone_when_their_merge_begins_are_left_alone(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    runs = batches.begin_a_merge()
    batches.commit(dropped=runs[:1])
    batches.stepwise.step(1)
    batches.commit()
    assert batches.seconds() == expected(range(1, 5))
    assert batches.files() == batches.listed()


def test_another_plan_lists_nothing_that_was_chosen_under_the_one_before(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    batches.begin_a_merge()
    batches.stepwise.step(1)
    batches.change = 2
    batches.commit()
    assert batches.seconds() == expected(range(4))
    assert len(batches.listed()) == 4
    assert batches.files() == batches.listed()


def test_tuples_that_expired_are_left_out_and_counted(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    (retention,) = STORE.retention
    assert retention.reach_us is not None
    batches.watermark_us = retention.reach_us + SECOND
    batches.begin_a_merge()
    batches.stepwise.step(1)
    done = batches.commit()
    assert [run.rows for run in done.added] == [2, 5]
    assert done.stores[STORE.id].evicted == 1
    assert batches.seconds() == expected(range(4))[1:]


@pytest.mark.parametrize("dies", [False, True])
def test_who_ends_leaves_nothing_and_who_dies_what_a_start_deletes(tmp_path: Path, dies: bool) -> None:
    batches = Batches(tmp_path)
    runs = batches.begin_a_merge()
    made = {run.path for run in batches.merging.made()}
    assert len(made) == 1
    assert batches.files() == batches.listed() | made
    if dies:
        assert set(state_root(batches.root).delete_others(runs)) == made
    else:
        batches.merging.close()
    assert batches.files() == batches.listed()


def test_what_a_merge_raises_reaches_the_batch(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    for run in batches.begin_a_merge():
        (tmp_path / run.path).write_bytes(b"damaged")
    batches.stepwise.step(1)
    with pytest.raises(pa.ArrowInvalid):
        batches.commit()


def test_a_thread_merges_by_itself(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    batches.merging = Merging(str(tmp_path), None, POLICY)
    for _ in range(4 * LONGEST_BATCHES):
        batches.commit()
    batches.merging.close()
    assert batches.seconds() == expected(range(4 * LONGEST_BATCHES))
    assert len(batches.listed()) < 4 * LONGEST_BATCHES
    assert batches.files() == batches.listed()
