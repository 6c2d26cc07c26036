"""What the tests have workers do: functions of a module, as everything that travels there."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from backend.errors import Conflict
from optimizer.algebra.errors import Infeasible, InputError, Place


def own_pid() -> int:
    return os.getpid()


def spin(started: str) -> None:
    """Uses a processor for ever, from when the file is there."""
    Path(started).write_text(str(os.getpid()))
    while True:
        pass


def sleep(seconds: float, started: str) -> int:
    Path(started).write_text(str(os.getpid()))
    time.sleep(seconds)
    return os.getpid()


def grow(pause_s: float) -> int:
    """Holds more and more: at once, or so slowly that somebody sees it."""
    held = []
    while True:
        held.append(bytearray(b"x") * 10_000_000)
        time.sleep(pause_s)


def die_once(marker: str) -> str:
    """Is killed the first time."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(kind: str) -> None:
    raise {
        "input": InputError("unknown-column", Place("q", 1, 2), "x", "y", "z"),
        "infeasible": Infeasible("storage_budget", 1.0, 2.0),
        "conflict": Conflict("preview-too-long", "it took too long"),
        "other": ZeroDivisionError("by zero"),
    }[kind]


def work(seconds: float) -> int:
    """Uses a processor for so long."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return os.getpid()
