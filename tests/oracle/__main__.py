"""`python -m tests.oracle`: random workloads through `jobs replay`, compared with DuckDB.

    python -m tests.oracle --seed 7
    python -m tests.oracle --seed 100 --count 20 --queries 12 --streams 5 --method ilp --kill
    python -m tests.oracle --in-process --seed 1 --count 100000

The last one is of small workloads in this process, without Spark: see `tests.oracle.small`.
Prints one line per case and exits with 1 at the first that differs; its files stay in --keep.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.oracle.case import run_case
from tests.oracle.replay import CHANGING_GRIDS, ReplayFailed, Run
from tests.oracle.small.campaign import campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="further seeds, one after the other")
    parser.add_argument("--streams", type=int, default=3)
    parser.add_argument("--queries", type=int, default=3)
    parser.add_argument("--tuples", type=int, default=240, help="per stream, about")
    parser.add_argument("--method", help="ilp, greedy, individual, flat, left-deep or tree")
    parser.add_argument("--batch-rows", type=int)
    parser.add_argument("--parallelism", type=int)
    parser.add_argument("--kill", action="store_true", help="kill -9 twice on the way and continue")
    parser.add_argument("--evolve", action="store_true", help="queries come and go on the way")
    parser.add_argument("--functions", action="store_true", help="queries call user functions")
    parser.add_argument("--timed", action="store_true", help="event times are compared, beside windows")
    parser.add_argument(
        "--absences",
        action="store_true",
        help="also outer joins and such, groups, sessions, readers",
    )
    parser.add_argument(
        "--grids", action="store_true", help="all stores are join matrices, and others at every epoch"
    )
    parser.add_argument("--slices", action="store_true", help="stores are cut into slices of event time")
    parser.add_argument("--in-process", action="store_true", help="small workloads, without Spark")
    parser.add_argument("--plain", action="store_true", help="with --in-process: of few functions")
    parser.add_argument("--keep-going", action="store_true", help="with --in-process: also behind a failure")
    parser.add_argument("--keep", type=Path, help="a folder for the cases' files")
    parser.add_argument("--option", action="append", default=[], help="for replay, as --option=--adaptive")
    a = parser.parse_args()
    if a.in_process:
        return campaign(a.seed, a.count, a.plain, a.keep_going)
    if a.slices and a.evolve:
        parser.error("--slices begins with a plan of all queries, and with --evolve not all are there")
    if a.absences and a.evolve:
        parser.error("--absences has results that wait behind the batch in which their query goes")
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(a.seed, a.seed + a.count):
            folder = (a.keep or Path(scratch)) / f"seed-{seed}"
            options = (*a.option, *(CHANGING_GRIDS if a.grids else ()))
            tasks = a.parallelism or (random.Random(seed).choice((2, 3, 4, 6, 7)) if a.grids else None)
            run = Run(a.method, a.batch_rows, tasks, options)
            try:
                sizes = (a.streams, a.queries, a.tuples)
                kinds = (2 if a.kill else 0, a.evolve, a.functions, a.slices, a.timed, a.absences)
                done = run_case(seed, folder, run, *sizes, *kinds)
            except (AssertionError, ReplayFailed) as failure:
                sys.stderr.write(f"seed {seed}: {failure}\n")
                return 1
            sys.stdout.write(f"seed {seed}: equal, {done}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
