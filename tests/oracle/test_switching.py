"""Small workloads whose plan is another one in every batch: the same results, under a memory limit too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.storage.partition import state_root
from tests.oracle.small.case import Case, case_of, compare, usable
from tests.oracle.small.execution import answer, planned
from tests.oracle.small.judging import Reference

APART = 50
"""So far apart are the seeds from which cases are looked for: more than are ever refused in a row."""
STARTS = range(700_000, 700_000 + 17 * APART, APART)
MERGED = (720_005, 720_012)
"""Of joins alone, whose stores' runs are large enough to be merged under `TIGHT` while results are rebuilt
from them: both fail if that happens."""
TIGHT = 40_000


@pytest.mark.parametrize("start", STARTS)
def test_results_are_the_same_under_a_plan_that_changes_with_every_batch(start: int, tmp_path: Path) -> None:
    # Which seeds are refused changes with every construct that is drawn: the first that is not is taken.
    _stays_the_same(next(filter(usable, map(case_of, range(start, start + APART)))), tmp_path)


@pytest.mark.parametrize("seed", MERGED)
def test_results_are_rebuilt_from_runs_that_are_large_enough_to_be_merged(seed: int, tmp_path: Path) -> None:
    case = case_of(seed, plain=True)
    assert usable(case), "a query of this seed is refused: choose another one"
    setups = tuple(replace(setup, share_bytes=TIGHT) for setup in case.setups)
    _stays_the_same(replace(case, setups=setups), tmp_path)


def _stays_the_same(case: Case, folder: Path) -> None:
    reference = Reference()
    for number, drawn in enumerate(case.setups):
        # Stores keep what any plan may read, as those of a topology do.
        setup = replace(drawn, uncommitted=None, files=None)
        plans = [
            planned(case.workload, replace(setup, method=method), "everything")
            for method in dict.fromkeys((setup.method, "flat", "greedy"))
        ]
        state = folder / str(number)
        state.mkdir()
        try:
            answered = answer(case.workload, plans[0], setup, state, plans)
        finally:
            state_root.cache_clear()
        assert compare(case.workload, answered, reference) is None
