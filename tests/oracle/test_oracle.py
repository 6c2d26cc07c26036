"""Random workloads through the whole runtime, as a process, against DuckDB.

Every case is a new Spark session of a few seconds, so there are few here, each of which covers
much; `python -m tests.oracle --seed N --count K` runs as many others as one likes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.physical.graph import Grids, PhysicalGraph
from tests.oracle.case import run_case
from tests.oracle.replay import CHANGING_GRIDS, Run


@pytest.mark.parametrize(
    ("seed", "run", "queries", "streams"),
    [
        (1, Run("ilp"), 4, 3),
        pytest.param(2, Run("greedy"), 4, 3, marks=pytest.mark.long),
        pytest.param(3, Run("individual", batch_rows=60), 3, 2, marks=pytest.mark.long),
        (4, Run("flat", batch_rows=90, parallelism=3), 5, 4),
        pytest.param(5, Run("left-deep"), 3, 3, marks=pytest.mark.long),
        pytest.param(6, Run("tree"), 3, 3, marks=pytest.mark.long),
    ],
    ids=lambda value: value.method if isinstance(value, Run) else str(value),
)
def test_answers_equal_duckdb(seed: int, run: Run, queries: int, streams: int, tmp_path: Path) -> None:
    run_case(seed, tmp_path / "case", run, streams, queries)


@pytest.mark.parametrize(
    ("seed", "options", "kills"),
    [
        pytest.param(70, (), 0, id="plain", marks=pytest.mark.long),
        pytest.param(71, (), 1, id="killed"),
        pytest.param(71, (), 2, id="killed-twice", marks=pytest.mark.long),
        pytest.param(
            *(72, ("--another-plan-every-epoch", "--epoch-batches", "2"), 0),
            id="other-plans",
            marks=pytest.mark.long,
        ),
        pytest.param(
            73, ("--adaptive", "--epoch-batches", "2"), 1, id="adaptive-killed", marks=pytest.mark.long
        ),
    ],
)
def test_outer_semi_and_anti_joins_equal_duckdb(
    seed: int, options: tuple[str, ...], kills: int, tmp_path: Path
) -> None:
    run_case(
        seed, tmp_path / "case", Run(batch_rows=60, options=options), queries=4, kills=kills, absences=True
    )


def test_results_that_are_read_have_more_tasks_than_every_stream(tmp_path: Path) -> None:
    """All streams of the seed declare one task; those of results have as many as the replay is given."""
    run = Run(batch_rows=60, parallelism=3)
    run_case(906, tmp_path / "case", run, queries=2, tuples=160, absences=True)


@pytest.mark.parametrize(
    ("seed", "run"),
    [
        pytest.param(60, Run("ilp", batch_rows=100), marks=pytest.mark.long),
        pytest.param(61, Run("greedy", batch_rows=37), marks=pytest.mark.long),
        (62, Run(batch_rows=90, options=("--another-plan-every-epoch", "--epoch-batches", "2"))),
    ],
)
def test_conditions_on_event_times_free_state_and_lose_nothing(seed: int, run: Run, tmp_path: Path) -> None:
    run_case(seed, tmp_path / "case", run, queries=5, timed=True)


def test_many_queries_share_one_topology(tmp_path: Path) -> None:
    run_case(20, tmp_path / "case", Run(batch_rows=400), streams=5, queries=12)


def test_killed_and_continued_equals_duckdb(tmp_path: Path) -> None:
    run_case(30, tmp_path / "case", Run(), kills=2)


@pytest.mark.long
@pytest.mark.parametrize("kills", [1, 2])
def test_grids_that_change_and_are_killed_equal_duckdb(kills: int, tmp_path: Path) -> None:
    run_case(31, tmp_path / "case", Run(parallelism=3, options=CHANGING_GRIDS), kills=kills)
    plans = (tmp_path / "case" / "out" / "checkpoint" / "plans").glob("*.json")
    graphs = [PhysicalGraph.from_json(path.read_bytes()) for path in plans]
    assert any(isinstance(store.partitioning, Grids) for graph in graphs for store in graph.stores)


def test_predicates_that_call_functions(tmp_path: Path) -> None:
    run_case(40, tmp_path / "case", Run(batch_rows=300), queries=6, functions=True)


def test_stores_cut_into_slices_take_turns_with_other_plans(tmp_path: Path) -> None:
    run = Run("ilp", batch_rows=90, parallelism=3, options=("--another-plan-every-epoch",))
    compared = run_case(50, tmp_path / "case", run, queries=4, slices=True)
    assert "2 sliced stores" in compared
