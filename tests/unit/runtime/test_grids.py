"""Grids in the runtime: every pair meets once, and a change of shape moves only what must move."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.driver.batch_totals import counts, gather
from jobs.partitioning.grid import can_migrate, migrate
from jobs.partitioning.hashing import grid_parts
from jobs.plan.tuples import ARRIVAL
from jobs.protocol.metrics import EdgeMetrics
from jobs.storage.partition import run_figures
from jobs.storage.run import RunRef, StateRoot, run_path
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.partitioning.matrix import with_groups
from optimizer.physical.graph import GraphStore, Grid, Grids, StoredInput
from optimizer.physical.task_grid import decompose, task_grids
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from tests.reference.interpret import interpret
from tests.unit.runtime.driver import Topology

Rows = tuple[int, ...]


def divisors(tasks: int) -> list[int]:
    return [rows for rows in range(1, tasks + 1) if tasks % rows == 0]


def rows_of_grids(sizes: tuple[int, ...]) -> st.SearchStrategy[Rows]:
    return st.tuples(*(st.sampled_from(divisors(size)) for size in sizes))


SHAPES = st.integers(1, 24).flatmap(
    lambda tasks: st.tuples(st.just(tasks), rows_of_grids((tasks,)) | rows_of_grids(decompose(tasks)))
)
"""Tasks, and the rows of their one grid or of each of their grids."""


def tasks_of(frame: pl.DataFrame, tasks: int, rows: Rows, *, probing: bool) -> dict[int, list[int]]:
    """Per arrival number the tasks that it goes to."""
    found: dict[int, list[int]] = {}
    for targets, part in grid_parts(frame, frame[ARRIVAL], task_grids(tasks, rows), probing=probing):
        for arrival in part[ARRIVAL]:
            found.setdefault(arrival, []).extend(targets)
    return found


@given(SHAPES, st.sets(st.integers(0, 10**6), max_size=30), st.sets(st.integers(0, 10**6), max_size=30))
def test_every_pair_meets_in_exactly_one_task(
    shape: tuple[int, Rows], stored: set[int], probing: set[int]
) -> None:
    kept = tasks_of(
        pl.DataFrame({ARRIVAL: sorted(stored)}, schema={ARRIVAL: pl.Int64}), *shape, probing=False
    )
    asked = tasks_of(
        pl.DataFrame({ARRIVAL: sorted(probing)}, schema={ARRIVAL: pl.Int64}), *shape, probing=True
    )
    assert kept.keys() == stored
    assert asked.keys() == probing
    grids = task_grids(*shape)
    first = {task for made in grids for task in made.row(0)}
    for where in kept.values():
        (own,) = (made for made in grids if made.first <= where[0] < made.after)
        assert len(set(where)) == len(where) == own.rows
        assert len(first & set(where)) == 1, "the first rows have everything once"
    for where in asked.values():
        assert len(set(where)) == len(where) == sum(made.columns for made in grids)
    for where in kept.values():
        for searched in asked.values():
            assert len(set(where) & set(searched)) == 1


@given(SHAPES, st.integers(0, 1000), st.integers(0, 300))
def test_every_task_has_its_share(shape: tuple[int, Rows], first: int, tuples: int) -> None:
    """Of arrivals in a row: all tasks of a grid hold the same, and grids as much as their tasks."""
    tasks, _ = shape
    frame = frame_of(list(range(first, first + tuples)))
    held = Counter(task for where in tasks_of(frame, *shape, probing=False).values() for task in where)
    for made in task_grids(*shape):
        for task in range(made.first, made.after):
            assert abs(held[task] - tuples * made.tasks / tasks / made.columns) <= made.rows


def grid(tasks: int, rows: Rows) -> GraphStore:
    single = None if rows == (1,) else Grid(rows[0])
    partitioning = single if len(rows) == 1 else Grids(rows)
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
        for targets, mine in grid_parts(frame, frame[ARRIVAL], store.grids, probing=False):
            for task in targets:
                path = run_path(store.id, task, batch, 1, "first")
                runs.append(root.write(run_figures(store, ("r.at",), task, path, mine), mine))
    return runs


def holding(root: StateRoot, runs: tuple[RunRef, ...] | list[RunRef]) -> Counter[tuple[int, int]]:
    return Counter((run.partition, arrival) for run in runs for arrival in root.read(run)[ARRIVAL])


CHANGES: list[tuple[int, Rows, int, Rows]] = [
    *[(8, (a,), 8, (b,)) for a in (1, 2, 4, 8) for b in (1, 2, 4, 8) if a != b],
    (12, (2,), 12, (6,)),
    (12, (6,), 12, (3,)),
    (2, (1,), 8, (2,)),
    (4, (2,), 16, (4,)),
    (4, (4,), 16, (8,)),
    (1, (1,), 4, (2,)),
    *[(7, a, 7, b) for a, b in permutations([(1,), (2, 2, 1), (1, 2, 1), (4, 1, 1)], 2)],
    (11, (8, 1, 1), 11, (2, 2, 1)),
]


@pytest.mark.parametrize(("tasks", "rows", "later_tasks", "later_rows"), CHANGES)
@settings(max_examples=5, deadline=None)
@given(arrivals=st.sets(st.integers(0, 10**4), max_size=60))
def test_a_change_of_shape_leaves_every_tuple_where_the_new_shape_looks_for_it(
    tasks: int, rows: Rows, later_tasks: int, later_rows: Rows, arrivals: set[int]
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
        grids = max(len(rows), len(later_rows))
        old, new = (
            task_grids(count, shape if len(shape) == grids else (1,) * grids)
            for count, shape in ((tasks, rows), (later_tasks, later_rows))
        )
        wider = [a for a, b in zip(old, new, strict=True) if a.columns >= b.columns]
        stay = {run.path for run in runs if any(g.first <= run.partition < g.after for g in wider)}
        assert reused == stay, "runs that stay are not written again"


@pytest.mark.parametrize(
    ("tasks", "rows", "later_tasks", "later_rows"),
    [
        (6, (2,), 6, (3,)),
        (4, (2,), 6, (2,)),
        (8, (2,), 4, (2,)),
        (6, (2,), 6, (2, 1)),
        (6, (2, 1), 6, (3,)),
        (3, (2, 1), 6, (2, 1)),
        (3, (1,), 6, (4, 1)),
        (6, (2, 1), 24, (4, 2)),
    ],
)
def test_shapes_that_do_not_fit_into_each_other_are_filled_anew(
    tasks: int, rows: Rows, later_tasks: int, later_rows: Rows
) -> None:
    assert not can_migrate(grid(tasks, rows), grid(later_tasks, later_rows))


def test_only_the_same_content_is_taken_over() -> None:
    other = replace(grid(4, (2,)), inputs=(StoredInput("r", "r", ("at", "k")),))
    assert not can_migrate(grid(4, (1,)), other)


CATALOG = Catalog(
    tuple(Stream(n, (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT)), "at") for n in "rst")
)
TEXT = (
    "SELECT r.k AS a, s.k AS b, t.k AS c FROM r [RANGE 40 SECONDS], s [RANGE 40 SECONDS], "
    "t [RANGE 40 SECONDS] WHERE r.k < s.k AND s.k = t.k"
)


def batch_of(number: int, stream: int, tuples: int) -> pl.DataFrame:
    moments = pl.int_range(tuples, eager=True) * 100_000 + number * 5_000_000
    keys = pl.int_range(tuples, eager=True).hash(10 * number + stream) % 7
    return pl.DataFrame({"at": moments.cast(pl.Datetime("us", "UTC")), "k": keys.cast(pl.Int64)})


@pytest.mark.parametrize(("tasks", "rows"), [(3, (2, 1)), (7, (2, 2, 1)), (7, (1, 2, 1)), (4, (2,))])
def test_a_topology_of_grids_finds_and_counts_everything_once(tasks: int, rows: Rows, tmp_path: Path) -> None:
    query = parse_query(TEXT, "q", CATALOG)
    graph = plan([query], CATALOG, method="flat", options=Options(grids="off"), tasks=tasks).graph
    graph = with_groups(graph, {store.id: rows for store in graph.stores})
    batches = [
        {name: batch_of(number, stream, 11 + stream).to_arrow() for stream, name in enumerate("rst")}
        for number in range(3)
    ]
    topology = Topology(graph, str(tmp_path))
    works = [worked for batch in batches for worked in topology.feed(batch)]
    expected = Counter(interpret(graph, batches)["q"])
    assert len(expected) > 10
    assert Counter(topology.answers("q").rows()) == expected
    fed = {name: 3 * (11 + stream) for stream, name in enumerate("rst")}
    made = Counter({rule.id: fed[rule.stream] for rule in graph.rules if rule.kind == "source"})
    told: Counter[str] = Counter()
    for worked in works:
        made.update(worked.rule_tuples)
        told.update(worked.counts.of(EdgeMetrics, "tuples"))
    assert {edge.id: told[edge.id] for edge in graph.edges} == {e.id: made[e.origin] for e in graph.edges}
    runs = [run for held in topology.runs.values() for run in held]
    found = counts(graph, gather(graph, []), runs, {})
    assert found.held == {store.id: fed[store.inputs[0].stream] for store in graph.stores}
