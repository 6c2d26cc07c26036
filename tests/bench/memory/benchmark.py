"""memory: a join whose state is five times what may be in memory, in a control group that holds it to that.

How much a group is given is measured first: what the processes of an unlimited run, whose state is mapped,
have at most beside the page cache, room for the programs' own code and for what differs from run to run, and
the limit on top. One that keeps its state in memory lacks four times the limit, less that room: at small
scales it may get by.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.measurement import Measured, Report
from tests.bench.memory import workload
from tests.bench.memory.group import group
from tests.bench.processes import run_to_end
from tests.bench.subjects import LIMIT_S, Subject, WrongAnswer, measure_in_turns

BATCHES = 30
TIMES = 5
"""How much larger the state is than the limit."""
_CODE_BYTES = 256 << 20
"""Mapped programs and libraries of Java and Python, in use all the time, and variation between runs."""
_FIGURES = (
    "seconds",
    "tuples_per_second",
    "batches",
    "peak_state_bytes",
    "peak_resident_state_bytes",
    "state_bytes_written",
)
_FREE, _HELD, _BOUNDED, _TREE = (
    "no limit, no group",
    "state in memory",
    "--memory-limit",
    "--memory-limit, binary joins",
)


def run(scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Replays one workload unlimited, then in groups: within a limit, with a tree of binary joins (left-deep,
    in its best order, MIRs stored) within the same limit, and with state in memory.

    Args:
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples.
        repeat: runs of each; the medians count.
        command: what the person typed, for the report.
    """
    count = workload.rows(scale)
    limit = count * len(workload.STREAMS) * workload.TUPLE_BYTES // TIMES
    workload.write_workload(scratch / "workload")
    workload.write(scratch / "data", count, seed=7)
    expected = workload.answer_of_duckdb(scratch / "data")
    batch_rows = count * len(workload.STREAMS) // BATCHES
    flat = ("--method", "flat")
    room = int(_replay(scratch, scratch / "base", batch_rows, flat)["group_peak_bytes"]) + _CODE_BYTES + limit
    words: list[str] = []

    def subject(
        name: str, options: Sequence[str], room: int | None = None, held: list[str] | None = None
    ) -> Subject:
        def measure(out: Path) -> Mapping[str, float]:
            try:
                figures = _replay(scratch, out, batch_rows, options, room, held)
                if figures["completed"] and (found := workload.answer_of(out)) != expected:
                    raise WrongAnswer(f"(results, sum of hashes) {found}, DuckDB has {expected}")
            finally:
                shutil.rmtree(out, ignore_errors=True)  # the state of one run is enough for the disk
            return figures

        inside = "" if room is None else f", in a group of {room} bytes"
        typed = f"python -m jobs replay WORKLOAD --data DATA --out OUT --batch-rows {batch_rows}"
        return Subject(name, " ".join([typed, *options]) + inside, measure)

    subjects = (
        subject(_FREE, flat),
        subject(_BOUNDED, (*flat, *_limited(limit)), room),
        subject(_TREE, ("--method", "left-deep", *_limited(limit)), room),
        subject(_HELD, flat, room, held=words),
    )
    measured = measure_in_turns("memory", subjects, scratch, repeat)
    return Report(
        "memory", scale, command, measured, _notes(count, limit, room, expected[0], measured, words)
    )


def _limited(limit: int) -> tuple[str, str]:
    return "--memory-limit", str(limit)


def _replay(
    scratch: Path,
    out: Path,
    batch_rows: int,
    options: Sequence[str],
    room: int | None = None,
    held: list[str] | None = None,
) -> dict[str, float]:
    """One replay in a group of `room` bytes. With `held`, state stays in memory, and a run that fails is an
    answer too: `completed` is 0, how many processes were killed, and its last words go into the list."""
    where = [str(scratch / "workload"), "--data", str(scratch / "data"), "--out", str(out)]
    words = [sys.executable, "-m", "jobs", "replay", *where, "--batch-rows", str(batch_rows), *options]
    environment = dict(os.environ)
    if held is not None:
        settings = scratch / "spark"
        settings.mkdir(exist_ok=True)
        (settings / "spark-defaults.conf").write_text("spark.python.daemon.module tests.bench.memory.held\n")
        environment["SPARK_CONF_DIR"] = str(settings)
    with group("millrace-memory", room) as bounds:
        done = run_to_end(bounds.inside(words), LIMIT_S, environment=environment)
        figures = {"group_peak_bytes": float(bounds.peak_bytes), "killed_processes": float(bounds.killed)}
    if done.returncode != 0:
        if held is not None and figures["killed_processes"]:
            said = done.stderr.strip().splitlines()[-1:]
            held.extend(f"exit code {done.returncode}: {line}" for line in said)
            return figures | {"completed": 0.0}
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-3000:]}")
    metrics = json.loads((out / "metrics.json").read_text())
    known = {name: metrics[name] for name in _FIGURES if metrics[name] is not None}
    return figures | known | {"completed": 1.0, "results": sum(metrics["results"].values())}


def _notes(
    count: int, limit: int, room: int, expected: int, measured: Sequence[Measured], words: Sequence[str]
) -> tuple[str, ...]:
    found = {subject.subject: subject for subject in measured}
    notes = [
        f"Four streams of {count:,} tuples joined on one key, without windows, in {BATCHES} batches: "
        f"{expected:,} results, the same as DuckDB's in every run that completed. The limit is "
        f"{limit / 1e6:,.0f} MB. All processes of "
        f"a limited run (Java, driver, workers) are in a control group of {room / 1e6:,.0f} MB, page cache "
        "included; *in memory* is what of it could not have been dropped."
    ]
    times = {name: found[name].median("seconds") for name in (_FREE, _BOUNDED, _TREE)}
    state = found[_BOUNDED].median("peak_state_bytes")
    free, bounded, tree = times[_FREE], times[_BOUNDED], times[_TREE]
    if free and bounded and state:
        notes.append(
            f"State of {state / limit:.1f} times the limit takes {bounded / free:.2f} times as long as "
            "without a limit."
        )
    if tree and bounded:
        notes.append(f"Binary joins take {tree / bounded:.2f} times as long within the same limit.")
    if found[_HELD].median("completed") == 0:
        said = f": *{words[-1]}*" if words else ""
        notes.append(f"With its state in memory the run ends, because the kernel ended its workers{said}.")
    return tuple(notes)
