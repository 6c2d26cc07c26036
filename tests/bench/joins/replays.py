"""Replays with Millrace and what their metrics say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.processes import PeakMemory
from tests.bench.subjects import python

_FIGURES = ("seconds", "tuples_per_second", "steady_tuples_per_second", "batches", "peak_state_bytes")


def replay(
    workload: Path,
    data: Path,
    out: Path,
    batch_rows: int,
    options: Sequence[str] = (),
    memory: PeakMemory | None = None,
) -> dict[str, float]:
    """The figures of one replay, which `memory` watches, and the number of its results over all queries."""
    where = [str(workload), "--data", str(data), "--out", str(out)]
    words = ["-m", "jobs", "replay", *where, "--batch-rows", str(batch_rows), *options]
    python(words, memory=memory)
    metrics = json.loads((out / "metrics.json").read_text())
    known = {name: metrics[name] for name in _FIGURES if metrics[name] is not None}
    return known | {"results": sum(metrics["results"].values())}


class Replays:
    """Replays of one workload: timed ones, and before the first of them one whose memory is watched, which
    slows it down."""

    def __init__(self, workload: Path, data: Path, batch_rows: int) -> None:
        self._workload, self._data, self._batch_rows = workload, data, batch_rows
        self._memory: PeakMemory | None = None

    def __call__(self, out: Path) -> dict[str, float]:
        """The figures of one, in the folder `out`, and `peak_pss_bytes`."""
        if self._memory is None:
            memory, watched = PeakMemory(), out.with_name(f"{out.name}-watched")
            replay(self._workload, self._data, watched, self._batch_rows, memory=memory)
            shutil.rmtree(watched)
            self._memory = memory
        timed = replay(self._workload, self._data, out, self._batch_rows)
        return timed | {"peak_pss_bytes": float(self._memory.bytes)}


@dataclass(frozen=True, slots=True)
class Batch:
    """One committed batch."""

    tuples: int
    committed_s: float
    """Wall clock, seconds since 1970."""


def batches(out: Path) -> list[Batch]:
    """The batches of a finished replay, in their order."""
    lines = map(json.loads, (out / "checkpoint" / "batches.jsonl").read_text().splitlines())
    return [Batch(line["figures"]["tuples_in"], line["committed_us"] / 1e6) for line in lines]


def command(batch_rows: int, options: Sequence[str] = ()) -> str:
    """What to type for such a replay."""
    words = ["python -m jobs replay WORKLOAD --data DATA --out OUT --batch-rows", str(batch_rows), *options]
    return " ".join(words)
