"""The soak over time, as SVG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from tests.soak.faults import Fault
from tests.soak.judging import Judgement
from tests.soak.watching import Commit

_COLORS = (
    "#1f6f8b",
    "#e08e45",
    "#5b8c5a",
    "#b5495b",
    "#7d6b91",
    "#8f8f8f",
    "#c9b458",
    "#3b3b3b",
    "#58a4b0",
    "#cccccc",
)


def draw(
    folder: Path,
    samples: Sequence[Mapping[str, Any]],
    commits: Sequence[Commit],
    faults: Sequence[Fault],
    judgement: Judgement,
    load: tuple[float, float],
) -> tuple[Path, ...]:
    """Writes memory.svg, disk.svg and latency.svg; returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    minutes = [(sample["at"] - load[0]) / 60 for sample in samples]
    marks = [((fault.at - load[0]) / 60, fault.kind) for fault in faults]
    return (
        _stacked(folder, "memory", minutes, [s["memory"] for s in samples], "PSS, MB", marks),
        _stacked(folder, "disk", minutes, [s["disk"] for s in samples], "on disk, MB", marks),
        _latency(folder, commits, judgement, load, marks),
    )


def _stacked(
    folder: Path,
    name: str,
    minutes: Sequence[float],
    parts: Sequence[Mapping[str, int]],
    label: str,
    marks: Sequence[tuple[float, str]],
) -> Path:
    names = sorted({key for part in parts for key in part})
    series = {key: [part.get(key, 0) / 1e6 for part in parts] for key in names}
    names.sort(key=lambda key: -max(series[key], default=0.0))
    shown = names[:9]
    rest = [sum(series[key][n] for key in names[9:]) for n in range(len(parts))]
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    heights = [series[key] for key in shown] + ([rest] if names[9:] else [])
    labels = [*shown, *(["rest"] if names[9:] else [])]
    axes.stackplot(minutes, heights, labels=labels, colors=_COLORS)
    axes.set_ylabel(label)
    axes.set_xlabel("minutes of load")
    _mark(axes, marks)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, reverse=True)
    return _save(folder, name, figure)


def _latency(
    folder: Path,
    commits: Sequence[Commit],
    judgement: Judgement,
    load: tuple[float, float],
    marks: Sequence[tuple[float, str]],
) -> Path:
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
    middle = [minute + 0.5 for minute, *_ in judgement.latency_ms]
    upper.plot(middle, [p50 / 1e3 for _, p50, _, _ in judgement.latency_ms], marker=".", color=_COLORS[0])
    upper.plot(middle, [p99 / 1e3 for _, _, p99, _ in judgement.latency_ms], marker=".", color=_COLORS[3])
    upper.set_ylabel("arrival to commit, s")
    upper.set_ylim(bottom=0)
    upper.legend(["p50", "p99"], frameon=False, fontsize=8, title="without faults", title_fontsize=8)
    inside = [commit for commit in commits if load[0] <= commit.committed_us / 1e6 <= load[1]]
    moments = [(commit.committed_us / 1e6 - load[0]) / 60 for commit in inside]
    lower.plot(moments, [commit.lag_s for commit in inside], linewidth=0.8, color=_COLORS[0])
    seconds = [(commit.committed_us - commit.started_us) / 1e6 for commit in inside]
    lower.plot(moments, seconds, linewidth=0.6, color=_COLORS[1])
    lower.set_yscale("log")
    lower.set_ylabel("s")
    lower.set_xlabel("minutes of load")
    lower.legend(["lag at the commit", "batch"], frameon=False, fontsize=8)
    for axes in (upper, lower):
        _mark(axes, marks)
    return _save(folder, "latency", figure)


def _mark(axes: Axes, marks: Sequence[tuple[float, str]]) -> None:
    """A line for every fault, with its kind's first letters."""
    for minute, kind in marks:
        axes.axvline(minute, color="#00000040", linewidth=0.6)
        where = (minute, 0.99)
        axes.annotate(
            kind, where, xycoords=("data", "axes fraction"), rotation=90, fontsize=5, va="top", ha="right"
        )
    axes.spines[["top", "right"]].set_visible(False)


def _save(folder: Path, name: str, figure: Any) -> Path:
    # No date and fixed ids: the same figures give the same file.
    mpl.rcParams["svg.hashsalt"] = name
    file = folder / f"{name}.svg"
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
    return file
