"""Small random workloads without Spark: known seeds, fresh ones, and what the search does with a fault."""

from __future__ import annotations

import polars as pl
import pytest

from tests.fresh import fresh_seed
from tests.oracle.small.campaign import campaign
from tests.oracle.small.case import Compared, Failure, case_of, judge, usable
from tests.oracle.small.execution import Topology
from tests.oracle.small.shrinking import shrink

FRESH = 20
"""Seeds of four workloads each: some seconds; `python -m tests.oracle --in-process --count N` tries more."""


@pytest.mark.parametrize("seed", [12, 15, 22, 28, 32, 118, 132, 140, 342113016])
def test_seeds_that_once_failed(seed: int) -> None:
    case = case_of(seed, plain=True)
    assert usable(case)
    assert isinstance(judge(case), Compared)


@pytest.mark.parametrize("seed", [20028, 20048, 20068])
def test_versions_are_looked_up_in_plans_with_slices(seed: int) -> None:
    case = case_of(seed)
    assert case.workload.table is not None
    assert any(setup.slices for setup in case.setups)
    assert isinstance(judge(case), Compared)


def test_fresh_seeds_equal_duckdb(capsys: pytest.CaptureFixture[str]) -> None:
    seed = fresh_seed("oracle", 10**9)
    code = campaign(seed, FRESH)
    told = capsys.readouterr().out
    assert code == 0, f"python -m tests.oracle --in-process --seed {seed} --count {FRESH}\n{told}"
    with capsys.disabled():
        print(f" [seed {seed}] ", end="")


def test_a_seed_always_gives_the_same_case() -> None:
    assert case_of(7).describe() == case_of(7).describe()
    assert case_of(7).describe() != case_of(8).describe()


def test_a_fault_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Topology.answers

    def without_zeros(topology: Topology, query: str) -> pl.DataFrame:
        frame = whole(topology, query)
        return frame.filter(pl.col("o0") != 0) if "o0" in frame.columns else frame

    monkeypatch.setattr(Topology, "answers", without_zeros)
    failing = (case for case in map(case_of, range(300, 400)) if usable(case))
    case, found = next(
        (c, f) for c in failing if isinstance(f := judge(c), Failure) and f.kind == "difference"
    )
    small, told = shrink(case, found, 60.0)
    assert told.kind == "difference"
    assert "missing, such as" in told.told
    (query,) = small.workload.queries
    assert len(query.inputs) == 1
    assert (query.predicates, len(query.outputs)) == ((), 1)
    assert len(small.workload.arrivals) == 1
    assert len(small.setups) == 1
