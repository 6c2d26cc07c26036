"""docs/lab/benchmarks.md from the JSON files of all benchmarks that were run."""

from __future__ import annotations

import json
from pathlib import Path

_COLUMNS = {
    "steady_tuples_per_second": "steady tuples/s",
    "tuples_per_second": "tuples/s",
    "seconds": "seconds",
    "batches": "batches",
    "results": "results",
    "peak_state_bytes": "peak state, MB",
    "peak_pss_bytes": "all processes, MB",
    "peak_resident_state_bytes": "of it in memory, MB",
    "group_peak_bytes": "processes, MB",
    "completed": "completed",
    "killed_processes": "killed",
    "us_per_tuple": "µs per tuple",
    "ms_per_event_s": "ms per s of event time",
    "probe_steps": "probe steps",
    "estimated_sent": "sent, estimated, tuples/s",
    "measured_sent": "measured, tuples/s",
    "estimated_stored": "stored, estimated, tuples",
    "measured_stored": "measured, tuples",
    "expected_share": "slowest task, expected, % of one",
    "slowest_task_ms": "slowest task, ms",
    "batch_ms": "ms per batch",
    "held_tuples": "tuples held",
    "fullest_task": "fullest task",
    "deployed_s_p50": "deployed p50, s",
    "deployed_s_p95": "deployed p95, s",
    "switches": "switches",
    "planning_s": "planning, s",
    "changing_tuples_per_second": "meanwhile, tuples/s",
    "busy": "busy, %",
    "latency_ms_p50": "p50, ms",
    "latency_ms_p99": "p99, ms",
    "idle_cores": "idle, % of a core",
    "pss_bytes": "memory, MB",
    "state_bytes": "state, MB",
    "driver_python_cpu_s": "CPU s per batch: driver",
    "driver_java_cpu_s": "its Java",
    "planner_cpu_s": "planner",
    "standalone_cpu_s": "master, workers",
    "executors_java_cpu_s": "executors",
    "executors_python_cpu_s": "their Python",
}


def write(folder: Path, page: Path) -> None:
    """Writes the page anew from FOLDER/*.json and, for what they wrote themselves, FOLDER/*.md."""
    parts = [
        "# Benchmarks\n",
        "Written by `make bench`; each figure is the median of its runs, all of which are in "
        f"`{folder.name}/`. Figures of different machines or loads cannot be compared.\n",
    ]
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text())
        if "medians" in document:
            parts.append(_section(document))
    parts.extend(file.read_text() for file in sorted(folder.glob("*.md")))
    page.write_text("\n".join(parts))


def failed(folder: Path, benchmark: str) -> tuple[str, ...]:
    """The subjects of a benchmark that failed when it was last written."""
    file = folder / f"{benchmark}.json"
    document = json.loads(file.read_text()) if file.exists() else {}
    return tuple(m["subject"] for m in document.get("measured", ()) if m.get("failure"))


def _section(document: dict) -> str:
    names = [n for n in _COLUMNS if any(n in figures for figures in document["medians"].values())]
    rows = [
        [subject, *(_number(name, figures.get(name)) for name in names)]
        for subject, figures in document["medians"].items()
    ]
    header = ["", *(_COLUMNS[name] for name in names)]
    table = [header, ["---", *("---:" for _ in names)], *rows]
    machine = ", ".join(f"{key} {value}" for key, value in document["machine"].items())
    runs = max(len(m["runs"]) for m in document["measured"])
    lines = [
        f"## {document['benchmark']}\n",
        *(f"{note}\n" for note in document["notes"]),
        *("| " + " | ".join(row) + " |" for row in table),
        "",
        *(f"![{plot}](benchmarks/{plot})\n" for plot in document.get("plots", ())),
        *(
            f"{m['subject']} failed after {len(m['runs'])} run(s): `{_last_line(m['failure'])}`\n"
            for m in document["measured"]
            if m.get("failure")
        ),
        f"`{document['command']}`, {runs} run(s) of each, {document['taken_at']}. {machine}.\n",
        "One run again:\n",
        *(f"- {m['subject']}: `{m['command']}`" for m in document["measured"]),
        "",
    ]
    return "\n".join(lines)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1].replace("`", "'")


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name.endswith("_bytes"):
        return f"{value / 1e6:,.0f}"
    if name in ("idle_cores", "busy", "expected_share"):
        return f"{100 * value:.1f}"
    return (
        f"{value:,.2f}"
        if name
        in ("seconds", "us_per_tuple", "deployed_s_p50", "deployed_s_p95", "planning_s", "fullest_task")
        or name.endswith("_cpu_s")
        else f"{value:,.0f}"
    )
