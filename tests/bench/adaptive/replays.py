"""Replays of the experiments and what their metrics say."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.bench.adaptive.scenarios import EPOCH_BATCHES, TASKS, Scenario

_ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Replayed:
    """One replay of an experiment."""

    metrics: dict
    labels: dict[str, tuple[str, ...]]
    """Labels of the stores by plan."""
    batch_seconds: list[float]
    """Wall time of every batch, from its start to its commit."""

    @property
    def sent(self) -> list[int]:
        """Tuples sent in order to probe, per batch."""
        return [sent for epoch in self.metrics["epochs"] for sent in epoch["sent_per_batch"]]

    @property
    def switched_epochs(self) -> list[int]:
        """Epochs in which another plan took over."""
        return [epoch["epoch"] for epoch in self.metrics["epochs"] if epoch["switches"]]

    def sent_in(self, epoch: int) -> int:
        return int(self.metrics["epochs"][epoch]["sent"])

    def stores_in(self, epoch: int) -> tuple[str, ...]:
        """Labels of the stores at the end of an epoch."""
        return self.labels[self.metrics["epochs"][epoch]["plan"]]


def options(scenario: Scenario, adaptive: bool) -> list[str]:
    """Command-line options of a replay, besides its directories."""
    words = ["--batch-rows", str(scenario.batch_rows), "--epoch-batches", str(EPOCH_BATCHES)]
    # The experiments are about tuples sent, and so is what plans are chosen by.
    words += ["--parallelism", str(TASKS), "--cost", "messages"]
    return [*words, *(["--adaptive"] if adaptive else [])]


def replay(scenario: Scenario, folder: Path, out: Path, adaptive: bool) -> Replayed:
    """Replay FOLDER/workload over FOLDER/data. Raises `RuntimeError` with what the process said."""
    where = [str(folder / "workload"), "--data", str(folder / "data"), "--out", str(out)]
    command = [sys.executable, "-m", "jobs", "replay", *where, *options(scenario, adaptive)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-3000:]}")
    labels = {}
    for path in (out / "checkpoint" / "plans").glob("*.json"):
        stores = json.loads(path.read_text())["stores"]
        labels[path.stem] = tuple(store["label"] for store in stores)
    lines = map(json.loads, (out / "checkpoint" / "batches.jsonl").read_text().splitlines())
    seconds = [(line["committed_us"] - line["started_us"]) / 1e6 for line in lines]
    return Replayed(json.loads((out / "metrics.json").read_text()), labels, seconds)
