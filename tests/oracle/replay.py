"""Runs `python -m jobs replay` as its own process, and kills it where a test asks for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 1800.0
CHANGING_GRIDS = ("--grids", "always", "--another-plan-every-epoch", "--epoch-batches", "2")
"""Options of a replay whose stores are join matrices, of another shape at every second batch."""


@dataclass(frozen=True, slots=True)
class Run:
    """How a workload is replayed."""

    method: str | None = None
    batch_rows: int | None = None
    parallelism: int | None = None
    options: tuple[str, ...] = ()
    """Further options, as on the command line."""

    def arguments(self) -> list[str]:
        given = {
            "--method": self.method,
            "--batch-rows": self.batch_rows,
            "--parallelism": self.parallelism,
        }
        chosen = [(option, str(value)) for option, value in given.items() if value is not None]
        return [*(word for pair in chosen for word in pair), *self.options]


class ReplayFailed(AssertionError):
    """The process ended with another code than 0; carries the end of what it said."""


def replay(workload: Path, data: Path, out: Path, run: Run) -> None:
    """Replays to the end. Raises `ReplayFailed` when the command does not succeed."""
    process = _start(workload, data, out, run)
    _, errors = process.communicate(timeout=_LIMIT_S)
    if process.returncode != 0:
        raise ReplayFailed(f"exit code {process.returncode}: {errors.decode(errors='replace')[-3000:]}")


def replay_until_killed(
    workload: Path, data: Path, out: Path, run: Run, commits: int, whole_group: bool
) -> bool:
    """Starts a replay and kills it (SIGKILL) once that many batches are committed.

    Args:
        commits: further batches to wait for; counted by the manifests that the run leaves.
        whole_group: kill Spark's Java process and its workers in the same moment too.
    Returns:
        False if the run was done before it could be killed.
    """
    before = _committed(out)
    process = _start(workload, data, out, run)
    deadline = time.monotonic() + _LIMIT_S
    while process.poll() is None and _committed(out) < before + commits:
        if time.monotonic() > deadline:
            process.kill()
            raise ReplayFailed(f"no {commits} batches committed within {_LIMIT_S:.0f} s")
        time.sleep(0.01)  # polls for the moment to kill; nothing depends on its length
    running = process.poll() is None
    if running and whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    elif running:
        process.kill()
    _, errors = process.communicate()
    if not running and process.returncode != 0:
        raise ReplayFailed(f"exit code {process.returncode}: {errors.decode(errors='replace')[-3000:]}")
    return running


def _start(workload: Path, data: Path, out: Path, run: Run) -> subprocess.Popen[bytes]:
    where: Sequence[str] = (str(workload), "--data", str(data), "--out", str(out))
    return subprocess.Popen(
        [sys.executable, "-m", "jobs", "replay", *where, *run.arguments()],
        cwd=_ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _committed(out: Path) -> int:
    """Batches that are committed; old manifests are deleted, so the last one's number tells."""
    commits = (out / "checkpoint" / "commits").glob("*.json")
    return max((int(path.stem) + 1 for path in commits if path.stem.isdigit()), default=0)
