"""cluster: one against two Spark standalone workers of one core each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tests.bench.joins import data
from tests.bench.joins.reference import count_with_duckdb
from tests.bench.joins.replays import command as replay_command
from tests.bench.joins.replays import replay
from tests.bench.joins.shapes import SHAPES
from tests.bench.measurement import Measured, Report
from tests.bench.subjects import Subject, measure_in_turns
from tests.cluster.standalone import Standalone

WORKERS = (1, 2)
TUPLES = 2_400_000
BATCHES = 8
_PARALLELISM = ("--parallelism", "2")


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
            with Standalone(out.with_name(f"{out.name}-cluster"), workers) as cluster:
                options = (*_PARALLELISM, "--master", cluster.url)
                return replay(scratch / "workload", scratch / "data", out, rows, options)

        name = "1 worker" if workers == 1 else f"{workers} workers"
        typed = replay_command(rows, (*_PARALLELISM, "--master", "spark://HOST:PORT"))
        return Subject(name, typed, measure, expected)

    measured = measure_in_turns("cluster", [subject(workers) for workers in WORKERS], scratch, repeat)
    return Report("cluster", scale, command, measured, _notes(tuples, expected, measured))


def _notes(tuples: int, expected: int, measured: Sequence[Measured]) -> tuple[str, ...]:
    one, two = (m.speed for m in measured)
    return (
        f"linear3 with {tuples:,} tuples, {expected:,} results as in DuckDB, {BATCHES} batches. A master and "
        "workers of one core each from the PySpark package, all on this machine; the driver needs a part of "
        "the cores too.",
        *([f"Two workers against one: {two / one:.2f}x."] if one and two else []),
    )
