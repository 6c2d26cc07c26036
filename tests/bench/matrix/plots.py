"""The plots of the matrix benchmark, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "matrix"

from matplotlib import pyplot as plt  # noqa: E402  (the backend has to be chosen first)

from tests.bench.matrix.replays import Moment, Replayed  # noqa: E402

_COLOURS = {"hash": "#e0a060", "matrix": "#1f4e9c", "by cost": "#2a7d4f"}


def draw_skew(folder: Path, runs: Mapping[str, Mapping[float, Replayed]]) -> str:
    """Throughput and the fullest task over z, a line for each layout; returns the file's name."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5.0), sharex=True, layout="constrained")
    for name, found in runs.items():
        speeds = [run.metrics["tuples_per_second"] for run in found.values()]
        above.plot(list(found), speeds, marker="o", label=name, color=_COLOURS[name])
        loads = [run.fullest_task for run in found.values()]
        below.plot(list(found), loads, marker="o", label=name, color=_COLOURS[name])
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
    """Cardinality ratio and load ratio over the input, a column for each k; returns the file's name."""
    figure, rows = plt.subplots(
        2, len(runs), figsize=(3.2 * len(runs), 4.6), sharey="row", layout="constrained"
    )
    for (k, moments), above, below in zip(runs.items(), *rows, strict=True):
        share = [100 * (i + 1) / len(moments) for i in range(len(moments))]
        above.plot(share, [moment.ratio for moment in moments], color="#1f4e9c")
        above.set_yscale("log", base=2)
        above.set_title(f"k = {k}")
        below.plot(share, [moment.load_ratio for moment in moments], color="#1f4e9c")
        below.axhline(1.25, color="#b03030", linestyle="--", label="1.25")
        below.set_xlabel("% of the batches")
    rows[0][0].set_ylabel("|orders| / |lineitem|")
    rows[1][0].set_ylabel("load / best load")
    rows[1][0].legend(frameon=False)
    figure.savefig(folder / "matrix-fluctuation.svg", metadata={"Date": None})
    plt.close(figure)
    return "matrix-fluctuation.svg"
