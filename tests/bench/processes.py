"""Processes that end with all they started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_to_end(
    command: Sequence[str], limit_s: float, said: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command from the project's root, in a session of its own: what it leaves running ends too.

    Args:
        command: program and arguments.
        limit_s: wall time after which it is ended.
        said: its standard input.
        environment: instead of this process's.
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
