"""Replays of the matrix benchmark, and what their checkpoints say of each task's load."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optimizer.graph import PhysicalGraph
from optimizer.matrix import best_shape, input_load
from tests.bench.matrix.data import TASKS
from tests.bench.processes import run_to_end

_LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Moment:
    """What tasks held at the end of a batch; tuples."""

    one: int
    lineitem: int
    fullest: int
    """Of both streams, in the fullest task."""

    @property
    def ratio(self) -> float:
        """|one| / |lineitem|."""
        return self.one / max(1, self.lineitem)

    @property
    def load_ratio(self) -> float:
        """The fullest task's tuples over those that each task would hold in the best shape (ILF / ILF*)."""
        best = best_shape(TASKS, self.one, self.lineitem)
        return self.fullest / input_load(best, self.one, self.lineitem)


@dataclass(frozen=True, slots=True)
class Replayed:
    """One replay."""

    metrics: dict
    moments: tuple[Moment, ...]
    """One per batch."""
    graph: PhysicalGraph
    """The last plan."""

    @property
    def settled(self) -> tuple[Moment, ...]:
        """Moments at which no stream had grown by more than a third within two batches.

        That is how late a shape takes hold, and how much the policy allows for (`groups.EAGERNESS`). The
        first batches, which double everything, are not among them.
        """
        earlier = zip(self.moments, self.moments[2:], strict=False)
        return tuple(
            now
            for before, now in earlier
            if now.one <= 4 / 3 * before.one and now.lineitem <= 4 / 3 * before.lineitem
        )

    @property
    def fullest_task(self) -> float:
        """Tuples that the fullest task received, over an even share of all that came in."""
        received = sum(store["fullest_task"] for store in self.metrics["stores"].values())
        return received / (2 * self.metrics["tuples_in"] / TASKS)

    @property
    def labels(self) -> str:
        return ", ".join(store.label for store in self.graph.stores)


def replay(folder: Path, out: Path, options: Sequence[str]) -> Replayed:
    """Replay FOLDER/workload over FOLDER/data. Raises `RuntimeError` with what the process said."""
    where = [str(folder / "workload"), "--data", str(folder / "data"), "--out", str(out)]
    done = run_to_end([sys.executable, "-m", "jobs", "replay", *where, *options], _LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-3000:]}")
    return Replayed(
        json.loads((out / "metrics.json").read_text()),
        tuple(_moments(out / "checkpoint")),
        PhysicalGraph.from_json((out / "plan.json").read_bytes()),
    )


def _moments(checkpoint: Path) -> list[Moment]:
    streams = {}
    for path in (checkpoint / "plans").glob("*.json"):
        graph = PhysicalGraph.from_json(path.read_bytes())
        streams[path.stem] = {store.id: store.inputs[0].stream for store in graph.stores}
    found = []
    for line in map(json.loads, (checkpoint / "batches.jsonl").read_text().splitlines()):
        counts, names = line["figures"]["counts"], streams[line["plan"]]
        held = {names[store]: tuples for store, tuples in counts["held"].items()}
        found.append(Moment(held["one"], held["lineitem"], sum(counts["fullest_held"].values())))
    return found
