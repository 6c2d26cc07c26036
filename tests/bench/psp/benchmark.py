"""psp: an expensive predicate over slices of event time, against broadcasts and against replicated state.

Wang and Rundensteiner, EDBT 2009, section 8, at the scale of one machine: response time and state over the
number of slices (Figures 8a and 8b), the same with all state in every task (ATR, Figures 8c and 8d), and an
arrival rate that doubles midway, with boundaries that follow and with boundaries that stay (Figures 8g and
8h).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median

from optimizer.graph import Slices
from tests.bench.curves import Panel, draw
from tests.bench.joins.replays import batches, command, replay
from tests.bench.measurement import Measured, Report
from tests.bench.psp.workload import PIXELS, TASKS, WINDOW_S, Rates, Way, count_with_duckdb, write
from tests.bench.subjects import Subject, measure_in_turns

COUNTS = (1, 2, 4, 8, 16)
FEW_COUNTS = (1, 4, 16)
"""In long batches."""
RATE = 40
SHORT_S, LONG_S = 2, 16
"""Event time of a batch: a fraction of the window, and twice as much."""
SECONDS = 48
EPOCH_BATCHES = 2
_SLICED = {count: Way(f"{count} slices", Slices(count)) for count in COUNTS}
_REPLICATED = tuple(Way(f"replicated, {tasks} tasks", None, True, tasks) for tasks in (1, TASKS))
_BROADCAST = Way("broadcast")
_DOUBLED = (
    Way("doubled, moving boundaries", Slices(TASKS, smoothed=True)),
    Way("doubled, fixed boundaries", Slices(TASKS, smoothed=False)),
)


def run(folder: Path, scratch: Path, scale: float, repeat: int, command_: str) -> Report:
    """Replays the same images under every layout.

    Args:
        folder: for the plots.
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples per second.
        repeat: runs of each subject; the medians count.
        command_: what the person typed, for the report.
    """
    rate = max(2, round(RATE * scale))
    even, doubled = Rates(((SECONDS, rate),)), Rates(((SECONDS // 2, rate), (SECONDS // 2, 2 * rate)))
    for name, rates in (("even", even), ("doubled", doubled)):
        write(scratch / name, rates)
    results = {name: count_with_duckdb(scratch / name) for name in ("even", "doubled")}
    ways = (*_SLICED.values(), _BROADCAST, *_REPLICATED)
    few = (*(_SLICED[count] for count in FEW_COUNTS), _BROADCAST)
    short = {way: _subject(scratch, way, "even", rate, SHORT_S, results) for way in ways}
    long = {way: _subject(scratch, way, "even", rate, LONG_S, results) for way in few}
    changing = [_subject(scratch, way, "doubled", rate, SHORT_S, results) for way in _DOUBLED]
    measured = measure_in_turns("psp", [*short.values(), *long.values(), *changing], scratch, repeat)
    found = {m.subject: m for m in measured}
    plots = [
        plot
        for name, subjects, counts in (
            ("psp-short-batches", short, COUNTS),
            ("psp-long-batches", long, FEW_COUNTS),
        )
        if (plot := _plot(folder, name, {n: found[subjects[_SLICED[n]].name] for n in counts}))
    ]
    return Report("psp", scale, command_, measured, _notes(rate, found), plots=tuple(plots))


def _subject(
    scratch: Path, way: Way, data: str, rate: int, batch_s: int, results: Mapping[str, int]
) -> Subject:
    rows = 2 * rate * batch_s
    name = f"{way.name}, batches of {batch_s} s"
    plan = scratch / f"{name.replace(' ', '-')}.json"
    graph = way.graph(scratch / data / "workload")
    plan.write_text(graph.to_json(), encoding="utf-8")
    options = ("--plan", str(plan), "--epoch-batches", str(EPOCH_BATCHES))

    def measure(out: Path) -> Mapping[str, float]:
        figures = replay(scratch / data / "workload", scratch / data / "data", out, rows, options)
        ends = [batch.committed_s for batch in batches(out)]
        lasted = [1e3 * (end - begin) for begin, end in pairwise(ends)]
        # The windows are full, and where the rate doubles it has.
        steady = lasted[len(lasted) // 2 :]
        return figures | {"batch_ms": median(steady), **_load(out)}

    return Subject(name, command(rows, ("--plan", "PLAN", *options[2:])), measure, results[data])


def _load(out: Path) -> dict[str, float]:
    """Of the commits that are kept: the most tuples that are stored at once, copies counted, and by how much
    the fullest task exceeds the mean, on average over the commits."""
    held: list[int] = []
    excess: list[float] = []
    for path in sorted((out / "checkpoint" / "commits").glob("*.json")):
        document = json.loads(path.read_bytes().partition(b"\n")[0])
        tasks: Counter[int] = Counter()
        for each in document["runs"]:
            tasks[each["partition"]] += each["rows"]
        if tasks:
            held.append(tasks.total())
            excess.append(max(tasks.values()) * _tasks(out) / tasks.total())
    return {"held_tuples": float(max(held)), "fullest_task": sum(excess) / len(excess)}


def _tasks(out: Path) -> int:
    return max(store["tasks"] for store in json.loads((out / "plan.json").read_text())["stores"])


def _plot(folder: Path, name: str, measured: Mapping[int, Measured]) -> str | None:
    done = [(count, m) for count, m in measured.items() if m.runs]
    if not done:
        return None
    panels = [
        Panel("ms per batch", [[run["batch_ms"] for run in m.runs] for _, m in done]),
        Panel("tuples held", [[run["held_tuples"] for run in m.runs] for _, m in done]),
    ]
    return draw(folder, name, "slices of one window", [count for count, _ in done], panels)


def _notes(rate: int, found: Mapping[str, Measured]) -> tuple[str, ...]:
    notes = [
        f"Two streams of {rate} images of {PIXELS:,} bytes per second, joined by `image_distance` within "
        f"{WINDOW_S} s; {TASKS} tasks per store if nothing else is said, {SECONDS} s of event time. A "
        "*batch* is timed from commit to commit, in the second half. *Held* counts every copy; *fullest "
        "task* is its share of the tuples over an even share, on average over the last 16 commits. Every run "
        "has as many results as DuckDB.",
        "*Replicated* keeps all tuples in every task and asks one of them (ATR, the paper's baseline; here a "
        "grid with as many rows as tasks). *Doubled*: the rate of both streams doubles midway.",
    ]
    sliced, *others = (
        found[f"{way.name}, batches of {SHORT_S} s"] for way in (_SLICED[TASKS], _BROADCAST, _REPLICATED[-1])
    )
    for other in others:
        if sliced.runs and other.runs:
            time, state = (
                (other.median(figure) or 0.0) / (sliced.median(figure) or 1.0)
                for figure in ("batch_ms", "held_tuples")
            )
            notes.append(f"{other.subject}: {time:.2f}x the time of {TASKS} slices, {state:.2f}x the state.")
    return tuple(notes)
