"""Replays of the matrix benchmark, and what their checkpoints say of each task's load."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from optimizer.partitioning.matrix import best_shape, input_load
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.task_grid import decompose
from tests.bench.processes import run_to_end

_LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Moment:
    """What tasks held at the end of a batch; tuples."""

    tasks: int
    one: int
    lineitem: int
    fullest: int
    """Of both streams, in the fullest task; where stores are several grids, at most so many."""
    moved: int
    """Copied into other tasks so far, because shapes changed."""
    tuples_in: int
    """That came in so far."""

    @property
    def ratio(self) -> float:
        """|one| / |lineitem|."""
        return self.one / max(1, self.lineitem)

    @property
    def load_ratio(self) -> float:
        """The fullest task's tuples over those that each task would hold in the best shape (ILF / ILF*).

        Of a number of tasks that is no power of two, in a shape that may have fractions of columns and rows.
        """
        if len(decompose(self.tasks)) == 1:
            best = input_load(best_shape(self.tasks, self.one, self.lineitem), self.one, self.lineitem)
        else:
            columns = min(max(sqrt(self.tasks * self.one / max(1, self.lineitem)), 1.0), float(self.tasks))
            best = self.one / columns + self.lineitem * columns / self.tasks
        return self.fullest / best

    @property
    def moved_per_tuple(self) -> float:
        return self.moved / self.tuples_in


@dataclass(frozen=True, slots=True)
class Replayed:
    """One replay."""

    tasks: int
    metrics: dict
    moments: tuple[Moment, ...]
    """One per batch."""
    graph: PhysicalGraph
    """The last plan."""

    @property
    def worst(self) -> float:
        """The largest load ratio of all batches, the first one included."""
        return max(moment.load_ratio for moment in self.moments)

    @property
    def changes(self) -> int:
        """In how many batches the shape of a store changed."""
        return len({change["batch"] for epoch in self.metrics["epochs"] for change in epoch["shapes"]})

    @property
    def fullest_task(self) -> float:
        """Tuples that the fullest task received, over an even share of all that came in."""
        received = sum(store["fullest_task"] for store in self.metrics["stores"].values())
        return received / (2 * self.metrics["tuples_in"] / self.tasks)

    @property
    def labels(self) -> str:
        return ", ".join(store.label for store in self.graph.stores)


def replay(folder: Path, out: Path, tasks: int, options: Sequence[str]) -> Replayed:
    """Replay FOLDER/workload over FOLDER/data, where keeping a tuple is free.

    Args:
        folder: as `data.write_workload` and the writers of data leave it.
        out: for state and answers.
        tasks: of the stores, as the workload declares them.
        options: further ones of `python -m jobs replay`.
    Raises:
        RuntimeError: with what the process said.
    """
    where = [str(folder / "workload"), "--data", str(folder / "data"), "--out", str(out)]
    stores = ["--parallelism", str(tasks), "--storage-weight", "0"]
    done = run_to_end([sys.executable, "-m", "jobs", "replay", *where, *stores, *options], _LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-3000:]}")
    return Replayed(
        tasks,
        json.loads((out / "metrics.json").read_text()),
        moments(out / "checkpoint", tasks),
        PhysicalGraph.from_json((out / "plan.json").read_bytes()),
    )


def moments(checkpoint: Path, tasks: int) -> tuple[Moment, ...]:
    """The ends of all batches of a checkpoint whose plans keep `one` and `lineitem` in so many tasks."""
    streams = {}
    for path in (checkpoint / "plans").glob("*.json"):
        graph = PhysicalGraph.from_json(path.read_bytes())
        streams[path.stem] = {store.id: store.inputs[0].stream for store in graph.stores}
    found = []
    moved = tuples_in = 0
    for line in map(json.loads, (checkpoint / "batches.jsonl").read_text().splitlines()):
        figures = line["figures"]
        counts, names = figures["counts"], streams[line["plan"]]
        held = {names[store]: tuples for store, tuples in counts["held"].items()}
        moved, tuples_in = moved + figures["moved"], tuples_in + figures["tuples_in"]
        fullest = sum(counts["fullest_held"].values())
        found.append(Moment(tasks, held["one"], held["lineitem"], fullest, moved, tuples_in))
    return tuple(found)
