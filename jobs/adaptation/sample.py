"""Samples of a replay's epochs, kept until used: if killed, it decides alike."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl

from jobs.control_plane.stream_samples import sample_streams
from jobs.recovery.checkpoint import Checkpoint
from jobs.recovery.manifest import Manifest
from jobs.storage.partition import state_root
from optimizer.physical.graph import PhysicalGraph


class Samples:
    """The samples of a checkpoint: `samples/EPOCH/STREAM.parquet`."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._root = checkpoint.root / "samples"

    def take(self, epoch: int, first_batch: int, manifest: Manifest, graph: PhysicalGraph) -> None:
        """Sample the tuples from `first_batch` to `manifest`, which is the epoch's last."""
        folder = self._root / str(epoch)
        if folder.exists():
            return
        unfinished = self._root / f"{epoch}.partial"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        root = state_root(self._checkpoint.state)
        for stream, sample in sample_streams(graph, manifest.runs_by_store(), root, first_batch).items():
            sample.write_parquet(unfinished / f"{stream}.parquet")
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
