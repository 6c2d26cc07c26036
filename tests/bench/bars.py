"""One bar per subject: how fast it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from tests.bench.measurement import Measured

mpl.use("svg")

from matplotlib import pyplot as plt

_COLOURS = {"Millrace": "#1f6f8b", "Polars": "#b8b8b8"}
_PEER = "#d08c4a"


def draw(folder: Path, name: str, measured: Sequence[Measured]) -> str | None:
    """Writes FOLDER/NAME.svg, medians with the range of the runs; returns the file's name.

    The scale is logarithmic: subjects differ by orders of magnitude. None if there is nothing to compare.
    """
    fast = [(m, m.speed) for m in measured if m.speed is not None]
    if len(fast) < 2:
        return None
    figure, axes = plt.subplots(figsize=(8, 0.6 + 0.45 * len(fast)), layout="constrained")
    for place, (subject, speed) in enumerate(fast):
        colour = next((c for start, c in _COLOURS.items() if subject.subject.startswith(start)), _PEER)
        low, high = min(subject.speeds), max(subject.speeds)
        axes.barh(place, speed, color=colour)
        axes.plot([low, high], [place, place], color="black", linewidth=1)
        axes.annotate(f" {speed:,.0f}", (max(high, speed), place), va="center", fontsize=8)
    axes.set_xscale("log")
    slowest, fastest = min(speed for _, speed in fast), max(speed for _, speed in fast)
    axes.set_xlim(slowest / 3, fastest * 4)
    axes.set_yticks(range(len(fast)), [m.subject for m, _ in fast], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("tuples per second")
    axes.spines[["top", "right"]].set_visible(False)
    # No date and fixed ids: the same figures give the same file.
    mpl.rcParams["svg.hashsalt"] = name
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"{name}.svg"
