"""Replays with Millrace and what their metrics say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.subjects import python

_FIGURES = ("seconds", "tuples_per_second", "steady_tuples_per_second", "batches", "peak_state_bytes")


def replay(
    workload: Path, data: Path, out: Path, batch_rows: int, options: Sequence[str] = ()
) -> dict[str, float]:
    """The figures of one replay, and the number of its results over all queries."""
    where = [str(workload), "--data", str(data), "--out", str(out)]
    python(["-m", "jobs", "replay", *where, "--batch-rows", str(batch_rows), *options])
    metrics = json.loads((out / "metrics.json").read_text())
    known = {name: metrics[name] for name in _FIGURES if metrics[name] is not None}
    return known | {"results": sum(metrics["results"].values())}


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
