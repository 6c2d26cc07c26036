"""The generator itself: what it promises about its cases."""

from __future__ import annotations

import math
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from optimizer.logical.window import UNBOUNDED, sliding
from optimizer.workload import load_workload
from tests.oracle.generate import generate
from tests.oracle.reference import difference
from tests.oracle.workload import TIME


def test_a_seed_always_gives_the_same_case() -> None:
    one, two = generate(11), generate(11)
    assert one.describe() == two.describe()
    assert [repr(s.tuples.to_pylist()) for s in one.streams] == [
        repr(s.tuples.to_pylist()) for s in two.streams
    ]


@pytest.mark.parametrize("seed", range(50, 58))
def test_every_query_is_accepted_with_the_windows_that_were_meant(seed: int, tmp_path: Path) -> None:
    case = generate(seed)
    case.write(tmp_path / "workload", tmp_path / "data")
    parsed = {query.name: query for query in load_workload(tmp_path / "workload").queries}
    for query in case.queries:
        assert [(i.alias, i.window) for i in parsed[query.name].inputs] == [
            (i.alias, UNBOUNDED if i.window is None else sliding(i.window)) for i in query.inputs
        ]


def test_cases_have_ties_nulls_duplicates_disorder_and_empty_streams() -> None:
    streams = [s for seed in range(30) for s in generate(seed, queries=1, tuples=60).streams]
    tables = [s.tuples.select([name for name, _ in s.columns]) for s in streams]
    assert any(t.num_rows == 0 for t in tables)
    assert any(t["k"].null_count for t in tables)
    assert any(t[TIME].null_count for t in tables)
    ids = [Counter(t["id"].to_pylist()) for t in tables]
    assert any(count > 1 for c in ids for count in c.values())
    times = [[x for x in t[TIME].to_pylist() if x is not None] for t in tables]
    assert any(len(set(x)) < len(x) for x in times)
    in_disorder = [s.lateness for s, x in zip(streams, times, strict=True) if x != sorted(x)]
    assert in_disorder
    assert timedelta(0) not in in_disorder


def test_streams_hold_odd_values_in_every_column() -> None:
    tables = [s.tuples for seed in range(12) for s in generate(seed, queries=1, tuples=60).streams]
    held = {name: [v for t in tables for v in t[name].to_pylist()] for name in ("k", "g", "x", "s")}
    assert {2**31 - 1, -(2**31)} <= set(held["k"])
    assert {2**63 - 1, -(2**63), 2**53 + 1} <= set(held["g"])
    assert {math.inf, -math.inf, 5e-324} <= set(held["x"])
    assert any(x is not None and math.isnan(x) for x in held["x"])
    assert {"", "\x00", "e\u0301", "y" * 5000} <= set(held["s"])


def test_a_difference_is_told_with_both_sides() -> None:
    told = difference(Counter({(1,): 2}), Counter({(1,): 1, (2,): 1}))
    assert told is not None
    assert "1 missing, such as [(1,)]" in told
    assert "1 too many, such as [(2,)]" in told
    assert difference(Counter({(1,): 2}), Counter({(1,): 2})) is None
