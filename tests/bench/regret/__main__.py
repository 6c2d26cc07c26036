"""`python -m tests.bench.regret --out DIR [--seed N] [--count N] [--repeat N]`: see `benchmark`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.bench.regret.benchmark import SEED, WORKLOADS, measure_all


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.regret")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the first workload (default: {SEED})")
    parser.add_argument("--count", type=int, default=WORKLOADS, help="of workloads")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each plan (default: 3)")
    parser.add_argument("--command", default="python -m tests.bench.regret", help="for the report")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    measure_all(given.out, given.seed, given.count, given.repeat, given.command)


if __name__ == "__main__":
    main()
