"""Processes that end with all they started, and what they have in memory.

    python -m tests.bench.processes -m jobs replay WORKLOAD --data DATA --out OUT

runs `python` with these words and prints the most that it and all that it started had in memory at one
moment, by the part that the processes play.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench.polling import polled

ROOT = Path(__file__).resolve().parents[2]
_SAMPLED_EVERY_S = 0.1
_LIMIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Share:
    """What the processes of one part had in memory."""

    part: str
    processes: int
    bytes: int


class PeakMemory:
    """The most that a process and all that it started had in memory at one moment, as far as samples see it.

    Pages that several of them share count once, in equal parts: proportional set sizes. Taking them takes
    processor time from what is watched.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.shares: tuple[Share, ...] = ()
        """What `bytes` is made of, the largest first."""

    @contextmanager
    def watching(self, leader: int) -> Iterator[None]:
        """Take samples of a process while the block runs."""

        def look() -> None:
            with suppress(psutil.NoSuchProcess):
                first = psutil.Process(leader)
                self._see([first, *first.children(recursive=True)])

        with polled(look, _SAMPLED_EVERY_S, "memory"):
            yield

    def _see(self, processes: Sequence[psutil.Process]) -> None:
        sizes: Counter[str] = Counter()
        many: Counter[str] = Counter()
        for process in processes:
            # Whatever has ended meanwhile has nothing in memory.
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                part = part_of(process.cmdline())
                sizes[part] += process.memory_full_info().pss
                many[part] += 1
        if sizes.total() > self.bytes:
            self.bytes = sizes.total()
            self.shares = tuple(Share(part, many[part], size) for part, size in sizes.most_common())


def part_of(words: Sequence[str]) -> str:
    """The part that a process plays in a topology, by its command line.

    >>> part_of(["python", "-m", "jobs.spark.worker_daemon", "pyspark.worker"])
    'workers'
    >>> part_of(["python", "-m", "jobs", "replay"])
    'driver'
    """
    text = " ".join(words)
    return next((part for mark, part in _PARTS.items() if mark in text), "others")


_PARTS = {
    "org.apache.spark.deploy": "Java",
    "python_streaming_source_runner": "planner of batches",
    "pyspark.sql.worker": "questions about the source",
    "pyspark.worker": "workers",
    "-m jobs ": "driver",
}
"""By what their command lines contain. Workers are forks of a process that has the same command line."""


def run_to_end(
    command: Sequence[str],
    limit_s: float,
    said: str = "",
    environment: Mapping[str, str] | None = None,
    memory: PeakMemory | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command from the project's root, in a session of its own: what it leaves running ends too.

    Args:
        command: program and arguments.
        limit_s: wall time after which it is ended.
        said: its standard input.
        environment: instead of this process's.
        memory: watches it.
    Raises:
        subprocess.TimeoutExpired: it took longer than `limit_s`.
    """
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    )
    try:
        with nullcontext() if memory is None else memory.watching(process.pid):
            output, errors = process.communicate(said, timeout=limit_s)
    finally:
        _end_session(process.pid)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _end_session(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        # It left nothing behind.
        return


if __name__ == "__main__":
    watched = PeakMemory()
    done = run_to_end([sys.executable, *sys.argv[1:]], _LIMIT_S, memory=watched)
    sys.stderr.write(done.stderr)
    print(f"{watched.bytes / 1e6:,.0f} MB")
    for share in watched.shares:
        print(f"{share.bytes / 1e6:8,.0f}  {share.part} ({share.processes})")
    sys.exit(done.returncode)
