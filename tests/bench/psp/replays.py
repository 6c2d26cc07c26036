"""Replays of the PSP benchmark, and what each of their batches took and left behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from optimizer.physical.graph import PhysicalGraph
from tests.bench.joins.replays import batches, replay
from tests.bench.psp.workload import START_US


@dataclass(frozen=True, slots=True)
class Moment:
    """One batch."""

    event_s: float
    """Event time that its newest tuple has, seconds since the streams began."""
    slowest_ms: float
    """Time of the slowest task, added up over ingestion and the levels: what the batch waits for where every
    task has a core of its own."""
    held: int
    """Tuples stored behind it, copies counted."""
    fullest: float
    """What the fullest tasks of the stores hold, over an even share."""


@dataclass(frozen=True, slots=True)
class Replayed:
    results: int
    moments: tuple[Moment, ...]
    batch_ms: float
    """Median time from one commit to the next, of all tasks on this machine's cores; second half."""

    @property
    def steady(self) -> tuple[Moment, ...]:
        """The second half: windows are full, and where the rate doubles it has."""
        return self.moments[len(self.moments) // 2 :]

    @property
    def figures(self) -> dict[str, float]:
        return {
            "results": float(self.results),
            "slowest_task_ms": median(moment.slowest_ms for moment in self.steady),
            "batch_ms": self.batch_ms,
            "held_tuples": float(max(moment.held for moment in self.steady)),
            "fullest_task": max(moment.fullest for moment in self.steady),
        }


def replay_plan(
    folder: Path, plan: Path, out: Path, batch_rows: int, epoch_batches: int, options: Sequence[str] = ()
) -> Replayed:
    """Replays FOLDER/workload over FOLDER/data under a plan.

    Args:
        folder: as `workload.write` writes it.
        plan: a physical graph, as JSON.
        out: need not exist.
        batch_rows: of both streams together.
        epoch_batches: after how many batches boundaries are looked at again.
        options: more of them.
    """
    given = ("--plan", str(plan), "--epoch-batches", str(epoch_batches), *options)
    found = replay(folder / "workload", folder / "data", out, batch_rows, given)
    commits = [batch.committed_s for batch in batches(out)]
    lasted = [1e3 * (end - begin) for begin, end in pairwise(commits)]
    moments = tuple(_moments(out / "checkpoint", PhysicalGraph.from_json(plan.read_bytes(), str(plan))))
    return Replayed(int(found["results"]), moments, median(lasted[len(lasted) // 2 :]))


def _moments(checkpoint: Path, graph: PhysicalGraph) -> list[Moment]:
    copies = {store.id: store.copies for store in graph.stores}
    tasks = max(store.tasks for store in graph.stores)
    found = []
    for line in map(json.loads, (checkpoint / "batches.jsonl").read_text().splitlines()):
        figures, counts = line["figures"], line["figures"]["counts"]
        held = sum(tuples * copies[store] for store, tuples in counts["held"].items())
        found.append(
            Moment(
                event_s=(counts["newest_us"] - START_US) / 1e6,
                slowest_ms=1e3 * sum(figures["level_seconds"]),
                held=held,
                fullest=sum(counts["fullest_held"].values()) * tasks / held,
            )
        )
    return found
