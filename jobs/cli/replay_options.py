"""The options of `python -m jobs replay`, those of planning among them."""

from __future__ import annotations

import argparse
from pathlib import Path

from jobs.cli.options import MEMORY, STATE, count, tasks
from jobs.spark.session import processors
from optimizer.algebra.settings import size
from optimizer.cli.setting_options import add_calibration, add_settings
from optimizer.planner.settings import PlannerSettings


def add_replay_options(replaying: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    replaying.add_argument("workload", type=Path, help="directory with streams.yaml and queries/*.sql")
    replaying.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="DIR/STREAM/*.parquet or *.csv"
    )
    replaying.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="results; continued if started before"
    )
    replaying.add_argument(
        "--plan", type=Path, metavar="plan.json", help="use this plan instead of making one"
    )
    replaying.add_argument(
        "--batch-rows", type=count, metavar="N", help="most rows of a batch, all streams together"
    )
    replaying.add_argument(
        "--parallelism", type=tasks, default=processors(), metavar="N", help="tasks per store"
    )
    replaying.add_argument("--epoch-batches", type=count, default=16, metavar="N", help="batches of an epoch")
    replaying.add_argument("--adaptive", action="store_true", help="plan again as statistics change")
    add_settings(replaying, PlannerSettings)
    add_calibration(replaying)
    replaying.add_argument(
        "--schedule", type=Path, metavar="FILE",
        help="queries that come and go (default: WORKLOAD/schedule.yaml, if there)",
    )  # fmt: skip
    # For tests of plan changes, see docs/design/adaptivity.md.
    replaying.add_argument("--another-plan-every-epoch", action="store_true", help=argparse.SUPPRESS)
    replaying.add_argument(
        "--most-combinations", type=count, default=25_000_000, metavar="N",
        help="combinations that a step may make in one batch and task; one that makes more ends the replay "
        "(default: 25000000)",
    )  # fmt: skip
    replaying.add_argument("--memory-limit", type=size, metavar="BYTES", help=MEMORY)
    replaying.add_argument("--master", metavar="URL", help="Spark master (default: this machine)")
    replaying.add_argument("--state", metavar="URL", help=STATE)
