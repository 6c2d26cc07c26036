"""Processes that end with all they started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
_SAMPLED_EVERY_S = 0.1


class PeakMemory:
    """The most that a process and all that it started had in memory at one moment, as far as samples see it.

    Pages that several of them share count once, in equal parts: proportional set sizes. Taking them takes
    processor time from what is watched.
    """

    def __init__(self) -> None:
        self.bytes = 0

    @contextmanager
    def watching(self, leader: int) -> Iterator[None]:
        """Take samples of a process while the block runs."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_SAMPLED_EVERY_S):
                with suppress(psutil.NoSuchProcess):
                    first = psutil.Process(leader)
                    self.bytes = max(self.bytes, sum(map(_pss, [first, *first.children(recursive=True)])))

        thread = threading.Thread(target=watch, name="memory")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _pss(process: psutil.Process) -> int:
    try:
        size: int = process.memory_full_info().pss
    except (psutil.NoSuchProcess, ProcessLookupError):
        return 0  # It has ended meanwhile.
    return size


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
