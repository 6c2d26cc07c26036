"""matrix: Squall's experiments: a skewed join key, and cardinalities that fluctuate (docs/design/matrix.md).

Writes matrix.json, matrix.md and three plots: matrix-skew.svg, matrix-fluctuation.svg and matrix-uneven.svg.
Loads and tuples moved do not depend on the machine; tuples per second do.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.matrix.data import (
    FLUCTUATING_BATCHES,
    TASKS,
    UNEVEN_TASKS,
    orders_and_lines,
    skewed,
    suppliers_and_lines,
    top_share,
    write_evenly,
    write_fluctuating,
    write_workload,
)
from tests.bench.matrix.plots import draw_fluctuation, draw_skew, draw_uneven
from tests.bench.matrix.replays import Replayed, replay
from tests.bench.measurement import describe_machine

SKEWS = (0.0, 0.25, 0.5, 0.75, 1.0)
FACTORS = (2, 4, 6, 8)
UNEVEN_FACTOR = 4
SCALE_FACTOR = 0.2
"""TPC-H's, at scale 1: 2,000 suppliers, 300,000 orders, 1.2 million lines."""
EQUAL, BAND = "o_key = l_key", "l_key BETWEEN o_key - 1 AND o_key + 1"
WAYS = {"hash": ("--grids", "off"), "matrix": ("--grids", "cost"), "by cost": ("--grids", "cost")}


class WrongAnswer(AssertionError):
    """Two layouts disagree: their figures mean nothing."""


def run(folder: Path, scratch: Path, scale: float, command: str) -> None:
    """Replays both experiments and writes what happened.

    Args:
        folder: for the results.
        scratch: an empty folder for data, state and answers.
        scale: of the tables.
        command: what the person typed, for the report.
    Raises:
        WrongAnswer: when layouts have different numbers of results.
    """
    skew = _skew(scratch / "skew", scale)
    fluctuation, uneven = _fluctuation(scratch / "fluctuation", scale)
    plots = (
        draw_skew(folder, skew),
        draw_fluctuation(folder, {k: run.moments for k, run in fluctuation.items()}),
        draw_uneven(folder, uneven.moments, UNEVEN_FACTOR),
    )
    machine = describe_machine()
    taken_at = datetime.now(UTC).isoformat(timespec="seconds")
    document = {
        "benchmark": "matrix",
        "scale": scale,
        "command": command,
        "skew": {way: {str(z): _skew_figures(r) for z, r in runs.items()} for way, runs in skew.items()},
        "fluctuation": {str(k): _fluctuation_figures(r) for k, r in fluctuation.items()},
        "uneven": {"tasks": UNEVEN_TASKS, "k": UNEVEN_FACTOR, **_fluctuation_figures(uneven)},
        "machine": machine,
        "taken_at": taken_at,
    }
    (folder / "matrix.json").write_text(json.dumps(document, indent=1) + "\n")
    told = ", ".join(f"{key} {value}" for key, value in machine.items())
    parts = [_text(skew, fluctuation, uneven, plots), f"`{command}`, {taken_at}. {told}.\n"]
    (folder / "matrix.md").write_text("\n".join(parts))


def _skew(scratch: Path, scale: float) -> dict[str, dict[float, Replayed]]:
    sides = suppliers_and_lines(scratch, SCALE_FACTOR * scale)
    runs: dict[str, dict[float, Replayed]] = {way: {} for way in WAYS}
    for z in SKEWS:
        made = skewed(sides, z)
        place = scratch / f"z{z:g}"
        write_evenly(made, place / "data")
        shares = (top_share(made.one["o_key"]), top_share(made.lineitem["l_key"]))
        for way, options in WAYS.items():
            known = {"hash": None, "matrix": (1.0, 1.0), "by cost": shares}[way]
            folder = place / way.replace(" ", "-")
            write_workload(made, EQUAL, folder / "workload", known)
            (folder / "data").symlink_to(place / "data")
            rows = (made.one.height + made.lineitem.height) // 8
            words = ("--batch-rows", str(rows), *options)
            runs[way][z] = replay(folder, folder / "out", TASKS, words)
            sys.stderr.write(f"matrix: z = {z:g}, {way}: fullest task {runs[way][z].fullest_task:.2f}\n")
        _check([runs[way][z] for way in WAYS])
    return runs


