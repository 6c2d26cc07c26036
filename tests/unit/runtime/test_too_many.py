"""A step that makes too much is given up before it fills the memory, and nothing else is."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from jobs.plan.tuples import ARRIVAL, EVERY_TASK
from jobs.storage.partition import PartitionState
from jobs.worker.ingest import ingest
from jobs.worker.level import Worked, work
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from tests.unit.runtime.test_level import graph, rows

R, S = "r [RANGE 10 SECONDS]", "s [RANGE 10 SECONDS]"
EQUAL = f"SELECT r.at AS x FROM {R}, {S} WHERE r.k = s.k"
CROSS = f"SELECT r.at AS x FROM {R} CROSS JOIN {S}"
NEVER = f"SELECT r.at AS x FROM {R}, {S} WHERE r.k = s.k AND r.raw <> s.raw"
"""Checks every pair with equal keys, and keeps none."""
BAND = f"SELECT r.at AS x FROM {R}, {S} WHERE r.k < s.k AND s.k < r.k + 2"


def probed(
    tmp_path: Path, plan_graph: PhysicalGraph, tables: dict[str, pa.Table], most: int | None
) -> Worked:
    """One batch of both streams in the only task of a plan with one level."""
    done = [
        ingest(plan_graph, stream, table, None, number << 28, None)
        for number, (stream, table) in enumerate(sorted(tables.items()))
    ]
    messages = [message for part in done for message in part.messages]
    assert {message.partition for message in messages} <= {0, EVERY_TASK}
    return work(plan_graph, 1, PartitionState(str(tmp_path), 0, 0, {}), messages, None, most)


def produced(done: Worked) -> int:
    return sum(done.rule_tuples.values())


@pytest.mark.parametrize("text", [EQUAL, CROSS, BAND])
def test_a_step_may_make_as_much_as_is_allowed_and_no_more(tmp_path: Path, text: str) -> None:
    generator = random.Random(7)
    tables = {
        name: rows(*((generator.uniform(0, 5), generator.randrange(4)) for _ in range(200))) for name in "rs"
    }
    plan_graph = graph(text, tasks=1)
    free = probed(tmp_path / "free", plan_graph, tables, None)
    made = max(free.rule_tuples.values())
    assert made > 1000
    enough = probed(tmp_path / "enough", plan_graph, tables, made)
    assert (enough.rule_tuples, enough.too_many) == (free.rule_tuples, {})
    less = probed(tmp_path / "less", plan_graph, tables, made - 1)
    (rule,) = less.too_many
    assert less.too_many[rule] == made
    assert rule not in less.rule_tuples


def test_pairs_that_are_only_checked_are_bounded_too(tmp_path: Path) -> None:
    tables = {name: rows(*((1.0, 1) for _ in range(1000))) for name in "rs"}
    plan_graph = graph(NEVER, tasks=1)
    done = probed(tmp_path / "few", plan_graph, tables, 10_000)
    assert (produced(done), done.too_many) == (0, {})
    given_up = probed(tmp_path / "many", plan_graph, tables, 9_999)
    assert set(given_up.too_many.values()) == {1_000_000}


def test_keys_that_are_all_different_are_not_taken_for_many_pairs(tmp_path: Path) -> None:
    tables = {name: rows(*((1.0, key) for key in range(1000))) for name in "rs"}
    done = probed(tmp_path, graph(EQUAL, tasks=1), tables, 1000)
    assert (produced(done), done.too_many) == (1000, {})


def test_the_other_steps_of_a_batch_are_worked_on(tmp_path: Path) -> None:
    tables = {name: rows(*((1.0, key) for key in range(100))) for name in "rs"}
    plan_graph = graph(EQUAL, CROSS, tasks=1)
    done = probed(tmp_path, plan_graph, tables, 1000)
    crossing = {r.id for r in plan_graph.rules if isinstance(r, ProbeRule) and not r.equalities}
    assert done.too_many.keys() <= crossing
    assert done.too_many
    assert {result.query for result in done.results} == {"q0"}
    assert produced(done) == 100


def test_a_product_far_beyond_memory_is_given_up(tmp_path: Path) -> None:
    """900 million combinations of some 40 bytes would be 36 GB."""
    count = 30_000
    frame = pl.DataFrame({"at": [1] * count, "k": [1] * count, "raw": [b"x"] * count})
    table = frame.with_columns(pl.col("at").cast(pl.Datetime("us", "UTC"))).to_arrow()
    for number, text in enumerate((CROSS, EQUAL)):
        done = probed(tmp_path / str(number), graph(text, tasks=1), {"r": table, "s": table}, 1_000_000)
        assert set(done.too_many.values()) <= {count * count, 1_000_001, *range(1_000_001, 1_600_000)}
        assert done.too_many
        assert all(ARRIVAL in message.body.columns for message in done.messages)
