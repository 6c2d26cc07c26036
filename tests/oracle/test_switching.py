"""Small workloads whose plan is another one in every batch: the same results, under a memory limit too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.storage.partition import state_root
from tests.oracle.small.case import case_of, compare, usable
from tests.oracle.small.execution import answer, planned
from tests.oracle.small.judging import Reference

MERGED = (700_032, 700_325)
"""With the joins of these a store's runs were merged while results were rebuilt from them."""
SEEDS = (
    *range(700_020, 700_025),
    *range(700_026, 700_032),
    700_033,
    *range(700_035, 700_038),
    *range(700_039, 700_042),
    *MERGED,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_results_are_the_same_under_a_plan_that_changes_with_every_batch(seed: int, tmp_path: Path) -> None:
    case = case_of(seed)
    if seed in MERGED:
        joins = tuple(replace(query, grouped=None, also=None) for query in case.workload.queries)
        case = replace(case, workload=replace(case.workload, queries=joins))
    assert usable(case), "a query of this seed is refused: choose another one"
    reference = Reference()
    for number, drawn in enumerate(case.setups):
        # Stores keep what any plan may read, as those of a topology do.
        setup = replace(drawn, uncommitted=None, files=None)
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
