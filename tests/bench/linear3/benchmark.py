"""linear3: a 3-way linear join through Millrace, through Spark's own joins, and without streaming."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench.linear3 import data
from tests.bench.measurement import Measured, Report

_ROOT = Path(__file__).resolve().parents[3]
_FIGURES = ("seconds", "tuples_per_second", "steady_tuples_per_second", "batches", "peak_state_bytes")


class WrongAnswer(AssertionError):
    """A subject returned another number of results than DuckDB: its figures mean nothing."""


def run(scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Runs every subject `repeat` times, each in a process of its own.

    Args:
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples; 1 is 3 million.
        repeat: runs of each subject; the medians count.
        command: what the person typed, for the report.
    Raises:
        WrongAnswer: when the numbers of results differ.
    """
    data.write(scratch, scale)
    files = scratch / "data"
    tuples = 3 * data.rows_per_stream(scale)
    expected = int(_python(["-m", "tests.bench.linear3.reference", "duckdb", str(files)])["results"])

    def millrace(out: Path, batch_rows: int) -> dict[str, float]:
        workload = str(scratch / "workload")
        options = ["--data", str(files), "--out", str(out), "--batch-rows", str(batch_rows)]
        _python(["-m", "jobs", "replay", workload, *options], answers=False)
        metrics = json.loads((out / "metrics.json").read_text())
        return {name: metrics[name] for name in _FIGURES} | {"results": metrics["results"]["linear3"]}

    def native(out: Path) -> dict[str, float]:
        return _python(["-m", "tests.bench.linear3.native", str(files), str(out)])

    def polars(_: Path) -> dict[str, float]:
        figures = _python(["-m", "tests.bench.linear3.reference", "polars", str(files)])
        return figures | {"tuples_per_second": tuples / figures["seconds"]}

    small, large = tuples // data.BATCHES, tuples // 4
    replay = "python -m jobs replay WORKLOAD --data DATA --out OUT --batch-rows"
    native_command = "python -m tests.bench.linear3.native DATA OUT"
    subjects: list[tuple[str, str, Callable[[Path], dict[str, float]]]] = [
        (f"Millrace, {data.BATCHES} batches", f"{replay} {small}", lambda out: millrace(out, small)),
        ("Millrace, 4 batches", f"{replay} {large}", lambda out: millrace(out, large)),
        (f"Spark's chained joins, {data.BATCHES} batches", native_command, native),
        (
            "Polars, no streaming",
            "python -m tests.bench.linear3.reference polars DATA",
            polars,
        ),
    ]
    measured = []
    for number, (subject, typed, measure) in enumerate(subjects):
        runs = []
        for attempt in range(repeat):
            figures = measure(scratch / f"out-{number}-{attempt}")
            if figures["results"] != expected:
                raise WrongAnswer(f"{subject}: {figures['results']:.0f} results, DuckDB has {expected}")
            runs.append(figures)
            speed = figures.get("steady_tuples_per_second") or figures["tuples_per_second"]
            sys.stderr.write(f"linear3: {subject}, run {attempt + 1} of {repeat}: {speed:,.0f} tuples/s\n")
        measured.append(Measured(subject, typed, tuple(runs)))
    notes = (
        f"{tuples:,} tuples in three streams, {data.RATE:,} tuples/s of event time each, windows of "
        f"{data.WINDOW_S} s, R.b = S.b and S.c = T.c, {expected:,} results, the same number from every "
        "subject as from DuckDB.",
        "Steady: without the first two batches, from the third one's start to the last one's commit.",
    )
    return Report("linear3", scale, command, tuple(measured), notes)


def _python(words: list[str], answers: bool = True) -> dict[str, float]:
    done = subprocess.run([sys.executable, *words], cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words[:3])}: exit code {done.returncode}\n{done.stderr[-3000:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1])) if answers else {}
