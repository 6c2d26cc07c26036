"""The process of a topology: how it outlives its launcher and is found again."""

from __future__ import annotations

import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from jobs.recovery.manifest import write_durably


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
