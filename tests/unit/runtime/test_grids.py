"""Grids in the runtime: every pair meets once, and a change of shape moves only what must move."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.message import ARRIVAL
from jobs.migration import can_migrate, migrate
from jobs.routing import grid_parts
from jobs.runs import RunRef, StateRoot, run_path
from jobs.store import run_figures
from optimizer.graph import GraphStore, Grid, StoredInput

SHAPES = st.integers(1, 24).flatmap(
    lambda tasks: st.tuples(
        st.just(tasks), st.sampled_from([r for r in range(1, tasks + 1) if tasks % r == 0])
    )
)


def tasks_of(frame: pl.DataFrame, tasks: int, rows: int, *, probing: bool) -> dict[int, list[int]]:
    """Per arrival number the tasks that it goes to."""
    found: dict[int, list[int]] = {}
    for targets, part in grid_parts(frame, frame[ARRIVAL], tasks, rows, probing=probing):
        for arrival in part[ARRIVAL]:
            found.setdefault(arrival, []).extend(targets)
    return found


@given(SHAPES, st.sets(st.integers(0, 10**6), max_size=30), st.sets(st.integers(0, 10**6), max_size=30))
def test_every_pair_meets_in_exactly_one_task(
    shape: tuple[int, int], stored: set[int], probing: set[int]
) -> None:
    tasks, rows = shape
    kept = tasks_of(
        pl.DataFrame({ARRIVAL: sorted(stored)}, schema={ARRIVAL: pl.Int64}), *shape, probing=False
    )
    asked = tasks_of(
        pl.DataFrame({ARRIVAL: sorted(probing)}, schema={ARRIVAL: pl.Int64}), *shape, probing=True
    )
    assert kept.keys() == stored
    assert asked.keys() == probing
    assert all(len(set(where)) == len(where) == rows for where in kept.values())
    assert all(len(set(where)) == len(where) == tasks // rows for where in asked.values())
    for where in kept.values():
        for searched in asked.values():
            assert len(set(where) & set(searched)) == 1


def grid(tasks: int, rows: int) -> GraphStore:
    partitioning = None if rows == 1 else Grid(rows)
    return GraphStore(
        f"S-{tasks}-{rows}", "r", (StoredInput("r", "r", ("at",)),), partitioning, tasks, (None,)
    )


def frame_of(arrivals: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"r.at": arrivals, ARRIVAL: arrivals}, schema={"r.at": pl.Int64, ARRIVAL: pl.Int64})


def written(root: StateRoot, store: GraphStore, arrivals: list[int]) -> list[RunRef]:
    """The runs of two batches, as a topology would have stored them."""
    runs = []
    for batch, part in enumerate((arrivals[::2], arrivals[1::2])):
        frame = frame_of(part)
        for targets, mine in grid_parts(frame, frame[ARRIVAL], store.tasks, store.copies, probing=False):
            for task in targets:
                path = run_path(store.id, task, batch, 1, "first")
                runs.append(root.write(run_figures(store, ("r.at",), task, path, mine), mine))
    return runs


def holding(root: StateRoot, runs: tuple[RunRef, ...] | list[RunRef]) -> Counter[tuple[int, int]]:
    return Counter((run.partition, arrival) for run in runs for arrival in root.read(run)[ARRIVAL])


CHANGES = [
    *[(8, a, 8, b) for a in (1, 2, 4, 8) for b in (1, 2, 4, 8) if a != b],
    *[(12, 2, 12, 6), (12, 6, 12, 3), (2, 1, 8, 2), (4, 2, 16, 4), (4, 4, 16, 8), (1, 1, 4, 2)],
]


@pytest.mark.parametrize(("tasks", "rows", "later_tasks", "later_rows"), CHANGES)
@settings(max_examples=5, deadline=None)
@given(arrivals=st.sets(st.integers(0, 10**4), max_size=60))
def test_a_change_of_shape_leaves_every_tuple_where_the_new_shape_looks_for_it(
    tasks: int, rows: int, later_tasks: int, later_rows: int, arrivals: set[int]
) -> None:
    before, after = grid(tasks, rows), grid(later_tasks, later_rows)
    assert can_migrate(before, after)
    with tempfile.TemporaryDirectory() as folder:
        root = StateRoot(folder)
        runs = written(root, before, sorted(arrivals))
        done = migrate(root, runs, before, after, ("r.at",), 2)
        found = holding(root, done.runs)
        wanted = tasks_of(frame_of(sorted(arrivals)), later_tasks, later_rows, probing=False)
        assert found == Counter((task, arrival) for arrival, where in wanted.items() for task in where)
        assert {run.store for run in done.runs} <= {after.id}
        had = holding(root, runs)
        # Nothing is sent to a task that has it, and nothing that a task needs is sent twice.
        assert done.sent == sum((found - had).values())
        assert done.kept == sum((found & had).values())
        assert done.discarded == sum((had - found).values())
        reused = {run.path for run in runs} & {run.path for run in done.runs}
        columns, others = tasks // rows, later_tasks // later_rows
        assert bool(reused) == (bool(arrivals) and others <= columns), "runs that stay are not written again"


@pytest.mark.parametrize(
    ("tasks", "rows", "later_tasks", "later_rows"), [(6, 2, 6, 3), (4, 2, 6, 2), (8, 2, 4, 2)]
)
def test_shapes_that_do_not_fit_into_each_other_are_filled_anew(
    tasks: int, rows: int, later_tasks: int, later_rows: int
) -> None:
    assert not can_migrate(grid(tasks, rows), grid(later_tasks, later_rows))


def test_only_the_same_content_is_taken_over() -> None:
    other = replace(grid(4, 2), inputs=(StoredInput("r", "r", ("at", "k")),))
    assert not can_migrate(grid(4, 1), other)
