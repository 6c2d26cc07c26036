"""queries: 1 to 100 queries over ten streams in one topology."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.curves import Panel, draw
from tests.bench.joins.replays import command as replay_command
from tests.bench.joins.replays import replay
from tests.bench.measurement import Measured, Report
from tests.bench.queries import workload
from tests.bench.subjects import Subject, measure_in_turns

COUNTS = (1, 3, 10, 30, 100)
BATCHES = 10


def run(folder: Path, scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Answers more and more queries over the same data.

    Args:
        folder: for the plot.
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples per second.
        repeat: runs of each number of queries; the medians count.
        command: what the person typed, for the report.
    """
    data = scratch / "data"
    tuples = workload.write_data(data, scale)
    subjects = [_subject(scratch, data, count, scale) for count in COUNTS]
    measured = measure_in_turns("queries", subjects, scratch, repeat)
    done = [(count, m) for count, m in zip(COUNTS, measured, strict=True) if m.runs]
    panels = [
        Panel("tuples per second", [m.speeds for _, m in done]),
        Panel("µs per tuple", [[run["us_per_tuple"] for run in m.runs] for _, m in done]),
        Panel("distinct probe steps", [[run["probe_steps"] for run in m.runs] for _, m in done]),
    ]
    plots = (draw(folder, "queries-cost", "queries", [c for c, _ in done], panels),) if done else ()
    return Report("queries", scale, command, measured, _notes(tuples, done), plots=plots)


def _subject(scratch: Path, data: Path, count: int, scale: float) -> Subject:
    place = scratch / f"workload-{count}"
    queries = workload.draw(count)
    workload.write_workload(place, queries, scale)
    read = sorted({stream for query in queries for stream in query})
    rows = -(-workload.rows(scale) * len(read) // BATCHES)

    def measure(out: Path) -> Mapping[str, float]:
        figures = replay(place, data, out, rows)
        plan = json.loads((out / "plan.json").read_text())
        probes = sum(rule["kind"] == "probe" for rule in plan["rules"])
        speed = figures.get("steady_tuples_per_second") or figures["tuples_per_second"]
        return figures | {"probe_steps": probes, "us_per_tuple": 1e6 / speed}

    name = "1 query" if count == 1 else f"{count} queries"
    return Subject(name, replay_command(rows), measure, workload.count_results(data, queries))


def _notes(tuples: int, done: Sequence[tuple[int, Measured]]) -> tuple[str, ...]:
    notes = [
        f"Different 3-way linear joins over {workload.STREAMS} streams of "
        f"{tuples // workload.STREAMS:,} tuples each, windows of {workload.WINDOW_S} s. Tuples per second "
        "are those of the streams that any query reads, each tuple once. Every run has as many results as "
        "DuckDB, added up over the queries. *Probe steps* are those of the plan, shared ones counted once.",
    ]
    if len(done) > 1:
        (few, first), (many, last) = done[0], done[-1]
        costs, steps = (
            [m.median(figure) or 0.0 for m in (first, last)] for figure in ("us_per_tuple", "probe_steps")
        )
        notes.append(
            f"From {few} to {many} queries: probe steps {steps[1] / steps[0]:.1f}x, cost per tuple "
            f"{costs[1] / costs[0]:.1f}x."
        )
    return tuple(notes)
