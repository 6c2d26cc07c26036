"""A topology gets more tasks than it began with: more partitions, in place, and through crashes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from jobs.reconfigure.admission import check_usable
from jobs.recovery.checkpoint import Checkpoint, Identity, read_identity
from optimizer.algebra.errors import InputError
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from tests.unit.adaptation.test_shapes import CATALOG
from tests.unit.runtime.in_process import Topology

SQL = "SELECT r.b AS x, s.b AS y FROM r [RANGE 3 SECONDS], s [RANGE 3 SECONDS] WHERE r.a = s.a"


def planned(tasks: int) -> PhysicalGraph:
    query = parse_query(SQL, "q", CATALOG)
    return plan([query], CATALOG, method="flat", options=Options(grids="off"), tasks=tasks).graph


def tables(batch: int) -> dict[str, pa.Table]:
    """A second of both streams, 10 ms between tuples."""
    numbers = range(100 * batch, 100 * batch + 100)
    columns = {
        "at": pa.array([10_000 * n for n in numbers], pa.timestamp("us", "UTC")),
        "a": pa.array([n * 7919 % 17 for n in numbers], pa.int64()),
        "b": pa.array(list(numbers), pa.int64()),
    }
    return dict.fromkeys("rs", pa.table(columns))


def expected(batches: int) -> Counter[tuple[int, int]]:
    with duckdb.connect() as connection:
        for stream in "rs":
            connection.register(stream, pa.concat_tables([tables(batch)[stream] for batch in range(batches)]))
        rows = connection.execute(
            "SELECT r.b, s.b FROM r, s WHERE r.a = s.a AND abs(epoch_us(r.at) - epoch_us(s.at)) <= 3000000"
        )
        return Counter(rows.fetchall())


def test_more_tasks_than_partitions(tmp_path: Path) -> None:
    """2 tasks, 7, 64, and back to 3: each answer equals DuckDB's, and no tuple is read twice or lost."""
    topology = Topology(planned(2), tmp_path)
    batch = 0
    for tasks in (2, 7, 64, 3):
        topology.checkpoint.grow(tasks)
        topology.change(planned(tasks))
        # The first batch under the number dies, and is worked on again.
        topology.die_in(tables(batch))
        for _ in range(2):
            topology.feed(tables(batch))
            batch += 1
        assert topology.executor.context.partitions == max(tasks, topology.checkpoint.identity.partitions)
    assert Counter(topology.answers("q").rows()) == expected(batch)
    assert topology.checkpoint.identity.partitions == 64


def test_a_plan_of_more_tasks_than_partitions_is_refused_before_it_loses_anything(tmp_path: Path) -> None:
    topology = Topology(planned(2), tmp_path)
    topology.feed(tables(0))
    topology.change(planned(3))
    with pytest.raises(RuntimeError, match="found a store of 3 tasks, expected 2 at most"):
        topology.feed(tables(1))


def test_a_topology_s_partitions_only_grow(tmp_path: Path) -> None:
    first = Checkpoint(tmp_path, Identity("run", "t", 2))
    assert Checkpoint(tmp_path, Identity("run", "t", 8)).identity == Identity(
        "run", "t", 8, first.identity.id
    )
    # Tuples may lie in any of the eight.
    assert Checkpoint(tmp_path, Identity("run", "t", 4)).identity.partitions == 8
    found = read_identity(tmp_path)
    assert found is not None
    assert found.partitions == 8
    replay = tmp_path / "replay"
    Checkpoint(replay, Identity("replay", "t", 2)).commits.path(0).write_text("")
    with pytest.raises(InputError, match="another directory"):
        Checkpoint(replay, Identity("replay", "t", 4))


def test_more_than_arrival_numbers_tell_apart_are_refused() -> None:
    check_usable(planned(256), None, "p")
    with pytest.raises(InputError, match="found 257, expected at most 256"):
        check_usable(planned(257), None, "p")
