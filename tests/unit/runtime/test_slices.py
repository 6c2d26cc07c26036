"""Slices of event time: no pair is missed or met twice, and boundaries follow the arrivals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.driver.layouts import layouts_of
from jobs.partitioning.router import send
from jobs.partitioning.slices import MOST_CHANGE, Layout, Segment, first_layout, slice_numbers, touched
from jobs.plan.index import index_of
from jobs.plan.tuples import ARRIVAL, EVERY_TASK, column_name
from jobs.recovery.manifest import BatchFigures, Manifest, StoreState, StreamState
from jobs.storage.run import RunRef
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import PhysicalGraph, Slices
from optimizer.planner.plan import plan
from optimizer.sql import parse_query

SECOND = 1_000_000
COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT))
CATALOG = Catalog(tuple(Stream(name, COLUMNS, "at") for name in "rst"))
BAND = "SELECT r.k AS a, s.k AS b FROM r [RANGE 4 SECONDS], s [RANGE 8 SECONDS] WHERE r.k < s.k"
HALF_OPEN = "SELECT r.k AS a, s.k AS b FROM r, s [RANGE 8 SECONDS] WHERE r.k < s.k"
THREE = (
    "SELECT r.k AS a, s.k AS b, t.k AS c FROM r [RANGE 4 SECONDS], s [RANGE 8 SECONDS], t [RANGE 2 SECONDS] "
    "WHERE r.k < s.k AND s.k < t.k"
)


def sliced(text: str, slices: Slices, tasks: int = 3) -> PhysicalGraph:
    made = plan([parse_query(text, "q", CATALOG)], CATALOG, method="flat", tasks=tasks)
    return slice_all(made.graph, slices)


TIMES = st.integers(-50, 150)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Layouts as they come to be: each segment begins behind the one before it."""
    segments = [Segment(draw(st.integers(-20, 20)), draw(st.integers(1, 30)), draw(st.integers(-9, 9)))]
    for _ in range(draw(st.integers(0, 4))):
        last = segments[-1]
        newest = last.since_us + draw(st.integers(0, 40))
        first = last.first + (newest - last.since_us) // last.width_us + 1
        segments.append(Segment(newest + 1, draw(st.integers(1, 30)), first))
    return Layout(tuple(segments), 1)


@given(layout=layouts(), times=st.lists(TIMES, min_size=2))
def test_numbers_of_slices_only_grow_with_event_time(layout: Layout, times: list[int]) -> None:
    ascending = np.sort(np.array(times, dtype=np.int64))
    numbers = slice_numbers(layout, ascending)
    assert (np.diff(numbers) >= 0).all()
    for segment in layout.segments[1:]:
        around = slice_numbers(layout, np.array([segment.since_us - 1, segment.since_us], dtype=np.int64))
        assert around[1] == segment.first == around[0] + 1, "a boundary of segments is one of slices"


@given(
    layout=layouts(),
    tasks=st.integers(1, 5),
    stored=st.lists(TIMES, min_size=1, max_size=30),
    probes=st.lists(st.tuples(TIMES, st.integers(0, 40), st.one_of(st.none(), st.integers(0, 40))),
    min_size=1),
)  # fmt: skip
def test_every_pair_within_the_windows_meets_exactly_once(
    layout: Layout, tasks: int, stored: list[int], probes: list[tuple[int, int, int | None]]
) -> None:
    places = slice_numbers(layout, np.array(stored, dtype=np.int64)) % tasks
    for at, back, ahead in probes:
        oldest = np.array([at - back], dtype=np.int64)
        newest = None if ahead is None else np.array([at + ahead], dtype=np.int64)
        found = touched(layout, oldest, newest, tasks)
        asked = [task for task in range(tasks) if found.in_task(task)[0]]
        for time, place in zip(stored, places.tolist(), strict=True):
            if at - back <= time and (ahead is None or time <= at + ahead):
                assert asked.count(place) == 1
        assert sum(found.counted_in(task) for task in range(tasks)) == 1, (
            "it counts as one tuple that was sent"
        )
        assert found.everywhere == (len(asked) == tasks)


def test_windows_that_exclude_each_other_ask_nobody() -> None:
    layout = Layout((Segment(0, 10, 0),), 10)
    found = touched(layout, np.array([50]), np.array([20]), 3)
    assert not any(found.in_task(task)[0] for task in range(3))
    assert sum(found.counted_in(task) for task in range(3)) == 0


