"""Grids of a running topology take other shapes, also through crashes, and told by their plan's ids."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow as pa
import pytest

from jobs.control_plane.epoch_reporter import EpochLog
from jobs.control_plane.events import batch_completed
from jobs.control_plane.latency_window import LatencyWindow
from jobs.driver.coordinator import Committed
from jobs.protocol import EpochCompleted
from jobs.recovery.checkpoint import Change
from jobs.shapes.live import LiveShapes, shape_labels
from jobs.sources.planner import PlannedBatch
from optimizer.algebra.errors import InputError
from optimizer.partitioning.matrix.groups import grids_by_stream
from optimizer.physical.graph import PhysicalGraph
from tests.unit.adaptation.test_shapes import planned
from tests.unit.runtime.crashes import Killed
from tests.unit.runtime.in_process import Topology

SIZES = ((40, 40), (10, 400), (10, 600), (0, 900), (900, 0), (3000, 5), (2000, 1))
"""Tuples of r and s of each batch: first s is the larger one, then r."""
EPOCH = 2


class Running(Topology):
    """A topology whose coordinator is the live job's, as far as shapes go."""

    def __init__(self, graph: PhysicalGraph, folder: Path) -> None:
        super().__init__(graph, folder)
        self.shapes = LiveShapes(self.checkpoint, 0.0)
        self.log = EpochLog("run", EPOCH, None)
        self.epochs: list[EpochCompleted] = []
        self.labels: list[dict[str, str]] = []
        self.batches: list[Committed] = []

    def plan_of(self, planned: PlannedBatch) -> Change:
        change = self.checkpoint.newest_change()
        assert change is not None
        return self.shapes.shaped(planned, change)

    def batch_committed(self, committed: Committed) -> None:
        super().batch_committed(committed)
        self.shapes.committed(committed.manifest)
        self.batches.append(committed)
        self.labels.append(shape_labels(committed.graph))
        as_planned = self.shapes.as_planned(committed.change)
        if (epoch := self.log.add(committed, as_planned)) is not None:
            self.epochs.append(epoch)
        if committed.switched:
            self.checkpoint.forget_changes(committed.change.number, {committed.manifest.plan})

    def restart(self) -> None:
        """As after `kill -9`: only files are left."""
        self._protocol = self._new_protocol()
        self._protocol.recover()
        self.shapes = LiveShapes(self.checkpoint, 0.0)


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(planned(), tmp_path)


def tables(batch: int) -> dict[str, pa.Table]:
    """Tuples a millisecond apart; values that few pairs fulfil."""
    found = {}
    for stream, count in zip("rs", SIZES[batch], strict=True):
        numbers = range(10_000 * batch, 10_000 * batch + count)
        found[stream] = pa.table(
            {
                "at": pa.array([1000 * n for n in numbers], pa.timestamp("us", "UTC")),
                "a": pa.array(
                    [(n * 7919) % 1009 + (1000 if stream == "r" else 0) for n in numbers], pa.int64()
                ),
                "b": pa.array([0 for _ in numbers], pa.int64()),
            }
        )
    return found


def expected() -> Counter[int]:
    whole = {s: pa.concat_tables([tables(batch)[s] for batch in range(len(SIZES))]) for s in "rs"}
    with duckdb.connect() as connection:
        for stream, table in whole.items():
            connection.register(stream, table)
        return Counter(x for (x,) in connection.execute("SELECT r.a FROM r, s WHERE r.a < s.a").fetchall())


def test_shapes_follow_what_comes_and_survive_crashes(tmp_path: Path) -> None:
    uninterrupted, killed = Running(planned(), tmp_path / "a"), Running(planned(), tmp_path / "b")
    for batch in range(len(SIZES)):
        uninterrupted.feed(tables(batch))
        # Once before the commit, and once right behind it, before anything is noted.
        killed.die_in(tables(batch))
        killed.restart()
        with patch.object(killed.shapes, "committed", side_effect=Killed), suppress(Killed):
            killed.feed(tables(batch))
        killed.labels.append(shape_labels(killed.checkpoint.graph(killed.last.plan)))  # type: ignore[union-attr]
        killed.restart()
    assert len({json.dumps(labels) for labels in uninterrupted.labels}) >= 3
    assert uninterrupted.labels == killed.labels
    for one in (uninterrupted, killed):
        assert Counter(one.answers("q")["x"].to_list()) == expected()
    # Few tuples were copied: at most twice as many as came (Lemma 4.5).
    moved = sum(committed.manifest.figures.moved for committed in uninterrupted.batches)
    assert 0 < moved < 2 * sum(map(sum, SIZES)) * 16
    assert any(committed.manifest.figures.switch_seconds > 0 for committed in uninterrupted.batches)


def test_they_are_told_of_by_the_plan_s_own_stores(running: Running) -> None:
    for batch in range(len(SIZES)):
        running.feed(tables(batch))
    graph = running.graph
    stores = {store.id for store in graph.stores}
    committed = running.batches[-1]
    as_planned = running.shapes.as_planned(committed.change)
    assert as_planned is not None
    event = as_planned.batch(batch_completed(committed, "run", LatencyWindow(), limited=False))
    assert set(event.stores) == stores
    assert event.shapes
    now = shape_labels(committed.graph)
    for stream, store in grids_by_stream(graph).items():
        if store.id in event.shapes:
            (rows,) = event.shapes[store.id]
            assert now[stream] == f"{store.tasks // rows}x{rows}"
    # Counts of batches in several shapes add up to those of one plan.
    assert [epoch.last_batch - epoch.first_batch + 1 for epoch in running.epochs] == [EPOCH] * 3
    for epoch in running.epochs:
        assert set(epoch.held) == stores
        own = SIZES[epoch.first_batch : epoch.last_batch + 1]
        assert epoch.accepted == {"r": sum(r for r, _ in own), "s": sum(s for _, s in own)}
        assert stores < set(epoch.cores)


def test_an_earlier_plan_that_is_deployed_again_is_kept_with_its_shapes(running: Running) -> None:
    for batch in range(3):
        running.feed(tables(batch))
    shaped = running.last.plan  # type: ignore[union-attr]
    again = running.checkpoint.record_change(running.graph, None, "deployed")
    assert shaped != again.plan
    running.checkpoint.forget_changes(again.number)
    assert not running.checkpoint.plan_path(shaped).exists()
    running.feed(tables(3))
    assert running.last.plan == shaped  # type: ignore[union-attr]
    assert running.checkpoint.plan_path(shaped).exists()


def test_shapes_that_cannot_be_read_are_refused(running: Running) -> None:
    running.feed(tables(0))
    path = running.checkpoint.root / "shapes.json"
    assert path.exists()
    path.write_text("{")
    with pytest.raises(InputError, match="delete the file"):
        LiveShapes(running.checkpoint, 0.0)
