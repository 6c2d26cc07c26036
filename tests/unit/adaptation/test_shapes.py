"""Shapes that are chosen for a batch before it begins, without Spark: the load at the end of every batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.recovery.batch_history import BatchLine
from jobs.recovery.manifest import BatchCounts, BatchFigures
from jobs.shapes.policies import Shapes
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.logical.window import Sliding
from optimizer.partitioning.matrix import best_shape, input_load, with_groups
from optimizer.partitioning.matrix.groups import grids_by_stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import SourceRule
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics

COLUMNS = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.BIGINT), ("b", ColumnType.BIGINT))
CATALOG = Catalog(tuple(Stream(name, COLUMNS, "at") for name in "rs"))
TASKS = 16
BATCH_US = 400_000
"""Event time of a batch, so that a window of a second lasts for two batches and a half."""


def planned(condition: str = "r.a < s.a") -> PhysicalGraph:
    query = parse_query(f"SELECT r.a AS x FROM r, s WHERE {condition}", "q", CATALOG)
    statistics = FixedStatistics(rates={"r": 100.0, "s": 100.0})
    return plan([query], CATALOG, statistics, "flat", Options(storage_weight=0.0), tasks=TASKS).graph


@dataclass
class Replay:
    """Batches of r and s, counted as the runtime counts them."""

    graph: PhysicalGraph
    """As it was planned."""
    passing: float = 1.0
    """The part of the tuples of s that its filter lets through."""
    shapes: Shapes = field(default_factory=lambda: Shapes(0.0))
    received: list[tuple[float, float]] = field(default_factory=list)

    def feed(self, r: int, s: int) -> PhysicalGraph:
        """Returns the plan under which the batch ran."""
        batch = len(self.received)
        used = with_groups(self.graph, self.shapes.chosen(self.graph, {"r": r, "s": s}))
        arrived, passed = {"r": r, "s": s}, {"r": r, "s": round(self.passing * s)}
        sources = {rule.id: rule for rule in used.rules if isinstance(rule, SourceRule)}
        sent = {
            edge.id: arrived[rule.stream] if rule.filter is None else passed[rule.stream]
            for edge in used.edges
            for rule in [sources[edge.origin]]
        }
        counts = BatchCounts(
            accepted=arrived, edges=sent, newest_us=(batch + 1) * BATCH_US if r + s else None
        )
        figures = BatchFigures(r + s, {}, {}, 0, (), counts)
        self.shapes.add(BatchLine(batch, 0, batch, "plan", batch, batch + 1, figures), used)
        self.received.append((passed["r"], passed["s"]))
        return used


def columns(graph: PhysicalGraph) -> tuple[int, int]:
    stores = grids_by_stream(graph)
    (of_r,), (of_s,) = stores["r"].grids, stores["s"].grids
    return of_r.columns, of_s.columns


def load_ratio(graph: PhysicalGraph, held: Sequence[tuple[float, float]]) -> float:
    """What a task holds, over what it would hold in the best shape."""
    r, s = (sum(side) for side in zip(*held, strict=True))
    of_r, of_s = columns(graph)
    return (r / of_r + s / of_s) / input_load(best_shape(TASKS, r, s), r, s)


SIZES = st.integers(0, 9).map(lambda exponent: 4**exponent) | st.just(0)
BATCHES = st.lists(st.tuples(SIZES, SIZES).filter(any), min_size=1, max_size=30)


@given(BATCHES)
@settings(deadline=None)
def test_the_load_is_below_the_bound_at_the_end_of_every_batch(batches: list[tuple[int, int]]) -> None:
    """Of the first one too, and of one that brings more than all before it."""
    replay = Replay(planned())
    for r, s in batches:
        assert load_ratio(replay.feed(r, s), replay.received) <= 1.25


@given(BATCHES)
@settings(deadline=None)
def test_the_load_is_below_the_bound_while_windows_pass(batches: list[tuple[int, int]]) -> None:
    """A batch evicts by the event time of the ones before it: a second reaches back over three of them."""
    graph = planned()
    # Of its own accord the optimizer cuts stores with a window into slices.
    stores = tuple(replace(store, retention=(Sliding(1_000_000),)) for store in graph.stores)
    replay = Replay(replace(graph, stores=stores))
    for r, s in batches:
        assert load_ratio(replay.feed(r, s), replay.received[-4:]) <= 1.25


def test_shapes_are_those_of_what_passes_the_filters() -> None:
    """By what the plan expects at first, then as in the batch before."""
    replay = Replay(planned(condition="r.a < s.a AND s.b > 7"), passing=1 / 16)
    replay.feed(1000, 16_000)
    for _ in range(3):
        assert columns(replay.feed(1000, 16_000)) == (4, 4)
    unfiltered = Replay(planned())
    assert columns(unfiltered.feed(1000, 16_000)) == (1, 16)


def test_a_store_with_another_number_of_tasks_is_looked_at_anew() -> None:
    replay = Replay(planned())
    replay.feed(1000, 16_000)
    rows = {store.id: (2,) for store in replay.graph.stores}
    fewer = tuple(replace(store, tasks=4) for store in replay.graph.stores)
    replay.graph = with_groups(replace(replay.graph, stores=fewer), rows)
    assert columns(replay.feed(10, 10)) == (1, 4)


@pytest.mark.parametrize("first", [(500, 0), (0, 500)])
def test_a_stream_that_comes_later_finds_its_shape(first: tuple[int, int]) -> None:
    replay = Replay(planned())
    assert 16 in columns(replay.feed(*first))
    assert columns(replay.feed(8000 - first[0], 8000 - first[1])) == (4, 4)
