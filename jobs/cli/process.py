"""The process of a topology: how it outlives its launcher and is found again."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from jobs.recovery.manifest import write_durably


def become_leader() -> None:
    """Outlive the launcher: a session of its own, unless a person sits at a terminal."""
    if sys.stdin.isatty():
        return
    if os.getsid(0) != os.getpid():
        with suppress(PermissionError):
            os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def write_job_file(checkpoint: Path, run: str, topology: str) -> None:
    """Write `job.json`: a launcher that has forgotten this process finds it there."""
    document = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "run": run,
        "topology": topology,
        "started_at": datetime.now(UTC).isoformat(),
    }
    write_durably(checkpoint / "job.json", json.dumps(document).encode())
