"""The beginning of `python -m jobs run`: Java starts while the engine is imported."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from jobs.control_plane.run_log import begin_log
from jobs.recovery.lock import hold
from jobs.spark.java import is_local, start_java_ahead


def launch(given: argparse.Namespace) -> int:
    """Run a topology and return the exit code.

    Raises `InputError` for options that cannot be used, and for a checkpoint in use.
    """
    become_leader()
    begin_log()
    root: Path = given.checkpoint
    if given.master is None or is_local(given.master):
        root.mkdir(parents=True, exist_ok=True)
        with hold(root / "lock"):
            start_java_ahead(root / "scratch")
    # Everything else is imported here, and Java starts meanwhile.
    from jobs.cli.run import run

    return run(given)


def become_leader() -> None:
    """Outlive the launcher: a session of its own, unless a person sits at a terminal."""
    if sys.stdin.isatty():
        return
    if os.getsid(0) != os.getpid():
        with suppress(PermissionError):
            os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
