"""regret: how far the plans are from the best that anybody finds, in processor time, over random workloads.

Writes regret.json and regret.md. Runs in a process whose Polars has one thread, as tasks have.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from jobs.calibration.fit import work
from optimizer.estimate import loads
from optimizer.search.coefficients import COEFFICIENTS
from tests.bench.measurement import describe_machine
from tests.bench.regret.measure import ALONE, CORES, MESSAGES, Measured, best, measure, of
from tests.bench.regret.workload import Drawn

SEED = 4_000
"""The first seed: nothing was looked at with it or those behind it."""
WORKLOADS = 20
_SHARED_MEMORY = Path("/dev/shm")


def run(folder: Path, scale: float, repeat: int, command: str, seed: int = SEED) -> None:
    """Measure in a process of its own.

    Args:
        folder: for the results.
        scale: of the number of workloads.
        repeat: runs of each plan, at least three.
        command: what the person typed, for the report.
        seed: of the first workload.
    """
    told = ["--out", str(folder), "--repeat", str(max(3, repeat)), "--command", command]
    count = max(1, round(WORKLOADS * scale))
    subprocess.run(
        [sys.executable, "-m", "tests.bench.regret", "--seed", str(seed), "--count", str(count), *told],
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        check=True,
    )


def measure_all(folder: Path, seed: int, count: int, repeat: int, command: str) -> None:
    """Measure `count` workloads, telling of each, and write the report."""
    rows = []
    base = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
    for number in range(seed, seed + count):
        with tempfile.TemporaryDirectory(prefix="millrace-regret-", dir=base) as scratch:
            rows.append(_row(*measure(number, repeat, Path(scratch))))
        sys.stderr.write(f"regret: seed {number}: {json.dumps(rows[-1]['figures'])}\n")
    document = {
        "benchmark": "regret",
        "command": command,
        "machine": describe_machine(),
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "workloads": rows,
    }
    (folder / "regret.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "regret.md").write_text(_section(document, rows, repeat))


def _row(drawn: Drawn, found: Sequence[Measured]) -> dict[str, Any]:
    measured = {id(one): median(one.cores) for one in found}
    least = measured[id(best(found))]
    default, messages, alone = (measured[id(of(found, name))] for name in (CORES, MESSAGES, ALONE))
    estimated = [_estimated(one, drawn) for one in found]
    taken = [measured[id(one)] for one in found]
    sent = [one.plan.messages.probe for one in found]
    stored = [one.plan.messages.total for one in found]
    return {
        "seed": drawn.seed,
        "workload": drawn.describe(),
        "plans": [
            {"found_by": one.names, "cores": one.cores, "estimated": guess}
            for one, guess in zip(found, estimated, strict=True)
        ],
        "figures": {
            "regret": round(default / least, 3),
            "regret_messages": round(messages / least, 3),
            "over_alone": round(alone / default, 3),
            "rank_cores": _rank_correlation(estimated, taken),
            "rank_sent": _rank_correlation(sent, taken),
            "rank_messages": _rank_correlation(stored, taken),
            "q_error": round(max(max(e / t, t / e) for e, t in zip(estimated, taken, strict=True)), 3),
        },
    }


def _estimated(one: Measured, drawn: Drawn) -> float:
    """Cores that the plan is expected to take, from what was declared alone."""
    return work(loads(one.plan.graph, one.plan.statistics), drawn.batch_s, COEFFICIENTS)


def _rank_correlation(some: Sequence[float], others: Sequence[float]) -> float | None:
    """Spearman's; None for fewer than three plans."""
    if len(some) < 3:
        return None
    ranks = [np.argsort(np.argsort(values)) for values in (some, others)]
    return round(float(np.corrcoef(*ranks)[0, 1]), 3)


def _section(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], repeat: int) -> str:
    names = {
        "regret": "by cores",
        "regret_messages": "by messages",
        "over_alone": "nothing shared over joint",
        "rank_cores": "rank correlation, cores",
        "rank_sent": "tuples sent",
        "rank_messages": "messages",
        "q_error": "q-error of cores, worst plan",
    }
    header = ["seed", "workload", *names.values(), "best"]
    table = [header, ["---", "---", *("---:" for _ in names), "---"]]
    for row in rows:
        figures = [row["figures"][name] for name in names]
        taken = min(row["plans"], key=lambda plan: median(plan["cores"]))
        shown = ["–" if figure is None else f"{figure:.2f}" for figure in figures]
        table.append([str(row["seed"]), row["workload"], *shown, taken["found_by"][0]])
    columns = {name: [r["figures"][name] for r in rows if r["figures"][name] is not None] for name in names}
    for label, of_all in (("median", np.median), ("worst", None)):
        cells = []
        for name, values in columns.items():
            worst = min if name.startswith(("rank", "over")) else max
            cells.append(f"{(of_all or worst)(values):.2f}" if values else "–")
        table.append([f"**{label}**", "", *cells, ""])
    plans = [p["estimated"] / median(p["cores"]) for row in rows for p in row["plans"]]
    close = sum(max(q, 1 / q) <= 1.5 for q in plans) / len(plans)
    machine = ", ".join(f"{key} {value}" for key, value in document["machine"].items())
    return "\n".join(
        [
            "## regret\n",
            "Processor time of a plan over that of the best plan that any method or weight finds on the same "
            f"workload: random rates, widths, windows, filters, overlaps, skew and batches. In process, one "
            f"thread, without Spark's part; {repeat} runs of each plan in turns, medians; all plans' results "
            "are equal. Of half of the filters' shares nothing is declared.\n",
            *("| " + " | ".join(row) + " |" for row in table),
            "",
            f"Estimated cores lie within 1.5 of the measured ones for {100 * close:.0f} % of {len(plans)} "
            "plans, with the shipped coefficients.\n",
            f"`{document['command']}`, {document['taken_at']}. {machine}.\n",
        ]
    )
