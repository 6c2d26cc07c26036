"""How soon a topology's first batch is committed, and what its processes take until then.

A real topology under a real Redis, three streams of tuples waiting. It starts, is killed with all its
processes while it runs, and starts again on its checkpoint. The moments are those at which a part's first
process was seen; the processor time is that of all processes of the part, ended ones included, and changes
less than the moments with what else the machine does.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from jobs.protocol import BatchCompleted
from tests.bench.measurement import describe_machine
from tests.bench.polling import polled
from tests.bench.processes import part_of
from tests.runtime.live import CHAIN, Live, RedisServer, write_live_workload

_ROWS = 300
"""Per stream: the first batch is small, as that of a query which has just been deployed."""
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Start:
    """One start, by part in seconds."""

    first_commit_s: float
    seen_s: dict[str, float]
    """From the start to the part's first process."""
    cpu_s: dict[str, float]


class _Watch:
    """Looks at the processes of a job until its first batch is committed."""

    def __init__(self, pid: int, began: float) -> None:
        self._job, self._began = psutil.Process(pid), began
        self.seen: dict[str, float] = {}
        self._cpu: dict[int, tuple[str, float]] = {}

    def look(self) -> None:
        with suppress(psutil.NoSuchProcess):
            for process in (self._job, *self._job.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    part, times = part_of(process.cmdline()), process.cpu_times()
                    self.seen.setdefault(part, time.monotonic() - self._began)
                    self._cpu[process.pid] = (part, times.user + times.system)

    def cpu_s(self) -> dict[str, float]:
        return {
            part: sum(seconds for of, seconds in self._cpu.values() if of == part)
            for part in {of for of, _ in self._cpu.values()}
        }


def run(folder: Path, scratch: Path, repeat: int, command: str) -> None:
    """Writes FOLDER/start.json and FOLDER/start.md."""
    pairs = [_start_twice(scratch / str(number)) for number in range(repeat)]
    document = {
        "benchmark": "start",
        "command": command,
        "first": _medians([first for first, _ in pairs]),
        "after_kill": _medians([second for _, second in pairs]),
        "machine": describe_machine(),
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (folder / "start.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "start.md").write_text(_section(document, repeat))


def _start_twice(scratch: Path) -> tuple[Start, Start]:
    (scratch / "redis").mkdir(parents=True)
    server = RedisServer(scratch / "redis")
    server.start()
    live = Live(server.port, scratch, write_live_workload(scratch / "workload", CHAIN))
    graph = live.graph("greedy", "chain")
    try:
        live.produce(_ROWS)
        first = _started(live, "run-1", graph)
        os.killpg(live.process.pid, signal.SIGKILL)
        live.process.wait()
        live.produce(_ROWS)
        return first, _started(live, "run-2", graph)
    finally:
        # Its group: Java would work on for a moment.
        with suppress(ProcessLookupError):
            os.killpg(live.process.pid, signal.SIGKILL)
        live.process.wait()
        server.stop()


def _started(live: Live, run_id: str, graph: dict[str, object]) -> Start:
    began = time.monotonic()
    live.start(run_id, "plan-0", graph, 500, files=False)
    watch = _Watch(live.process.pid, began)
    with polled(watch.look, _LOOK_S, "start"):
        live.wait_for(lambda event: isinstance(event, BatchCompleted) and event.run == run_id)
        committed = time.monotonic() - began
    return Start(committed, watch.seen, watch.cpu_s())


def _medians(starts: Sequence[Start]) -> dict[str, object]:
    parts = sorted({part for start in starts for part in start.cpu_s})
    return {
        "first_commit_s": [round(start.first_commit_s, 1) for start in starts],
        "first_commit_s_median": round(statistics.median(s.first_commit_s for s in starts), 1),
        "cpu_s_median": round(statistics.median(sum(s.cpu_s.values()) for s in starts), 1),
        "parts": {
            part: {
                "seen_s": round(statistics.median(s.seen_s[part] for s in starts if part in s.seen_s), 1),
                "cpu_s": round(statistics.median(s.cpu_s.get(part, 0.0) for s in starts), 2),
            }
            for part in parts
        },
    }


def _section(document: dict[str, object], repeat: int) -> str:
    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items())
    lines = [
        "## start\n",
        "A topology of three streams from its launch to its first commit, and again after `kill -9`; "
        f"medians of {repeat}. *Seen* is when the part's first process was there, wall time. "
        "The aims are 15 s each.\n",
        "| part | first start: seen, s | processor, s | after kill -9: seen, s | processor, s |",
        "|---|---|---|---|---|",
    ]
    first, again = document["first"], document["after_kill"]
    assert isinstance(first, dict)
    assert isinstance(again, dict)
    for part in sorted(first["parts"], key=lambda name: first["parts"][name]["seen_s"]):
        one, other = first["parts"][part], again["parts"].get(part, {"seen_s": "", "cpu_s": ""})
        lines.append(f"| {part} | {one['seen_s']} | {one['cpu_s']} | {other['seen_s']} | {other['cpu_s']} |")
    lines += [
        f"| first commit, all | {first['first_commit_s_median']} | {first['cpu_s_median']} | "
        f"{again['first_commit_s_median']} | {again['cpu_s_median']} |",
        "",
        f"`{document['command']}`, {document['taken_at']}. {machine}.\n",
    ]
    return "\n".join(lines)
