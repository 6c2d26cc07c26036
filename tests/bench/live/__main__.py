"""`python -m tests.bench.live`: the live benchmark alone, as JSON on standard output."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.bench.live.benchmark import measure
from tests.bench.measurement import describe_machine


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.live")
    parser.add_argument("--queries", type=int, default=100, help="queries added within the minute (100)")
    parser.add_argument("--seconds", type=float, default=60.0, help="the minute (60)")
    parser.add_argument("--method", default="greedy", help="how the set is planned (greedy)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measured = measure(Path(scratch), given.queries, given.seconds, given.method)
    json.dump({"machine": describe_machine(), **measured}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
