"""Finds every process that belongs to a run, also those that left its process tree.

The streaming job leads a session of its own so that it survives the worker that launched it.
All that belongs to one MILLRACE_HOME has that in its environment, which children inherit.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import psutil

END_S = 20.0
"""A job finishes its running batch within this time, or is killed."""


def belonging_to(home: Path) -> list[psutil.Process]:
    """The living processes that were started for this folder, without this one and its ancestors."""
    own = {os.getpid(), *(p.pid for p in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter(["pid"]):
        if process.pid in own:
            continue
        try:
            if process.environ().get("MILLRACE_RUN_OF") == str(home):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def end_jobs(home: Path) -> None:
    """Lets streaming jobs end by themselves: their leaders are asked, and waited for."""
    leaders = [p for p in belonging_to(home) if _is_job(p)]
    _ask(leaders)
    psutil.wait_procs(leaders, timeout=END_S)


def end_all(home: Path) -> int:
    """Ends whatever is left; returns how many processes there were."""
    left = belonging_to(home)
    _ask(left)
    _, stubborn = psutil.wait_procs(left, timeout=5.0)
    for process in stubborn:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(stubborn, timeout=5.0)
    return len(left)


def _ask(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        try:
            process.terminate()
        except psutil.NoSuchProcess:
            continue


def _is_job(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return False
    return ("-m", "jobs") in itertools.pairwise(words) and "run" in words
