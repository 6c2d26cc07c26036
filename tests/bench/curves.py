"""A figure against a parameter: one or two panels above each other, medians with the range of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt


@dataclass(frozen=True, slots=True)
class Panel:
    """What one panel shows."""

    label: str
    """Of the vertical axis, with the unit."""
    runs: Sequence[Sequence[float]]
    """For each value of the parameter, the figure of every run."""


def draw(
    folder: Path,
    name: str,
    parameter: str,
    values: Sequence[float],
    panels: Sequence[Panel],
    *,
    log: bool = True,
    labels: Sequence[str] = (),
) -> str:
    """Writes FOLDER/NAME.svg and returns the file's name.

    `log` is about the parameter's axis; `labels` are written there instead of the values.
    """
    figure, rows = plt.subplots(
        len(panels), 1, figsize=(6.4, 2.4 * len(panels)), sharex=True, squeeze=False, layout="constrained"
    )
    for axes, panel in zip(rows[:, 0], panels, strict=True):
        middle = [median(runs) for runs in panel.runs]
        around = [
            [m - min(runs) for m, runs in zip(middle, panel.runs, strict=True)],
            [max(runs) - m for m, runs in zip(middle, panel.runs, strict=True)],
        ]
        axes.errorbar(values, middle, yerr=around, marker="o", capsize=3, color="#1f6f8b")
        axes.set_ylabel(panel.label)
        axes.set_ylim(bottom=0)
        if log:
            axes.set_xscale("log")
        axes.set_xticks(values, labels or [f"{value:g}" for value in values])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    rows[-1, 0].set_xlabel(parameter)
    # No date and fixed ids: the same figures give the same file.
    mpl.rcParams["svg.hashsalt"] = name
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"{name}.svg"
