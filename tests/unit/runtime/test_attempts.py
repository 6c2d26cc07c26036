"""Whatever an attempt that was given up still does, the attempt that replaced it stays as it is."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.plan.tuples import ARRIVAL
from jobs.recovery.manifest import OutputFile
from jobs.sinks.parquet import remove_hidden, show, write_hidden
from jobs.storage.partition import CompactionPolicy, PartitionState
from jobs.storage.run import RunRef
from jobs.worker.exchange import Outbox, sort_rows
from optimizer.logical.window import UNBOUNDED
from optimizer.physical.graph import GraphStore, PhysicalGraph, StoredInput

STORE = GraphStore("S", "r", (StoredInput("r", "r", ("at",)),), None, 1, (UNBOUNDED,))
EMPTY = PhysicalGraph((), (), (), (), ())


def frame(*arrivals: int) -> pl.DataFrame:
    return pl.DataFrame({"r.at": arrivals, ARRIVAL: arrivals}).with_columns(
        pl.col("r.at").cast(pl.Datetime("us", "UTC"))
    )


def insert(state: PartitionState, level: int, *arrivals: int) -> RunRef:
    return state.insert(STORE, ("r.at",), level, frame(*arrivals))


def arrivals(state: PartitionState) -> list[int]:
    return sorted(a for run in state.runs("S") for a in state.scan(run)[ARRIVAL].to_list())


def test_a_late_attempt_touches_no_run_of_its_successor(tmp_path: Path) -> None:
    policy = CompactionPolicy(fan=2, smallest_rows=10)
    first = [insert(PartitionState(str(tmp_path), 0, batch, {}), 1, batch) for batch in (0, 1)]
    given_up, successor = (PartitionState(str(tmp_path), 0, 2, {"S": first}, policy) for _ in range(2))

    lost = insert(given_up, 1, 20, 21)
    kept = insert(successor, 1, 20)
    merged = successor.compact(STORE, ("r.at",), None, level=1).added
    assert arrivals(successor) == [0, 1, 20]
    late = [insert(given_up, 1, 22), insert(given_up, 2, 23)]
    late += given_up.compact(STORE, ("r.at",), None, level=1).added

    successor.root.verify([kept, *merged])
    assert arrivals(successor) == [0, 1, 20]
    assert set(successor.root.delete_others([kept, *merged])) == {run.path for run in (*first, lost, *late)}
    successor.root.verify([kept, *merged])


def test_a_stage_sees_what_the_attempt_before_it_said_and_nothing_else(tmp_path: Path) -> None:
    given_up, successor = (PartitionState(str(tmp_path), 0, 7, {}) for _ in range(2))
    insert(given_up, 1, 1, 2)
    insert(successor, 1, 1)
    outbox = Outbox(EMPTY, 1, None, "1-0-0")
    outbox.stored(0, successor.inserted)
    inbox = sort_rows(outbox.rows, {}, 2, 0)
    assert inbox.passing == ()
    second = PartitionState(str(tmp_path), 0, 7, {}, inserted=inbox.stored)
    insert(second, 2, 3)
    assert arrivals(second) == [1, 3]


def test_a_late_attempt_changes_no_result_that_is_shown(tmp_path: Path) -> None:
    def write(*values: int) -> OutputFile:
        return write_hidden(str(tmp_path), "results/q", 3, 1, 0, pa.table({"n": values}))

    write(1, 2)
    committed = write(1)
    show(tmp_path, [committed])
    write(1, 2, 3)
    show(tmp_path, [committed])  # as a process does that starts behind the commit
    shown = tmp_path / committed.path
    assert pq.read_table(shown)["n"].to_pylist() == [1]
    remove_hidden(tmp_path)
    assert [path.name for path in shown.parent.iterdir()] == [shown.name]
