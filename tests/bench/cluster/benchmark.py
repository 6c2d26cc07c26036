"""cluster: one against two Spark standalone workers of one core each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jobs.cli.replay import DEFAULT_BATCH_ROWS
from tests.bench.cluster.account import KINDS, Account
from tests.bench.joins import data
from tests.bench.joins.reference import count_with_duckdb
from tests.bench.joins.replays import command as replay_command
from tests.bench.joins.replays import replay
from tests.bench.joins.shapes import SHAPES
from tests.bench.measurement import Measured, Report
from tests.bench.subjects import Subject, measure_in_turns
from tests.cluster.standalone import Standalone

WORKERS = (1, 2)
BATCHES = 8
TUPLES = BATCHES * DEFAULT_BATCH_ROWS
_PARALLELISM = ("--parallelism", "2")


class OneCoreEach(Standalone):
    """Workers that have one core of this machine, and no more than that, each.

    Cores that Spark is told are tasks at a time: a worker's Java threads would take another core beside its
    task's Python, which a host of one core does not have.
    """

    def entering(self, number: int) -> list[str]:
        cores = sorted(os.sched_getaffinity(0))
        return ["taskset", "--cpu-list", str(cores[number % len(cores)])]


def run(scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Replays linear3 on clusters of different size; the plan and the batches are the same.

    Args:
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples.
        repeat: runs of each size.
        command: what the person typed, for the report.
    """
    shape = replace(SHAPES["linear3"], tuples=TUPLES)
    data.write(scratch / "data", shape, scale)
    data.write_workload(scratch / "workload", shape)
    tuples = data.rows_per_stream(shape, scale) * len(shape.streams)
    rows = -(-tuples // BATCHES)
    expected = count_with_duckdb(shape, scratch / "data")

    def subject(workers: int) -> Subject:
        def measure(out: Path) -> Mapping[str, float]:
            with OneCoreEach(out.with_name(f"{out.name}-cluster"), workers) as cluster:
                options = (*_PARALLELISM, "--master", cluster.url)
                account = Account(out)
                with account.taken():
                    figures = replay(scratch / "workload", scratch / "data", out, rows, options)
                return figures | account.per_batch()

        name = "1 worker" if workers == 1 else f"{workers} workers"
        typed = replay_command(rows, (*_PARALLELISM, "--master", "spark://HOST:PORT"))
        return Subject(name, typed, measure, expected)

    measured = measure_in_turns("cluster", [subject(workers) for workers in WORKERS], scratch, repeat)
    return Report("cluster", scale, command, measured, _notes(tuples, expected, measured))


def _notes(tuples: int, expected: int, measured: Sequence[Measured]) -> tuple[str, ...]:
    notes = [
        f"linear3 with {tuples:,} tuples, {expected:,} results as in DuckDB, {BATCHES} batches. A master and "
        "workers from the PySpark package, all on this machine; every worker, with what it starts, has one "
        "core, and the driver shares the cores with them."
    ]
    one, two = measured
    if one.speed and two.speed:
        notes.append(f"Two workers against one: {two.speed / one.speed:.2f}x.")
        used = sum(two.median(f"{kind}_cpu_s") or 0.0 for kind in KINDS)
        cores = len(os.sched_getaffinity(0))
        if used:
            bound = tuples / BATCHES * cores / used / one.speed
            notes.append(
                f"With two workers a batch takes {used:.2f} s of processor time over all processes: if none "
                f"of them waited for another, {cores} cores would make it {bound:.2f}x."
            )
    return tuple(notes)