def _fluctuation(scratch: Path, scale: float) -> tuple[dict[int, Replayed], Replayed]:
    """By k with a power of two for the number of tasks, and one run with another number."""
    sides = orders_and_lines(scratch, SCALE_FACTOR * scale)
    runs, totals = {}, {}
    for k in FACTORS:
        place = scratch / f"k{k}"
        totals[k] = write_fluctuating(sides, k, place / "data")
        write_workload(sides, BAND, place / "workload")
        runs[k] = _adaptive(place, TASKS, totals[k])
        # Same results without grids; what that costs is not asked, so in few batches.
        few = ("--batch-rows", str(-(-totals[k] // 4)), "--grids", "off")
        _check([runs[k], replay(place, place / "fixed", TASKS, few)])
        sys.stderr.write(f"matrix: k = {k}: load at most {runs[k].worst:.3f} of the best\n")
    place = scratch / "uneven"
    write_workload(sides, BAND, place / "workload", tasks=UNEVEN_TASKS)
    (place / "data").symlink_to(scratch / f"k{UNEVEN_FACTOR}" / "data")
    uneven = _adaptive(place, UNEVEN_TASKS, totals[UNEVEN_FACTOR])
    _check([runs[UNEVEN_FACTOR], uneven])
    sys.stderr.write(f"matrix: {UNEVEN_TASKS} tasks: load at most {uneven.worst:.3f} of the best\n")
    return runs, uneven


def _adaptive(place: Path, tasks: int, total: int) -> Replayed:
    words = ("--batch-rows", str(-(-total // FLUCTUATING_BATCHES)), "--epoch-batches", "1", "--adaptive")
    return replay(place, place / "adaptive", tasks, words)


def _check(runs: list[Replayed]) -> None:
    results = [run.metrics["results"] for run in runs]
    if any(found != results[0] for found in results):
        raise WrongAnswer(str(results))


def _skew_figures(run: Replayed) -> dict[str, object]:
    return {
        "tuples_per_second": run.metrics["tuples_per_second"],
        "fullest_task": run.fullest_task,
        "stores": run.labels,
        "results": run.metrics["results"],
    }


def _fluctuation_figures(run: Replayed) -> dict[str, object]:
    return {
        "worst_load_ratio": run.worst,
        "load_ratio": [moment.load_ratio for moment in run.moments],
        "cardinality_ratio": [moment.ratio for moment in run.moments],
        "moved_per_tuple": [moment.moved_per_tuple for moment in run.moments],
        "changes": run.changes,
        "results": run.metrics["results"],
    }


def _text(
    skew: Mapping[str, Mapping[float, Replayed]],
    fluctuation: Mapping[int, Replayed],
    uneven: Replayed,
    plots: tuple[str, str, str],
) -> str:
    rows = [
        [f"{z:g}"]
        + [f"{skew[way][z].metrics['tuples_per_second']:,.0f}" for way in WAYS]
        + [f"{skew[way][z].fullest_task:.2f}" for way in WAYS]
        + [skew["by cost"][z].labels]
        for z in SKEWS
    ]
    moving = [[str(TASKS), str(k), *_told(run)] for k, run in fluctuation.items()]
    moving.append([str(UNEVEN_TASKS), str(UNEVEN_FACTOR), *_told(uneven)])
    return "\n".join(
        [
            "## matrix\n",
            f"TPC-H's tables without windows, stores of {TASKS} tasks, keeping a tuple free "
            "of cost. First suppliers and lines by the supplier, whom lines have under Zipf's law: hashed, "
            "laid out as a join matrix whatever the skew is, and as the optimizer chooses by the top "
            "key's share. "
            "The fullest task is told in shares of an even distribution of all tuples without copies. Tuples "
            "per second depend on the machine and on what else it does, the fullest task does not.\n",
            "| z | hash, tuples/s | matrix | by cost | hash, fullest | matrix | by cost | stores chosen |",
            "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
            *("| " + " | ".join(row) + " |" for row in rows),
            "",
            f"![Throughput and fullest task over z](benchmarks/{plots[0]})\n",
            "Then a band join of orders and lines while the ratio of the cardinalities goes to and fro "
            "between k and 1/k, with `--adaptive`. The load is what the fullest task holds at the end of a "
            "batch, the best one what it would hold in the best shape for the same tuples; the worst is that "
            "of all batches, the first one included. Moved is what tasks copied to each other because shapes "
            "changed, per tuple that came.\n",
            "| tasks | k | worst load / best load | batches with another shape | moved per tuple |",
            "| ---: | ---: | ---: | ---: | ---: |",
            *("| " + " | ".join(row) + " |" for row in moving),
            "",
            f"![Ratio of cardinalities, of loads, and tuples moved](benchmarks/{plots[1]})\n",
            f"{UNEVEN_TASKS} tasks, a number that is no power of two, are one grid or several, "
            f"whichever sends and keeps less ({uneven.labels} at the end). Their load "
            "is compared with the best shape of all tasks, fractions of columns and rows included, and "
            "promised to stay below 3.75 times that.\n",
            f"![Ratio of loads with {UNEVEN_TASKS} tasks](benchmarks/{plots[2]})\n",
        ]
    )


def _told(run: Replayed) -> list[str]:
    return [
        f"{run.worst:.3f}",
        str(run.changes),
        f"{run.moments[-1].moved_per_tuple:.2f}",
    ]
