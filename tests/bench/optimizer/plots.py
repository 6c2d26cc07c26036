"""Figures 7.8a to 7.8f of the dissertation from this benchmark's measurements, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "millrace"

from matplotlib import pyplot as plt  # noqa: E402  (the backend has to be chosen first)

from tests.bench.optimizer.measure import Scaling, Solved, middle  # noqa: E402


def _by_asked(points: Sequence[Scaling], relations: int) -> dict[int, list[Scaling]]:
    found: dict[int, list[Scaling]] = {}
    for point in points:
        if point.relations == relations:
            found.setdefault(point.asked, []).append(point)
    return dict(sorted(found.items()))


def draw(folder: Path, points: Sequence[Scaling], solved: Sequence[Solved]) -> list[str]:
    """Write the six figures; returns their file names."""
    names = []
    for letter, sizes, relations in (("a", False, 10), ("b", True, 10), ("c", False, 100), ("d", True, 100)):
        groups = _by_asked(points, relations)
        lines = {
            "flow program, columns": [middle([p.columns for p in g]) for g in groups.values()],
            "literal program, columns": [middle([p.literal_columns for p in g]) for g in groups.values()],
            "probe orders": [middle([p.orders for p in g]) for g in groups.values()],
        }
        if not sizes:
            lines = {
                "individual": [middle([p.individual for p in g]) for g in groups.values()],
                "joint": [middle([p.joint for p in g]) for g in groups.values()],
            }
        label = "count" if sizes else "probe cost, tuples/s"
        names.append(_plot(folder, letter, list(groups), lines, label, f"three-way, {relations} relations"))
    groups = _by_asked(points, 100)
    seconds = {"joint": [middle([p.wall_s for p in g]) * 1000 for g in groups.values()]}
    names.append(_plot(folder, "e", list(groups), seconds, "milliseconds", "three-way, 100 relations"))
    sized: dict[str, dict[int, list[float]]] = {}
    for run in solved:
        count, size = run.row.split(",")[0].split(" x ")
        if run.row.endswith(", 100") and run.copies == "free" and count in {"10", "30", "100"}:
            sized.setdefault(f"{count} queries", {}).setdefault(int(size), []).append(run.wall_s)
    names.append(_plot_sizes(folder, sized))
    return names


def _plot(
    folder: Path, letter: str, x: list[int], lines: dict[str, list[float]], label: str, title: str
) -> str:
    figure, axes = plt.subplots(figsize=(4.6, 3.0))
    for marker, (name, values) in zip("osd", lines.items(), strict=False):
        axes.plot(x, values, marker=marker, label=name)
    return _finish(folder, letter, figure, axes, ("queries asked for", label, title))


def _plot_sizes(folder: Path, sized: dict[str, dict[int, list[float]]]) -> str:
    figure, axes = plt.subplots(figsize=(4.6, 3.0))
    for marker, (name, by_size) in zip("osd", sorted(sized.items()), strict=False):
        sizes = sorted(by_size)
        axes.plot(sizes, [middle(by_size[s]) for s in sizes], marker=marker, label=name)
    axes.set_yscale("log")
    return _finish(
        folder, "f", figure, axes, ("relations per query", "seconds", "100 relations, free copies")
    )


def _finish(
    folder: Path, letter: str, figure: plt.Figure, axes: plt.Axes, labels: tuple[str, str, str]
) -> str:
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(f"Figure 7.8{letter}: {labels[2]}", fontsize=9)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    name = f"optimizer-7.8{letter}.svg"
    figure.savefig(folder / name, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return name
