"""trees: join trees of the dissertation's chapter 5, planned and replayed.

Figure 5.10 is planned: how much is sent by trees of each shape, over the capacity of a task. Figure 5.12 is
measured: a flat and a left-deep plan replayed at several degrees of parallelism, estimates beside counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from optimizer.workload import Workload
from tests.bench.ajoin.workload import count_results
from tests.bench.joins.replays import command, replay
from tests.bench.measurement import Report
from tests.bench.subjects import Subject, measure_in_turns
from tests.bench.trees.chains import Chain
from tests.bench.trees.costs import SHAPES, Costs, costs_of, plan_shape
from tests.bench.trees.plots import draw_capacity, draw_estimates

SELECTIVITIES = {"low": 1e-8, "medium": 1e-6, "high": 1e-5}
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Of a relation that one task holds."""
TABLED_SHARE = 0.2
REPLAYED = ("flat", "left-deep")
TASKS = (1, 2, 4)
RATE = 500
WINDOW_S = 20
SECONDS = 80
"""Of event time; counted is what is behind the first window, when stores are full."""
BATCHES = 80
EPOCH_BATCHES = 2


def run(folder: Path, scratch: Path, scale: float, command_line: str) -> Report:
    """Both figures. Everything is planned and replayed once: what is counted is the same in all runs.

    Args:
        folder: for the plots.
        scratch: an empty folder for data, state and results.
        scale: of the rate of the streams that are replayed.
        command_line: what the person typed, for the report.
    """
    planned: dict[str, dict[str, list[Costs]]] = {}
    for name, selectivity in SELECTIVITIES.items():
        chain = Chain(4 * name[0].upper(), 10_000, 100, selectivity)
        known = chain.write_workload(scratch / name)
        planned[f"{name}: {selectivity:g}"] = {
            shape: [
                costs_of(plan_shape(chain, known, shape, share * chain.size), chain.window_s)
                for share in SHARES
            ]
            for shape in SHAPES
        }
    sent = {
        title: {shape: [costs.history for costs in line] for shape, line in lines.items()}
        for title, lines in planned.items()
    }
    rate = max(1, round(RATE * scale))
    chain = Chain("MMM", rate, WINDOW_S, 1 / (rate * WINDOW_S))
    known = chain.write_workload(scratch / "workload")
    chain.write_data(scratch / "data", SECONDS)
    expected = count_results(scratch / "data", chain.streams, known)
    subjects = [
        _subject(scratch, known, chain, shape, tasks, expected) for shape in REPLAYED for tasks in TASKS
    ]
    measured = measure_in_turns("trees", subjects, scratch, 1)
    plots = [draw_capacity(folder, SHARES, sent)]
    if any(m.runs for m in measured):
        plots.append(draw_estimates(folder, [m for m in measured if m.runs]))
    return Report("trees", scale, command_line, measured, _notes(planned, chain), plots=tuple(plots))


def _subject(scratch: Path, known: Workload, chain: Chain, shape: str, tasks: int, expected: int) -> Subject:
    """A replay of a shape with so many tasks per store."""
    made = plan_shape(chain, known, shape, None, tasks)
    planned = costs_of(made, chain.window_s)
    path = scratch / f"{shape}-{tasks}.json"
    path.write_text(made.graph.to_json())
    batch = -(-chain.rate * SECONDS * len(chain.streams) // BATCHES)
    options = ["--plan", str(path), "--parallelism", str(tasks), "--epoch-batches", str(EPOCH_BATCHES)]

    def measure(out: Path) -> Mapping[str, float]:
        figures = replay(scratch / "workload", scratch / "data", out, batch, options)
        metrics = json.loads((out / "metrics.json").read_text())
        return {
            "estimated_sent": planned.sent,
            "measured_sent": _sent_per_second(metrics["epochs"], chain.window_s),
            "estimated_stored": planned.stored,
            "measured_stored": float(sum(store["tuples"] for store in metrics["stores"].values())),
            "results": figures["results"],
        }

    words = [word if word != str(path) else "PLAN" for word in options]
    return Subject(f"{shape}, N = {tasks}", command(batch, words), measure, expected)


def _sent_per_second(epochs: Sequence[Mapping[str, float]], window_s: int) -> float:
    """Tuples sent in order to probe per second of event time, over the epochs behind the first window."""
    passed, seconds, sent = 0.0, 0.0, 0.0
    for epoch in epochs:
        if passed >= window_s:
            seconds += epoch["event_seconds"]
            sent += epoch["sent"]
        passed += epoch["event_seconds"]
    return sent / seconds


def _notes(planned: Mapping[str, Mapping[str, Sequence[Costs]]], chain: Chain) -> tuple[str, ...]:
    head = (
        "selectivity",
        "tree",
        "sent, tuples/s",
        "stored, tuples",
        "expected hops",
        "materialized",
        "tasks",
    )
    rows = [head, ("---", "---", *["---:"] * 5)]
    place = SHARES.index(TABLED_SHARE)
    for title, lines in planned.items():
        for shape, line in lines.items():
            costs = line[place]
            rows.append(
                (
                    title,
                    shape,
                    f"{costs.sent:,.0f}",
                    f"{costs.stored:,.0f}",
                    f"{costs.hops:.2f}",
                    str(costs.results),
                    f"{costs.tasks:,}",
                )
            )
    return (
        "Chains of theta joins, which no partitioning routes: dissertation sections 5.5.3 and 5.5.7.",
        "*Figure 5.10*, as planned: five-way, 1,000,000 tuples of each stream in the end. A store has as "
        "many tasks as its tuples need then, and *sent* is all that is sent in order to probe until then. "
        "*left-deep, budget* may store half as much again as the inputs; *cheapest* is what "
        "`--method tree` chooses for full windows: over a history the steps that join many streams count for "
        "less, so that another shape may send less until then.",
        "The same trees with windows that hold so many tuples all the time, and a task capacity of "
        f"{TABLED_SHARE:g} of a relation. No store grows any more, so none has tasks in advance:",
        "\n".join("| " + " | ".join(row) + " |" for row in rows),
        f"*Figure 5.12*, replayed: four-way, {chain.size:,} tuples of each stream within the window, one "
        "partner per tuple and join; N tasks per store. *Sent* is counted behind the first window; *stored* "
        "at the end, with what has expired and still lies in runs: the watermark is a batch behind, inputs "
        "leave run by run, and runs of results are written anew once a quarter of them has expired.",
    )
