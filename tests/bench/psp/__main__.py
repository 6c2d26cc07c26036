"""`python -m tests.bench.psp`: the busiest task's processor time under every layout, without Spark.

Unlike the benchmark's times these hardly depend on what else the machine does. What tasks do besides
comparing images, a few milliseconds each, is in them.
"""

from __future__ import annotations

import os

os.environ["POLARS_MAX_THREADS"] = "1"

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from optimizer.udf.reader import SETTING as FUNCTIONS
from optimizer.workload import functions_file
from tests.bench.engine import Engine
from tests.bench.psp.benchmark import ALONE, BATCH_S, LAYOUTS
from tests.bench.psp.workload import WINDOW_S, Rates, Way, write

_BATCHES = 3 * WINDOW_S // BATCH_S
_MEASURED = 2 * WINDOW_S // BATCH_S
"""Behind the first window."""


class _ByTask(Engine):
    """Keeps what each task of a batch took, one after the other."""

    parts: list[tuple[str, float]]
    """What it was, and processor seconds."""

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.parts.append((part, time.process_time() - began))

    def busiest_s(self, tables: dict[str, pa.Table]) -> float:
        """Seconds of the busiest task that probes in a batch of these tuples."""
        self.parts = []
        self.feed(tables)
        return max(seconds for part, seconds in self.parts if part == "stage 1")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.psp")
    parser.add_argument("--rate", type=int, default=20, help="tuples per second of each stream (default: 20)")
    rate = parser.parse_args().rate
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write(folder, Rates(((_BATCHES * BATCH_S, rate),)))
        os.environ[FUNCTIONS] = str(functions_file(folder / "workload"))
        data = {stream: pq.read_table(folder / "data" / stream) for stream in "rs"}
        alone = _busiest_s(folder, ALONE, data, rate)
        for way in (ALONE, *(way for ways in LAYOUTS.values() for way in ways.values())):
            share = _busiest_s(folder, way, data, rate) / alone
            sys.stdout.write(
                f"{way.name}: {share:.2f} of one task's time, expected {way.share(BATCH_S):.2f}\n"
            )


def _busiest_s(folder: Path, way: Way, data: dict[str, pa.Table], rate: int) -> float:
    with tempfile.TemporaryDirectory() as state:
        engine = _ByTask(way.graph(folder / "workload"), Path(state))
        size = rate * BATCH_S
        taken = [
            engine.busiest_s({stream: table.slice(batch * size, size) for stream, table in data.items()})
            for batch in range(_BATCHES)
        ]
    return median(taken[-_MEASURED:])


if __name__ == "__main__":
    main()
