"""Small workloads whose plan is another one in every batch: the same results, under a memory limit too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.storage.partition import state_root
from tests.oracle.small.case import case_of, compare, usable
from tests.oracle.small.execution import answer, planned
from tests.oracle.small.judging import Reference

APART = 50
"""So far apart are the seeds from which cases are looked for: more than are ever refused in a row."""
STARTS = range(700_000, 700_000 + 17 * APART, APART)
MERGED = (720_005, 720_012)
"""Of joins alone, whose stores' runs are large enough to be merged under `TIGHT` while results are rebuilt
from them: both fail if that happens."""
TIGHT = 40_000


@pytest.mark.parametrize(
    ("start", "plain"), [*((start, False) for start in STARTS), *((start, True) for start in MERGED)]
)
def test_results_are_the_same_under_a_plan_that_changes_with_every_batch(
    start: int, plain: bool, tmp_path: Path
) -> None:
    # Which seeds are refused changes with every construct that is drawn: the first that is not is taken.
    drawn_cases = (case_of(seed, plain) for seed in range(start, start + APART))
    case = next(one for one in drawn_cases if usable(one))
    reference = Reference()
    for number, drawn in enumerate(case.setups):
        # Stores keep what any plan may read, as those of a topology do.
        setup = replace(drawn, uncommitted=None, files=None)
        if plain:
            setup = replace(setup, share_bytes=TIGHT)
        plans = [
            planned(case.workload, replace(setup, method=method), "everything")
            for method in dict.fromkeys((setup.method, "flat", "greedy"))
        ]
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            answered = answer(case.workload, plans[0], setup, folder, plans)
        finally:
            state_root.cache_clear()
        assert compare(case.workload, answered, reference) is None
