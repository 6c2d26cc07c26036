"""windows: what a tuple costs as the window, and with it the state, grows sixtyfold.

Rates are constant, and a key has as many values as a window has tuples, so results per tuple are
constant too: what differs is only how much is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.curves import Panel, draw
from tests.bench.joins import data
from tests.bench.joins.reference import count_with_duckdb
from tests.bench.joins.replays import Replays, batches, command
from tests.bench.joins.shapes import SHAPES, resized
from tests.bench.measurement import Measured, Report
from tests.bench.subjects import Subject, measure_in_turns

WINDOWS_S = (10, 30, 60, 120, 300, 600)
RATE = 1_000
SECONDS = 900
"""Of event time."""
BATCHES = 30
TAIL_BATCHES = 10
"""The last 300 s: the longest window is full."""
SHAPE = "linear3"


def run(folder: Path, scratch: Path, scale: float, repeat: int, command_: str) -> Report:
    """Replays the same rates under every window.

    Args:
        folder: for the plot.
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples per second; windows and the streams' length stay.
        repeat: runs of each window; the medians count.
        command_: what the person typed, for the report.
    """
    subjects = [_subject(scratch, window_s, scale) for window_s in WINDOWS_S]
    measured = measure_in_turns("windows", subjects, scratch, repeat)
    done = [(w, m) for w, m in zip(WINDOWS_S, measured, strict=True) if m.runs]
    plots = []
    if done:
        panels = [
            Panel("µs per tuple", [[run["us_per_tuple"] for run in m.runs] for _, m in done]),
            Panel("state, MB", [[run["peak_state_bytes"] / 1e6 for run in m.runs] for _, m in done]),
        ]
        plots = [draw(folder, "windows-cost", "window, s", [w for w, _ in done], panels)]
    return Report("windows", scale, command_, measured, _notes(scale, done), plots=tuple(plots))


def _subject(scratch: Path, window_s: int, scale: float) -> Subject:
    made = resized(SHAPES[SHAPE], max(1, round(RATE * scale)), window_s, SECONDS)
    place = scratch / f"window-{window_s}"
    data.write_workload(place / "workload", made)
    data.write(place / "data", made, 1.0)
    rows = -(-data.rows_per_stream(made, 1.0) * len(made.streams) // BATCHES)
    replays = Replays(place / "workload", place / "data", rows)

    def measure(out: Path) -> Mapping[str, float]:
        figures = replays(out)
        tail = batches(out)[-TAIL_BATCHES - 1 :]
        seconds = tail[-1].committed_s - tail[0].committed_s
        return figures | {"us_per_tuple": 1e6 * seconds / sum(batch.tuples for batch in tail[1:])}

    return Subject(f"{window_s} s", command(rows), measure, count_with_duckdb(made, place / "data"))


def _notes(scale: float, done: Sequence[tuple[int, Measured]]) -> tuple[str, ...]:
    notes = [
        f"A 3-way linear join, {round(RATE * scale):,} tuples/s per stream, {SECONDS} s of "
        f"event time in {BATCHES} batches, keys with as many values as a window has tuples. Every run has "
        f"as many results as DuckDB. *µs per tuple* is the wall time of the last {TAIL_BATCHES} batches, "
        "when every window is full, by their tuples. *All processes*: the largest sum of the proportional "
        "set sizes of driver, Java, planners and workers, in a further run that is not timed; the target is "
        "three times the peak state and 1,000 MB."
    ]
    costs = {window: measured.median("us_per_tuple") for window, measured in done}
    states = {window: measured.median("peak_state_bytes") for window, measured in done}
    shortest, longest = WINDOWS_S[0], WINDOWS_S[-1]
    if shortest in costs and longest in costs:
        cost, state = (d[longest] / d[shortest] for d in (costs, states))
        notes.append(f"From {shortest} s to {longest} s: state {state:.1f}x, cost per tuple {cost:.2f}x.")
    return tuple(notes)
