"""Figures 8a to 8d, 8g and 8h of the paper on PSP from this benchmark's figures, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from tests.bench.measurement import Measured
from tests.bench.psp.replays import Moment

_COLOURS = ("#1f6f8b", "#d08c4a", "#7a9e3a", "#8a5fa8")
_STARTING = 2
"""Batches in which Spark's workers start, and which say nothing."""


def draw_tasks(folder: Path, lines: Mapping[str, Mapping[int, Measured]]) -> str:
    """Writes FOLDER/psp-tasks.svg: response time above, state below, over the number of tasks.

    Args:
        folder: for the file.
        lines: by the layout's name, then by the number of tasks; those without a run are left out.
    """
    figure, rows = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True, layout="constrained")
    panels = (("slowest_task_ms", "slowest task, ms per batch"), ("held_tuples", "tuples held"))
    for colour, measured in zip(_COLOURS, lines.values(), strict=False):
        _draw_expected(rows[0], colour, measured)
    for axes, (name, label) in zip(rows, panels, strict=True):
        # What is as fast, or as small, as something else lies beneath it and shows by its larger marker.
        styles = zip(_COLOURS, "os^D", (10, 8, 6, 4), lines.items(), strict=False)
        for colour, marker, size, (layout, measured) in styles:
            runs = {tasks: [run[name] for run in m.runs] for tasks, m in measured.items() if m.runs}
            middle = [median(found) for found in runs.values()]
            around = [
                [m - min(found) for m, found in zip(middle, runs.values(), strict=True)],
                [max(found) - m for m, found in zip(middle, runs.values(), strict=True)],
            ]
            axes.errorbar(
                list(runs),
                middle,
                yerr=around,
                marker=marker,
                markersize=size,
                markerfacecolor="none",
                capsize=3,
                # Two points make no curve.
                linestyle="-" if len(runs) > 2 else "none",
                linewidth=1.2,
                color=colour,
                label=layout,
            )
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.set_xscale("log", base=2)
        axes.spines[["top", "right"]].set_visible(False)
    counts = sorted({tasks for measured in lines.values() for tasks in measured})
    rows[-1].set_xticks(counts, [str(tasks) for tasks in counts])
    rows[-1].minorticks_off()
    rows[-1].set_xlabel("tasks of a store")
    rows[0].legend(fontsize=8, frameon=False)
    return _written(folder, "psp-tasks", figure)


def _draw_expected(axes: Axes, colour: str, measured: Mapping[int, Measured]) -> None:
    """Dotted: one task's time, as the optimizer expects layouts to share it out."""
    one = measured[1].median("slowest_task_ms")
    shares = {tasks: m.median("expected_share") for tasks, m in measured.items()}
    known = {tasks: share for tasks, share in shares.items() if share is not None}
    if one is not None and len(known) > 2:
        axes.plot(list(known), [one * share for share in known.values()], linestyle=":", color=colour)


def draw_doubling(folder: Path, lines: Mapping[str, Sequence[Sequence[Moment]]], doubled_s: float) -> str:
    """Writes FOLDER/psp-doubling.svg: response time above, the fullest task below, over event time.

    Args:
        folder: for the file.
        lines: by the layout's name, the batches of every run; the median of the runs is drawn.
        doubled_s: event time at which the rate doubles.
    """
    figure, rows = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True, layout="constrained")
    for colour, marker, (layout, runs) in zip(_COLOURS, "os", lines.items(), strict=False):
        batches = list(zip(*runs, strict=True))[_STARTING:]
        at = [batch[0].event_s for batch in batches]
        slowest = [median(moment.slowest_ms for moment in batch) for batch in batches]
        fullest = [median(moment.fullest for moment in batch) for batch in batches]
        for axes, values in zip(rows, (slowest, fullest), strict=True):
            axes.plot(at, values, marker=marker, markersize=4, linewidth=1.2, color=colour, label=layout)
    for axes, label in zip(
        rows, ("slowest task, ms per batch", "fullest task, of an even share"), strict=True
    ):
        axes.axvline(doubled_s, color="#555555", linestyle=":", label="the rate doubles")
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
    rows[0].set_ylim(bottom=0)
    rows[1].axhline(1.0, color="#b8b8b8", linewidth=1)
    rows[-1].set_xlabel("event time, s")
    rows[0].legend(fontsize=8, frameon=False)
    return _written(folder, "psp-doubling", figure)


def _written(folder: Path, name: str, figure: plt.Figure) -> str:
    # No date and fixed ids: the same figures give the same file.
    mpl.rcParams["svg.hashsalt"] = name
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"{name}.svg"
