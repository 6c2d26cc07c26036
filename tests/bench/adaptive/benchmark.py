"""adaptive: a replay that plans again against one that does not, when the data changes midway.

Writes adaptive.json, adaptive-NAME.svg and adaptive.md. The figures that count are tuples sent: they
do not depend on the machine or its load.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from tests.bench.adaptive.plots import draw
from tests.bench.adaptive.replays import Replayed, options, replay
from tests.bench.adaptive.scenarios import EPOCH_BATCHES, Name, Scenario, scenario
from tests.bench.measurement import describe_machine

NAMES: tuple[Name, ...] = ("jump", "skew")


class WrongAnswer(AssertionError):
    """The two replays disagree: their figures mean nothing."""


def run(folder: Path, scratch: Path, scale: float, command: str) -> None:
    """Replays both experiments twice and writes what happened.

    Args:
        folder: for the results.
        scratch: an empty folder for data, state and answers.
        scale: below 1 short windows and few tuples, as in the tests.
        command: what the person typed, for the report.
    Raises:
        WrongAnswer: when static and adaptive replay have different numbers of results.
    """
    parts = [_HEAD]
    document: dict[str, object] = {"benchmark": "adaptive", "scale": scale, "command": command}
    for name in NAMES:
        made = scenario(name, scale)
        made.write(scratch / name)
        runs = {}
        for label, adaptive in (("static", False), ("adaptive", True)):
            runs[label] = replay(made, scratch / name, scratch / name / label, adaptive)
            sys.stderr.write(f"adaptive: {name}, {label}: {sum(runs[label].sent):,} tuples sent\n")
        if runs["static"].metrics["results"] != runs["adaptive"].metrics["results"]:
            raise WrongAnswer(f"{name}: {[run.metrics['results'] for run in runs.values()]}")
        plot = draw(folder, made, runs["adaptive"], runs["static"])
        document[name] = {label: _figures(made, run) for label, run in runs.items()}
        parts.append(_section(made, runs, plot))
    document |= {"machine": describe_machine(), "taken_at": datetime.now(UTC).isoformat(timespec="seconds")}
    (folder / "adaptive.json").write_text(json.dumps(document, indent=1) + "\n")
    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items())
    parts.append(f"`{command}`, {document['taken_at']}. {machine}.\n")
    (folder / "adaptive.md").write_text("\n".join(parts))


_HEAD = """## adaptive

The two experiments of dissertation section 7.3.2 at the scale of one small machine: a four-way linear
join whose data changes once; epochs of one second of event time, two batches each. *Sent* counts
the tuples that were sent in order to probe, copies included: what a plan is chosen to keep small,
and independent of the machine. *Before* is the last epoch before the data changes, *after* the median
of the epochs from two epochs and one window behind the change.
"""


def _phases(made: Scenario, values: list[float]) -> tuple[float, float, float]:
    """Per epoch: before the change, the worst, and once recovered."""
    after = values[made.recovered_epoch :]
    return values[made.jump_epoch - 1], max(values[made.jump_epoch :]), median(after)


def _figures(made: Scenario, run: Replayed) -> dict[str, object]:
    sent = _phases(made, [float(run.sent_in(e)) for e in range(len(run.metrics["epochs"]))])
    return {
        "sent_before": sent[0],
        "sent_worst": sent[1],
        "sent_after": sent[2],
        "switched_epochs": run.switched_epochs,
        "jump_epoch": made.jump_epoch,
        "results": run.metrics["results"],
        "sent_per_batch": run.sent,
        "seconds_per_batch": run.batch_seconds,
        "switches": [s for epoch in run.metrics["epochs"] for s in epoch["switches"]],
        "q_error": [epoch["q_error"] for epoch in run.metrics["epochs"]],
    }


def _saved(switch: dict) -> str:
    """A saving is measured once the stores hold a whole window of the changed data."""
    if switch["actual_saving"] is None:
        return "not yet known"
    return f"{switch['actual_saving']:,.0f} in epoch {switch['actual_saving_epoch']}"


def _section(made: Scenario, runs: dict[str, Replayed], plot: str) -> str:
    rows = []
    for label, run in runs.items():
        sent = _phases(made, [float(run.sent_in(e)) for e in range(len(run.metrics["epochs"]))])
        batches = [
            run.batch_seconds[e * EPOCH_BATCHES : (e + 1) * EPOCH_BATCHES]
            for e in range(len(run.metrics["epochs"]))
        ]
        seconds = _phases(made, [median(batch) for batch in batches])
        cells = [f"{value:,.0f}" for value in sent] + [f"{value:.2f}" for value in seconds]
        rows.append("| " + " | ".join([label, *cells]) + " |")
    rates = ", ".join(f"{name.upper()} {rate}" for name, rate in made.rates.items())
    adaptive = runs["adaptive"]
    switches = [
        f"- epoch {epoch['epoch']}: {switch['cause']['text']}; predicted to save "
        f"{switch['predicted_saving']:,.0f} tuples/s, saved {_saved(switch)}. Stores: "
        f"{', '.join(adaptive.labels[switch['plan']])}."
        for epoch in adaptive.metrics["epochs"]
        for switch in epoch["switches"]
    ]
    return "\n".join(
        [
            f"### {made.name}\n",
            f"{rates} tuples/s, windows of {made.window_s} s, change after {made.jump_s} s (epoch "
            f"{made.jump_epoch}), {sum(adaptive.metrics['results'].values()):,} results from both.\n",
            "| | sent before | worst | after | s per batch before | worst | after |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *rows,
            "",
            *switches,
            "",
            f"![Tuples sent and seconds per batch](benchmarks/{plot})\n",
            f"One run again: `python -m jobs replay WORKLOAD --data DATA --out OUT "
            f"{' '.join(options(made, adaptive=True))}`\n",
        ]
    )