def rows(graph: PhysicalGraph, edge: str, *times_s: tuple[float, ...]) -> pl.DataFrame:
    """Tuples on an edge with these event times, one per input in the edge's order."""
    index = index_of(graph)
    columns = index.edges[edge].columns
    inputs = sorted({column.input for column in columns})
    data: dict[str, pl.Series] = {}
    for number, name in enumerate(inputs):
        moments = [round(row[number] * SECOND) for row in times_s]
        for column in columns:
            if column.input == name:
                series = pl.Series(moments)
                if column.name == "at":
                    series = series.cast(pl.Datetime("us", "UTC"))
                data[column_name(column)] = series
    return pl.DataFrame(data).with_columns(pl.Series(ARRIVAL, range(len(times_s)), dtype=pl.Int64))


def to(graph: PhysicalGraph, edge: str, *times_s: tuple[float, ...]) -> dict[int, int]:
    """How many of these tuples each task is sent."""
    messages = send(index_of(graph), [edge], rows(graph, edge, *times_s))
    return {message.partition: message.body.height for message in messages}


def edge_into(graph: PhysicalGraph, stream: str, kind: str, level: int = 1) -> str:
    stores = {store.id: store.inputs[0].stream for store in graph.stores}
    receivers = {rule.edge: rule.kind for rule in graph.rules if rule.kind != "source"}
    (edge,) = [
        e.id for e in graph.edges
        if stores[e.target] == stream and receivers[e.id] == kind and e.level == level
    ]  # fmt: skip
    return edge


def test_a_tuple_is_stored_once_and_asked_for_where_its_window_reaches() -> None:
    graph = sliced(BAND, Slices(4), tasks=16)
    # s is kept for 8 s in slices of 2 s.
    assert to(graph, edge_into(graph, "s", "store"), (0,), (1.9,), (2,), (31,), (33,)) == {0: 3, 1: 1, 15: 1}
    # r at 20 s meets s from 12 s to 24 s.
    assert to(graph, edge_into(graph, "s", "probe"), (20,)) == dict.fromkeys(range(6, 13), 1)
    # r at 0 s reaches back before 1970: slices -4 to 2 of the ring.
    assert to(graph, edge_into(graph, "s", "probe"), (0,)) == dict.fromkeys((12, 13, 14, 15, 0, 1, 2), 1)


def test_all_tasks_get_one_message_where_windows_reach_around() -> None:
    graph = sliced(BAND, Slices(4), tasks=3)
    assert to(graph, edge_into(graph, "s", "probe"), (0,), (20,)) == {EVERY_TASK: 2}


def test_without_a_window_of_the_probing_side_partners_may_be_newer_without_end() -> None:
    graph = sliced(HALF_OPEN, Slices(4), tasks=16)
    stores = {store.inputs[0].stream: store for store in graph.stores}
    assert isinstance(stores["s"].partitioning, Slices)
    assert stores["r"].partitioning is None, "what is kept for ever has no slices"
    assert to(graph, edge_into(graph, "s", "probe"), (20,)) == {EVERY_TASK: 1}


def test_all_bound_inputs_narrow_what_is_asked() -> None:
    graph = sliced(THREE, Slices(8), tasks=16)
    index = index_of(graph)
    (edge,) = [
        e.id for e in graph.edges
        if e.level == 2 and e.kind == "slices" and index.stores[e.target].inputs[0].stream == "t"
        and index.start_of(e) == "r"
    ]  # fmt: skip
    # t is kept for 2 s in slices of 250 ms. With r at 20 s and s at 19 s it lies from 18 s to 24 s.
    assert to(graph, edge, (20, 19)) == {EVERY_TASK: 1}
    # With s at 12.5 s it cannot be newer than 20.5 s: slices 72 to 82.
    assert to(graph, edge, (20, 12.5)) == dict.fromkeys((n % 16 for n in range(72, 83)), 1)
    # Too far apart for any t between them.
    assert to(graph, edge, (20, 9)) == {}


# Boundaries


def manifest(
    graph: PhysicalGraph, layout: Layout | None, newest_s: float, inserted: int, held: int
) -> Manifest:
    """A commit with `held` tuples of s, one every second up to the newest, and `inserted` so far."""
    (store,) = [store for store in graph.stores if store.inputs[0].stream == "s"]
    newest = round(newest_s * SECOND)
    run = RunRef(store.id, 0, "a", held, 0, (newest - held * SECOND,), (newest,), 0, held)
    state = StoreState(inserted=inserted, layout=layout)
    streams = {"s": StreamState(max_event_time_us=newest)}
    figures = BatchFigures(0, {}, {}, 0, ())
    return Manifest(0, "p", 0, (run,), streams, {store.id: state}, {}, (), newest, 0, figures, ())


