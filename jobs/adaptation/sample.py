"""Samples of the streams, for selectivities that no installed probe order observes (section 7.2.1).

A sample is taken from the base stores' runs when an epoch ends, at most a fixed number of tuples per
stream, spread evenly over the epoch: all of a slow stream, a small part of a fast one. It is kept
in the checkpoint until the epoch's statistics have been used, so that a replay that is killed in
between decides alike.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl

from jobs.checkpoint import Checkpoint
from jobs.commit import Manifest
from jobs.message import ARRIVAL
from jobs.stage import ARRIVALS_PER_TASK, MOST_TASKS
from jobs.store import state_root
from optimizer.graph import PhysicalGraph

ROWS = 2000
"""Tuples per stream; pairs of two samples stay below its square."""


class Samples:
    """The samples of a checkpoint: `samples/EPOCH/STREAM.parquet`."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._root = checkpoint.root / "samples"

    def take(self, epoch: int, first_batch: int, manifest: Manifest, graph: PhysicalGraph) -> None:
        """Sample the tuples that arrived from `first_batch` on; `manifest` is the epoch's last one."""
        folder = self._root / str(epoch)
        if folder.exists():
            return
        unfinished = self._root / f"{epoch}.partial"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        first = first_batch * MOST_TASKS * ARRIVALS_PER_TASK
        root = state_root(self._checkpoint.state)
        runs = manifest.runs_by_store()
        sampled: set[str] = set()
        for store in graph.stores:
            stream = store.inputs[0].stream
            if not store.is_base or stream in sampled:
                continue
            mine = [run for run in runs.get(store.id, ()) if run.max_arrival >= first]
            step = max(1, -(-sum(run.rows for run in mine) // ROWS))
            prefix = f"{store.inputs[0].input}."
            parts = []
            for run in mine:
                frame = root.read(run.path).filter(pl.col(ARRIVAL) >= first)
                columns = [c for c in frame.columns if c.startswith(prefix)]
                parts.append(frame.select(columns).gather_every(step))
            if not parts:
                continue
            sampled.add(stream)
            together = pl.concat(parts, how="diagonal")
            names = {column: column.removeprefix(prefix) for column in together.columns}
            together.rename(names).write_parquet(unfinished / f"{stream}.parquet")
        unfinished.rename(folder)

    def read(self, epoch: int) -> dict[str, pl.DataFrame]:
        """An epoch's samples by stream; none if the epoch was not sampled."""
        folder = self._root / str(epoch)
        return {file.stem: pl.read_parquet(file) for file in sorted(folder.glob("*.parquet"))}

    def drop_before(self, epoch: int) -> None:
        """Delete the samples of earlier epochs."""
        for folder in self._folders():
            if folder.name.isdecimal() and int(folder.name) < epoch:
                shutil.rmtree(folder, ignore_errors=True)

    def _folders(self) -> list[Path]:
        return sorted(self._root.iterdir()) if self._root.exists() else []
