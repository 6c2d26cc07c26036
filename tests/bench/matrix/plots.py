"""The plots of the matrix benchmark, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "matrix"

from matplotlib import pyplot as plt  # noqa: E402  (the backend has to be chosen first)
from matplotlib.axes import Axes  # noqa: E402

from tests.bench.matrix.replays import Moment, Replayed  # noqa: E402

_COLOURS = {"hash": "#e0a060", "matrix": "#1f4e9c", "by cost": "#2a7d4f"}
_STYLES = {"hash": ("-", "o"), "matrix": ("-", "s"), "by cost": ("--", "^")}
"""By cost is one of the other two everywhere: dashed, so that the line below stays visible."""


def draw_skew(folder: Path, runs: Mapping[str, Mapping[float, Replayed]]) -> str:
    """Throughput and the fullest task over z, a line for each layout; returns the file's name."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5.0), sharex=True, layout="constrained")
    for name, found in runs.items():
        line, marker = _STYLES[name]
        look = {"marker": marker, "linestyle": line, "color": _COLOURS[name], "label": name}
        above.plot(list(found), [run.metrics["tuples_per_second"] for run in found.values()], **look)
        below.plot(list(found), [run.fullest_task for run in found.values()], **look)
    above.set_ylabel("tuples/s")
    above.set_ylim(bottom=0)
    above.legend(frameon=False)
    below.set_ylabel("fullest task, of an even share")
    below.set_ylim(bottom=0)
    below.set_xlabel("Zipf's z of the join key")
    figure.savefig(folder / "matrix-skew.svg", metadata={"Date": None})
    plt.close(figure)
    return "matrix-skew.svg"


def draw_fluctuation(folder: Path, runs: Mapping[int, Sequence[Moment]]) -> str:
    """Cardinality ratio, load ratio and tuples moved over the input, a column for each k; returns the file's
    name."""
    figure, rows = plt.subplots(
        3, len(runs), figsize=(3.2 * len(runs), 6.4), sharex=True, sharey="row", layout="constrained"
    )
    for (k, moments), ratio, load, moved in zip(runs.items(), *rows, strict=True):
        _draw_ratio(ratio, moments)
        ratio.set_title(f"k = {k}")
        _draw_load(load, moments, 1.25)
        moved.plot(_input(moments), [moment.moved_per_tuple for moment in moments], color="#1f4e9c")
        moved.set_xlabel("% of the tuples")
    rows[0][0].set_ylabel("|orders| / |lineitem|")
    rows[1][0].set_ylabel("load / best load")
    rows[2][0].set_ylabel("moved per tuple so far")
    rows[1][0].legend(frameon=False)
    figure.savefig(folder / "matrix-fluctuation.svg", metadata={"Date": None})
    plt.close(figure)
    return "matrix-fluctuation.svg"


def draw_uneven(folder: Path, moments: Sequence[Moment], k: int) -> str:
    """Cardinality ratio and load ratio of a number of tasks that is no power of two; returns the file's
    name."""
    figure, (ratio, load) = plt.subplots(2, 1, figsize=(6.4, 4.6), sharex=True, layout="constrained")
    _draw_ratio(ratio, moments)
    ratio.set_title(f"{moments[0].tasks} tasks, k = {k}")
    ratio.set_ylabel("|orders| / |lineitem|")
    _draw_load(load, moments, 3.75)
    load.set_ylabel("load / best load")
    load.set_ylim(bottom=0)
    load.set_xlabel("% of the tuples")
    load.legend(frameon=False)
    figure.savefig(folder / "matrix-uneven.svg", metadata={"Date": None})
    plt.close(figure)
    return "matrix-uneven.svg"


def _draw_ratio(axes: Axes, moments: Sequence[Moment]) -> None:
    axes.plot(_input(moments), [moment.ratio for moment in moments], color="#1f4e9c")
    axes.set_yscale("log", base=2)


def _draw_load(axes: Axes, moments: Sequence[Moment], bound: float) -> None:
    axes.plot(_input(moments), [moment.load_ratio for moment in moments], color="#1f4e9c")
    axes.axhline(bound, color="#b03030", linestyle="--", label=f"{bound:g}")


def _input(moments: Sequence[Moment]) -> list[float]:
    return [100 * moment.tuples_in / moments[-1].tuples_in for moment in moments]
