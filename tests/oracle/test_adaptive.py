"""Plans that change all the time, and queries that come and go, against DuckDB.

`--another-plan-every-epoch` makes a replay run another valid plan in every epoch: other methods, probe
orders, partitionings, numbers of tasks and materialized results.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.oracle.case import run_case
from tests.oracle.replay import Run

pytestmark = pytest.mark.long

FORCED = ("--another-plan-every-epoch", "--epoch-batches", "2")


def test_twelve_queries_under_another_plan_every_epoch_killed_twice(tmp_path: Path) -> None:
    run = Run(parallelism=2, options=FORCED)
    run_case(530, tmp_path / "case", run, streams=5, queries=12, tuples=160, kills=2)
    epochs = json.loads((tmp_path / "case" / "out" / "metrics.json").read_text())["epochs"]
    plans = [epoch["plan"] for epoch in epochs]
    assert len(epochs) >= 4
    assert all(one != next_one for one, next_one in pairwise(plans))


def test_queries_come_and_go_under_changing_plans(tmp_path: Path) -> None:
    run_case(531, tmp_path / "case", Run(parallelism=3, options=FORCED), queries=5, evolve=True)


def test_queries_come_and_go_in_an_adaptive_replay_that_is_killed(tmp_path: Path) -> None:
    run = Run(parallelism=2, options=("--adaptive", "--epoch-batches", "2"))
    run_case(533, tmp_path / "case", run, queries=5, kills=2, evolve=True)
