"""Find and end every process of a run, also those that left its tree.

The streaming job leads a session of its own so that it survives the worker that launched it.
All that belongs to one MILLRACE_HOME has that in its environment, which children inherit.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from backend.run.parts import NEVER

MARK = "MILLRACE_RUN_OF"
"""The variable. Not MILLRACE_HOME: that one a person may have exported for other commands too."""
END_SECONDS = 20.0
"""A job finishes its running batch within this time, or is killed."""
_PART_END_SECONDS = 5.0
_LOOK_SECONDS = 0.2


def belonging_to(home: Path) -> list[psutil.Process]:
    """Living processes started for this folder, but this one and its ancestors."""
    own = {os.getpid(), *(p.pid for p in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter(["pid"]):
        if process.pid in own:
            continue
        try:
            if process.environ().get(MARK) == str(home):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def end_in_order(home: Path, hurry: threading.Event) -> int:
    """End whatever there is, in the supervisor's order; returns how many.

    What starts jobs goes first, then jobs, then the rest with Redis, to which a job says its last words. It
    returns how many processes there were.
    """
    found = belonging_to(home)
    leaders = {process.pid for process in found if _is_job(process)}
    _end([p for p in found if _session(p) not in leaders and _name(p) != "redis-server"], hurry)
    end_jobs(home, hurry)
    left = belonging_to(home)
    _end(left, hurry)
    return len({process.pid for process in (*found, *left)})


def end_jobs(home: Path, hurry: threading.Event = NEVER) -> None:
    """Lets streaming jobs end by themselves: their leaders are asked, and waited for."""
    leaders = [p for p in belonging_to(home) if _is_job(p)]
    _ask(leaders)
    _wait(leaders, END_SECONDS, hurry)


def end_all(home: Path, hurry: threading.Event = NEVER) -> int:
    """Ends whatever is left; returns how many processes there were."""
    left = belonging_to(home)
    _end(left, hurry)
    return len(left)


def _end(processes: Sequence[psutil.Process], hurry: threading.Event) -> None:
    _ask(processes)
    stubborn = _wait(processes, _PART_END_SECONDS, hurry)
    for process in stubborn:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(stubborn, timeout=_PART_END_SECONDS)


def _wait(
    processes: Sequence[psutil.Process], seconds: float, hurry: threading.Event
) -> Sequence[psutil.Process]:
    """Processes still alive after a while, or when the supervisor is told to hurry."""
    give_up_at = time.monotonic() + seconds
    while processes and not hurry.is_set() and time.monotonic() < give_up_at:
        _, processes = psutil.wait_procs(processes, timeout=_LOOK_SECONDS)
    return processes


def _ask(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        try:
            process.terminate()
            # One that is stopped hears nothing before it goes on.
            process.resume()
        except psutil.NoSuchProcess:
            continue


def _session(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except (ProcessLookupError, PermissionError):
        return None


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return ""


def _is_job(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return False
    return ("-m", "jobs") in itertools.pairwise(words) and "run" in words
