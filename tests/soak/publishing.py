"""A soak's figures for the documentation: plots, report, and docs/lab/soak.md."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.processes import ROOT

_FOLDER = ROOT / "docs" / "lab" / "soak"
_PAGE = ROOT / "docs" / "lab" / "soak.md"
_HEADING = """# Soak

What `python -m tests.soak --publish` found, and nothing else; how it judges is said
[here](../design/reliability.md#soak).
"""


def publish(folder: Path) -> None:
    """Copy a judged soak's report and plots to docs/lab/soak, and write docs/lab/soak.md from them."""
    _FOLDER.mkdir(exist_ok=True)
    for name in ("report.json", *json.loads((folder / "report.json").read_text())["plots"]):
        shutil.copyfile(folder / name, _FOLDER / name)
    _PAGE.write_text(page())


def page() -> str:
    """docs/lab/soak.md, as docs/lab/soak/report.json has it."""
    return _HEADING + _table(json.loads((_FOLDER / "report.json").read_text()))


def _table(report: Mapping[str, Any]) -> str:
    load, judgement = report["load"], report["judgement"]
    totals = {
        figure: sum(one[figure] for one in judgement["answers"])
        for figure in ("needed", "possible", "found", "missing", "doubled", "wrong")
    }
    most = load["most_tuples_per_second"]
    of_most = "" if most is None else f", half of {most:.0f} with which it just kept up"
    letters = ", ".join(f"{many} {reason}" for reason, many in judgement["dead_letters"].items())
    recovered = {
        kind: f"{many} ({_range(report['recovered_s'].get(kind, []))})"
        for kind, many in report["faults"].items()
    }
    p50, p99 = judgement["quiet_latency_ms"]
    worst = max((p99 for _, _, p99, _ in judgement["latency_ms"]), default=float("nan"))
    rows = {
        "load": f"{(load['ended'] - load['began']) / 60:.1f} minutes at {load['tuples_per_second']:.0f} "
        f"tuples per second{of_most}; {report['batches']} batches",
        "tuples sent, accepted": f"{judgement['sent']:,}, {judgement['accepted']:,}",
        "dead letters": letters,
        "queries, changes of what is deployed": f"{load['queries']}, {load['changes']}",
        "faults (s until caught up: median, longest)": ", ".join(f"{k} {v}" for k, v in recovered.items()),
        "results that had to be there, that could, found": f"{totals['needed']:,}, {totals['possible']:,}, "
        f"{totals['found']:,}",
        "**missing, doubled, wrong**": f"**{totals['missing']}, {totals['doubled']}, {totals['wrong']}**",
        "arrival to commit without faults": f"p50 {p50 / 1e3:.2f} s, p99 {p99 / 1e3:.2f} s; "
        f"worst minute's p99 {worst / 1e3:.2f} s",
        "arrival to commit, all": "p50 {:.2f} s, p99 {:.2f} s".format(
            *(ms / 1e3 for ms in judgement["all_latency_ms"])
        ),
    }
    for line in report["verdict"]:
        if line["what"].endswith(", MB"):
            rows[line["what"]] = f"{line['found']}, at most {line['bound']}"
    failed = [line["what"] for line in report["verdict"] if not line["holds"]]
    rows["does not hold"] = ", ".join(failed) or "nothing"
    machine = ", ".join(f"{key} {value}" for key, value in report["machine"].items())
    plots = "\n".join(f"![{Path(plot).stem}](soak/{plot})" for plot in report["plots"])
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return (
        f"\n| | |\n|---|---|\n{table}\n\n`{load['command']}`, {report['taken_at']}. {machine}.\n\n{plots}\n"
    )


def _range(seconds: list[float]) -> str:
    return f"{median(seconds):.1f}, {max(seconds):.1f}" if seconds else "never"
