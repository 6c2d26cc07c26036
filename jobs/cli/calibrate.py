"""`python -m jobs calibrate`: measure what the parts of a batch take."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_THREADS = "POLARS_MAX_THREADS"
_SHARED_MEMORY = Path("/dev/shm")


def run_calibration(given: argparse.Namespace) -> int:
    """Write the coefficients to `given.out`; returns the exit code."""
    if os.environ.get(_THREADS) != "1":
        # Polars reads it when it is imported. Tasks of topologies have one thread each.
        command = [sys.executable, "-m", "jobs", "calibrate", "--out", str(given.out)]
        return subprocess.run(command, env={**os.environ, _THREADS: "1"}, check=False).returncode
    from jobs.calibration.calibrate import calibrate
    from optimizer.search.calibration import write_calibration

    base = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="millrace-calibrate-", dir=base) as scratch:
        found, figures = calibrate(Path(scratch), lambda line: print(line, file=sys.stderr))
    write_calibration(given.out, found, figures)
    print(
        f"{given.out}: off by {figures['q_error_median']} in the median, {figures['q_error_p90']} for 9 of 10"
    )
    return 0
