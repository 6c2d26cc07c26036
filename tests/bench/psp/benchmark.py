"""psp: an expensive predicate over slices of event time, against replicated state and against broadcasts.

Wang and Rundensteiner, EDBT 2009, section 8, at the scale of one machine: response time and state over the
number of slices (Figures 8a and 8b), the same with copies (ATR, Figures 8c and 8d), and an arrival rate that
doubles midway, with boundaries that follow and with boundaries that stay (Figures 8g and 8h).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from optimizer.physical.graph import Slices
from tests.bench.joins.replays import command
from tests.bench.measurement import Measured, Report
from tests.bench.psp.plots import draw_doubling, draw_tasks
from tests.bench.psp.replays import Moment, Replayed, replay_plan
from tests.bench.psp.workload import PIXELS, WINDOW_S, Rates, Way, count_with_duckdb, write
from tests.bench.subjects import Subject, measure_in_turns

RATE = 45
"""Tuples per second of each stream."""
SECONDS = 32
"""Of event time: four windows."""
BATCH_S = 2
"""Event time of a batch before the rate doubles; half of it afterwards, as a batch has so many tuples."""
TASKS = (2, 4, 8)
DOUBLING_TASKS = 4
_ONE_SLOT = ("--master", "local[1,4]")
"""Tasks take turns, so that the time of one is its own: beside another it would be that of half a machine."""
ALONE = Way("1 task")
LAYOUTS = {
    "a slice for each task (PSP)": {n: Way(f"{n} tasks, a slice each", Slices(n), tasks=n) for n in TASKS},
    "slices as long as a window (ATR's segments)": {
        n: Way(f"{n} tasks, slices of a window", Slices(1), tasks=n) for n in TASKS[1:]
    },
    "a copy in each task (ATR's state)": {
        n: Way(f"{n} tasks, a copy in each", replicated=True, tasks=n) for n in TASKS
    },
    "broadcast": {n: Way(f"{n} tasks, broadcast", tasks=n) for n in TASKS[-1:]},
}
"""By name, then by tasks; with one task all are the same."""
_DOUBLED = {
    name: Way(f"doubled, {name}", Slices(DOUBLING_TASKS, smoothed=moving), tasks=DOUBLING_TASKS)
    for name, moving in (("boundaries stay", False), ("boundaries move", True))
}


def run(folder: Path, scratch: Path, scale: float, repeat: int, command_: str) -> Report:
    """Replays the same images under every layout.

    Args:
        folder: for the plots, and for psp-doubling.json with every batch of the second experiment.
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples per second.
        repeat: runs of each subject; the medians count.
        command_: what the person typed, for the report.
    """
    rate = max(2, round(RATE * scale))
    even, doubled = Rates(((SECONDS, rate),)), Rates(((SECONDS // 2, rate), (SECONDS // 2, 2 * rate)))
    for name, rates in (("even", even), ("doubled", doubled)):
        write(scratch / name, rates)
    expected = {name: count_with_duckdb(scratch / name) for name in ("even", "doubled")}
    kept: dict[str, list[Replayed]] = {}
    layouts = [ALONE, *(way for ways in LAYOUTS.values() for way in ways.values())]
    subjects = [
        _subject(scratch, way, data, rate, expected[data], kept)
        for data, ways in (("even", layouts), ("doubled", list(_DOUBLED.values())))
        for way in ways
    ]
    found = {m.subject: m for m in measure_in_turns("psp", subjects, scratch, repeat)}
    lines = {
        layout: {1: found[ALONE.name], **{tasks: found[way.name] for tasks, way in ways.items()}}
        for layout, ways in LAYOUTS.items()
    }
    plots = [draw_tasks(folder, lines)]
    series = {
        name: [replayed.moments for replayed in kept[way.name]]
        for name, way in _DOUBLED.items()
        if found[way.name].runs
    }
    if series:
        plots.append(draw_doubling(folder, series, SECONDS / 2))
        (folder / "psp-doubling.json").write_text(
            json.dumps({name: [[asdict(m) for m in run] for run in runs] for name, runs in series.items()})
            + "\n"
        )
    notes = (*_notes(rate, expected), *_compared(lines), *_transition(series))
    return Report("psp", scale, command_, tuple(found.values()), notes, plots=tuple(plots))


def _subject(
    scratch: Path, way: Way, data: str, rate: int, expected: int, kept: dict[str, list[Replayed]]
) -> Subject:
    """Replays under one layout; `kept` is given each of them, by the layout's name."""
    rows = 2 * rate * BATCH_S
    plan = scratch / f"{way.name.replace(' ', '-').replace(',', '')}.json"
    plan.write_text(way.graph(scratch / data / "workload").to_json(), encoding="utf-8")

    def measure(out: Path) -> Mapping[str, float]:
        replayed = replay_plan(scratch / data, plan, out, rows, epoch_batches=1, options=_ONE_SLOT)
        kept.setdefault(way.name, []).append(replayed)
        known = {} if data == "doubled" else {"expected_share": way.share(BATCH_S)}
        return known | replayed.figures

    given = ("--plan", "PLAN", "--epoch-batches", "1", *_ONE_SLOT)
    return Subject(way.name, command(rows, given), measure, expected)


def _notes(rate: int, expected: Mapping[str, int]) -> tuple[str, ...]:
    return (
        f"Two streams of {rate} images of {PIXELS:,} bytes per second, joined by `image_distance` within "
        f"{WINDOW_S} s: {expected['even']:,} results, and {expected['doubled']:,} where the rate of both "
        f"doubles after {SECONDS // 2} of {SECONDS} s. Batches of {2 * rate * BATCH_S} tuples, boundaries "
        "looked at after each. Every run has as many results as DuckDB.",
        "*Slowest task*: the time of the slowest task, added up over ingestion and probing; what a batch "
        "waits for where every task has a core. Here they take turns on one, so that none of them slows down "
        "another, and *ms per batch*, from commit to commit, is the time of all with Spark's share. Medians "
        "over the second half. *Expected* is what `optimizer.partitioning.slicing` counts on, of "
        "the time of one task: "
        "dotted in the plot. *Held* counts every copy; *fullest task* is what it holds over an even share, "
        "at worst in the second half.",
    )


def _compared(lines: Mapping[str, Mapping[int, Measured]]) -> list[str]:
    """Every layout with the most tasks, beside one task."""
    parts = []
    for layout, measured in lines.items():
        first, last = measured[1], measured[TASKS[-1]]
        if first.runs and last.runs:
            time, state = (
                (last.median(figure) or 0.0) / (first.median(figure) or 1.0)
                for figure in ("slowest_task_ms", "held_tuples")
            )
            parts.append(f"{layout}: {time:.2f}x the slowest task's time, {state:.1f}x the state")
    return [f"{TASKS[-1]} tasks beside one. {'; '.join(parts)}."] if parts else []


def _transition(series: Mapping[str, Sequence[Sequence[Moment]]]) -> list[str]:
    """The window behind the doubling, in which slices of both rates lie beside each other."""
    parts = []
    for name, runs in series.items():
        within = [[m for m in run if 0 < m.event_s - SECONDS / 2 <= WINDOW_S] for run in runs]
        worst = median(max(moment.fullest for moment in run) for run in within)
        time = median(moment.slowest_ms for run in within for moment in run)
        parts.append(f"{name}: fullest task at most {worst:.2f}, slowest task {time:,.0f} ms per batch")
    return [f"In the {WINDOW_S} s behind the doubling. {'; '.join(parts)}."] if parts else []
