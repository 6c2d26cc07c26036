"""`python -m tests.bench.memory FOLDER [--scale F]`: the benchmark's FOLDER/workload and FOLDER/data."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.bench.memory import workload

parser = argparse.ArgumentParser(prog="python -m tests.bench.memory")
parser.add_argument("folder", type=Path)
parser.add_argument("--scale", type=float, default=1.0)
given = parser.parse_args()
workload.write_workload(given.folder / "workload")
workload.write(given.folder / "data", workload.rows(given.scale), seed=7)