def layout_after(graph: PhysicalGraph, previous: Manifest | None, batch: int = 0) -> Layout:
    (layout,) = [
        layout for store, layout in layouts_of(graph, previous, batch, 4).items()
        if next(s for s in graph.stores if s.id == store).inputs[0].stream == "s"
    ]  # fmt: skip
    assert isinstance(layout, Layout)
    return layout


def test_a_store_begins_with_the_slices_of_its_plan() -> None:
    assert layout_after(sliced(BAND, Slices(4)), None).segments == (Segment(0, 2 * SECOND, 0),)


def test_twice_the_arrivals_make_slices_half_as_wide_from_then_on() -> None:
    graph = sliced(BAND, Slices(4))
    known = Layout((Segment(0, 2 * SECOND, 0),), 2 * SECOND, counted=100, counted_until_us=100 * SECOND)
    # In 8 s 16 tuples came, and what is stored came at one per second.
    changed = layout_after(graph, manifest(graph, known, 108, 116, held=8), batch=4)
    assert changed.segments == (known.segments[0], Segment(108 * SECOND + 1, SECOND, 55))
    assert (changed.counted, changed.counted_until_us) == (116, 108 * SECOND)
    # Once what is stored came as fast, they are as wide as planned again.
    again = layout_after(graph, manifest(graph, changed, 116, 132, held=8), batch=8)
    assert again.segments[-1].width_us == SECOND
    denser = manifest(graph, changed, 116, 132, held=8)
    denser = replace(denser, runs=(replace(denser.runs[0], rows=16),))
    assert layout_after(graph, denser, batch=8).segments[-1] == Segment(116 * SECOND + 1, 2 * SECOND, 63)


@pytest.mark.parametrize(
    ("smoothed", "batch", "inserted", "why"),
    [
        (True, 5, 116, "within an epoch they stay"),
        (True, 4, 108, "nothing changed"),
        (True, 4, 100, "nothing arrived"),
        (False, 4, 116, "the plan does not want them to move"),
    ],
)
def test_boundaries_stay(smoothed: bool, batch: int, inserted: int, why: str) -> None:
    graph = sliced(BAND, Slices(4, smoothed=smoothed))
    known = Layout((Segment(0, 2 * SECOND, 0),), 2 * SECOND, counted=100, counted_until_us=100 * SECOND)
    changed = layout_after(graph, manifest(graph, known, 108, inserted, 8), batch)
    assert changed.segments == known.segments, why


def test_a_burst_moves_them_by_a_bounded_factor() -> None:
    graph = sliced(BAND, Slices(4))
    known = Layout((Segment(0, 2 * SECOND, 0),), 2 * SECOND, counted=0, counted_until_us=107 * SECOND)
    changed = layout_after(graph, manifest(graph, known, 108, 1_000_000, held=8), batch=4)
    assert changed.segments[-1].width_us == round(2 * SECOND / MOST_CHANGE)


def test_another_number_of_slices_moves_boundaries_and_no_tuple() -> None:
    before, after = sliced(BAND, Slices(4)), sliced(BAND, Slices(8))
    assert [store.id for store in before.stores] == [store.id for store in after.stores]
    known = first_layout(next(s for s in before.stores if s.inputs[0].stream == "s"))
    changed = layout_after(after, manifest(after, known, 108, 8, held=8), batch=5)
    assert changed.segments == (Segment(0, 2 * SECOND, 0), Segment(108 * SECOND + 1, SECOND, 55))
    stored = np.arange(0, 108 * SECOND + 1, SECOND // 2)
    assert slice_numbers(changed, stored).tolist() == slice_numbers(known, stored).tolist()


def test_segments_of_times_that_nobody_keeps_are_forgotten() -> None:
    graph = sliced(BAND, Slices(4))
    segments = (
        Segment(0, SECOND, 0),
        Segment(50 * SECOND, 2 * SECOND, 50),
        Segment(100 * SECOND, SECOND, 75),
    )
    known = Layout(segments, 2 * SECOND, 108, 108 * SECOND)
    # The watermark of 110 s less twice the retention of 8 s is behind the second boundary only.
    changed = layout_after(graph, manifest(graph, known, 110, 110, held=8), batch=4)
    assert changed.segments[0] == segments[1]
