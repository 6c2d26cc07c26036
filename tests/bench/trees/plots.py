"""Figures 5.10 and 5.12 of the dissertation from this benchmark's figures, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

from tests.bench.measurement import Measured

_COLOURS = ("#1f6f8b", "#d08c4a", "#7a9e3a", "#8a5fa8", "#b84a4a", "#555555")
_ESTIMATED, _MEASURED = "#b8b8b8", "#1f6f8b"


def draw_capacity(
    folder: Path, shares: Sequence[float], panels: Mapping[str, Mapping[str, Sequence[float]]]
) -> str:
    """Writes FOLDER/trees-5.10.svg: tuples sent over the capacity of a task, a panel per selectivity.

    Args:
        shares: of a relation's tuples that one task holds.
        panels: by title, then by shape: tuples sent at each of these capacities.
    """
    figure, row = plt.subplots(1, len(panels), figsize=(3.4 * len(panels), 3.2), layout="constrained")
    for axes, (title, lines) in zip(row, panels.items(), strict=True):
        # Shapes that send the same lie upon each other and show by the size of their markers.
        styles = zip(_COLOURS, "os^vDx", (11, 9, 7, 6, 5, 4), (3, 2.4, 1.8, 1.4, 1, 0.7), strict=True)
        for (colour, marker, size, width), (shape, sent) in zip(styles, lines.items(), strict=True):
            axes.plot(
                shares,
                sent,
                marker=marker,
                markersize=size,
                markerfacecolor="none",
                linewidth=width,
                color=colour,
                label=shape,
            )
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("task capacity, share of a relation", fontsize=8)
        axes.set_yscale("log")
        axes.set_xticks(shares, [f"{share:g}" for share in shares])
        axes.tick_params(which="both", labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    row[0].set_ylabel("tuples sent", fontsize=8)
    row[0].legend(fontsize=7)
    return _written(folder, "trees-5.10", figure)


def draw_estimates(folder: Path, measured: Sequence[Measured]) -> str:
    """Writes FOLDER/trees-5.12.svg: what was expected beside what was counted, sent above, stored below."""
    figure, rows = plt.subplots(2, 1, figsize=(7.2, 4.8), sharex=True, layout="constrained")
    places = range(len(measured))
    for axes, what, unit in zip(rows, ("sent", "stored"), ("tuples sent per second", "tuples"), strict=True):
        for shift, kind, colour in ((-0.2, "estimated", _ESTIMATED), (0.2, "measured", _MEASURED)):
            heights = [m.median(f"{kind}_{what}") or 0.0 for m in measured]
            axes.bar([place + shift for place in places], heights, 0.38, color=colour, label=kind)
        axes.set_ylabel(f"{what}, {unit}" if what == "stored" else unit, fontsize=8)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    rows[0].legend(fontsize=8)
    rows[1].set_xticks(places, [m.subject.replace(", ", "\n") for m in measured], fontsize=8)
    return _written(folder, "trees-5.12", figure)


def _written(folder: Path, name: str, figure: plt.Figure) -> str:
    # No date and fixed ids: the same figures give the same file.
    mpl.rcParams["svg.hashsalt"] = name
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"{name}.svg"
