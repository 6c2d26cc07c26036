"""Launch, find and end the streaming job's operating-system process.

A process is named by its pid together with the time at which it started: pids are used again.
It leads a session of its own, so it outlives the worker that launched it, and its whole group
(the driver, its Java virtual machine, Python workers) can be ended together.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import psutil
from django.conf import settings

from backend.live.subscription.kept import begin_keeping, end_keeping
from backend.topologies.folders import directory, result_files
from backend.topologies.models import Plan, Run

TAIL_BYTES = 512 * 1024
"""Of a log, in which the newest lines are looked for."""
SEARCH_BYTES = 8 * 1024 * 1024
"""Of a log, in which a text is looked for: some 35 ms of the web process, as often as a page asks."""
END_SECONDS = 5.0
"""A group that was told to end has this long before it is killed."""


@dataclass(frozen=True, slots=True)
class Launched:
    pid: int
    started_at: float
    """Unix seconds, by the kernel's account."""
    host: str


def outbox(topology: str) -> list[float] | None:
    """When the batches that are in no topic yet were committed.

    In unix seconds; None if the topology publishes nothing, or its checkpoint is not on this host.
    """
    folder = directory(topology) / "checkpoint" / "outbox"
    if not folder.is_dir():
        return None
    found = []
    for entry in folder.glob("[0-9]*.json"):
        # What has been published since is gone.
        with contextlib.suppress(FileNotFoundError):
            found.append(entry.stat().st_mtime)
    return found


def log_file(run: Run) -> Path:
    return directory(run.topology.name) / "logs" / f"{run.pk}.log"


def launch(run: Run, plan: Plan) -> Launched:
    """Start the run's process. Raises `OSError` when that is impossible."""
    topology = run.topology
    home = directory(topology.name)
    plan_file = home / "plans" / f"{plan.plan_id}.json"
    log = log_file(run)
    for folder in (plan_file.parent, log.parent, home / "checkpoint"):
        folder.mkdir(parents=True, exist_ok=True)
    plan_file.write_text(plan.graph)
    if settings.MILLRACE_RESULT_FILES:
        begin_keeping(topology.name)
    else:
        end_keeping(topology.name)
    command = [
        *settings.MILLRACE_JOB_COMMAND,
        *("--topology", topology.name),
        *("--run", run.pk),
        *("--redis", settings.REDIS_URL),
        *("--checkpoint", str(home / "checkpoint")),
        *("--plan", str(plan_file)),
        *run.job_settings.arguments,
        *("--storage-weight", str(topology.planner_settings.storage_weight)),
        *("--most-combinations", str(int(settings.MILLRACE_MAX_COMBINATIONS))),
        *(() if run.memory_limit_bytes is None else ("--memory-limit", str(run.memory_limit_bytes))),
        *(("--out", str(result_files(topology.name))) if settings.MILLRACE_RESULT_FILES else ()),
    ]
    with log.open("ab") as output:
        # Not waited for here: `is_alive` reaps it, or init does once this worker is gone.
        process = subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        started_at = psutil.Process(process.pid).create_time()
    except psutil.NoSuchProcess as error:
        raise ChildProcessError(f"the job ended at once, with exit code {process.wait()}") from error
    return Launched(process.pid, started_at, socket.gethostname())


def is_alive(run: Run) -> bool | None:
    """Whether the run's process lives; None if it is on another host."""
    if run.host and run.host != socket.gethostname():
        return None
    return _find(run) is not None


def _find(run: Run) -> psutil.Process | None:
    if run.pid is None:
        # Its launcher died between starting it and writing that down.
        return next(
            (p for p in psutil.process_iter(["cmdline"]) if run.pk in (p.info["cmdline"] or ())), None
        )
    try:
        process = psutil.Process(run.pid)
        if run.process_started_at is not None and abs(process.create_time() - run.process_started_at) > 1.0:
            return None
        if run.process_started_at is None and run.pk not in process.cmdline():
            return None
        if process.status() == psutil.STATUS_ZOMBIE:
            # A child of another process of this worker is reaped there.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(run.pid, os.WNOHANG)
            return None
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return process


def terminate(run: Run) -> None:
    """Ask the run's process to end after its running batch."""
    process = _find(run)
    if process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()


def end(run: Run) -> bool:
    """End the run's process and all that it started; true if there was something.

    It is asked first and killed after END_SECONDS. Nothing of it lives when this returns, so
    another run may use its checkpoint.
    """
    process = _find(run)
    group = _group(run)
    if process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            group |= set(process.children(recursive=True)) | {process}
            process.terminate()
    elif not group:
        return False
    psutil.wait_procs(group, timeout=END_SECONDS)
    for member in sorted(group, key=lambda p: p.pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            if member.is_running():
                member.send_signal(signal.SIGKILL)
    psutil.wait_procs(group, timeout=END_SECONDS)
    return True


def _group(run: Run) -> set[psutil.Process]:
    """What still lives of the session that the run led, even if its leader is gone."""
    if run.pid is None or run.process_started_at is None or (run.host and run.host != socket.gethostname()):
        return set()
    members = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == run.pid and process.create_time() >= run.process_started_at - 1.0:
                members.add(process)
    return members


def log_tail(run: Run, lines: int, search: str = "") -> tuple[list[str], bool]:
    """The last lines that the run's processes printed, and whether there were more.

    Driver, Java and Python workers write to one file.

    Args:
        run: whose log it is.
        lines: how many, at most.
        search: what they contain, in any case; empty for all lines. What stands more than SEARCH_BYTES
            before the end is not looked at.
    """
    wanted = search.lower()
    most = SEARCH_BYTES if wanted else TAIL_BYTES
    found: deque[str] = deque(maxlen=lines)
    many = 0
    try:
        with log_file(run).open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - most))
            for raw in stream:
                line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
                if wanted in line.lower():
                    found.append(line)
                    many += 1
    except FileNotFoundError:
        return [], False
    return list(found), size > most or many > lines
