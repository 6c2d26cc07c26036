"""`python -m tests.soak`: the whole product under load while things break, judged by DuckDB.

    python -m tests.soak --minutes 30 --keep folder
    python -m tests.soak --minutes 3 --rate 600 --fault-every 12 --exact
    python -m tests.soak --judge folder

Ends with one line per part of the verdict, and with 1 if one of them does not hold.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.measurement import describe_machine
from tests.soak.faults import Fault
from tests.soak.judging import judge, read_commits
from tests.soak.plots import draw
from tests.soak.product import TOPOLOGY
from tests.soak.publishing import publish
from tests.soak.questions import draw_query
from tests.soak.soak import Load, Options, read_load, run, say
from tests.soak.verdict import Line, lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--minutes", type=float, default=3.0, help="of load, with the calibration (3)")
    parser.add_argument("--rate", type=float, help="tuples per second (half of what is found to be the most)")
    parser.add_argument("--fault-every", type=float, default=60.0, metavar="S", help="0 for none (60)")
    parser.add_argument("--change-every", type=float, default=7.0, metavar="S", help="of the queries (7)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="everything is left there; must not exist")
    parser.add_argument("--exact", action="store_true", help="time, memory and disk are told, not judged")
    parser.add_argument("--judge", type=Path, metavar="DIR", help="only judge what an earlier soak left")
    parser.add_argument("--publish", action="store_true", help="write docs/lab/soak and docs/lab/soak.md")
    given = parser.parse_args()
    if given.judge is not None:
        return _judge(given.judge, read_load(given.judge), given)
    if given.keep is not None and given.keep.exists():
        parser.error(f"--keep: {given.keep} is there already, expected a folder that is not")
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch) / "soak"
        options = Options(
            folder, given.minutes, given.rate, given.fault_every, given.change_every, given.seed
        )
        return _judge(folder, run(options, stopping), given)


def _judge(folder: Path, load: Load, given: argparse.Namespace) -> int:
    say("comparing with DuckDB")
    commits = read_commits(folder / "commits.jsonl")
    faults = [Fault(**found) for found in _objects(folder / "faults.jsonl")]
    samples = _objects(folder / "samples.jsonl")
    disturbed = [(f.at, f.recovered_at if f.recovered_at is not None else load.ended) for f in faults]
    moments = (load.began, load.ended)
    judgement = judge(
        folder,
        folder / "home" / "topologies" / TOPOLOGY / "out",
        [draw_query(load.seed, number) for number in range(load.queries)],
        commits,
        disturbed,
        moments,
    )
    found = lines(judgement, faults, samples, moments)
    if load.troubles:
        found = (Line("the soak itself", "; ".join(load.troubles), "no trouble", False, True), *found)
    plots = draw(folder, samples, commits, faults, judgement, moments)
    report = {
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "load": asdict(load),
        "batches": len(commits),
        "faults": dict(sorted(Counter(fault.kind for fault in faults).items())),
        "recovered_s": {
            kind: sorted(
                round(f.recovered_at - f.at, 1)
                for f in faults
                if f.kind == kind and f.recovered_at is not None
            )
            for kind in sorted({fault.kind for fault in faults})
        },
        "judgement": asdict(judgement),
        "verdict": [asdict(line) for line in found],
        "plots": [plot.name for plot in plots],
    }
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    say(f"{judgement.sent} tuples sent, {judgement.accepted} accepted, {len(commits)} batches, "
        f"{load.queries} queries in {load.changes} changes")  # fmt: skip
    if given.publish:
        publish(folder)
    judged = [line for line in found if line.exact or not given.exact]
    for line in found:
        sign = "ok " if line.holds else "NO " if line in judged else "-- "
        sys.stdout.write(f"{sign} {line.what:<34} {line.found}   [{line.bound}]\n")
    return 0 if all(line.holds for line in judged) else 1


def _objects(file: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(text) for text in file.read_text().splitlines()]


if __name__ == "__main__":
    sys.exit(main())
