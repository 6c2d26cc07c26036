"""Where the processor time of a replay on a cluster goes, by kind of process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.bench.polling import polled

_POLLED_EVERY_S = 0.02
_WARM_UP = 2
"""Batches that a steady figure leaves out."""

DRIVER = "driver_python"
JAVA = "driver_java"
PLANNER = "planner"
"""The source's Python processes, which Spark's driver starts."""
STANDALONE = "standalone"
"""Master and workers: they only start others."""
EXECUTORS = "executors_java"
TASKS = "executors_python"
KINDS = (DRIVER, JAVA, PLANNER, STANDALONE, EXECUTORS, TASKS)


class Account:
    """Processor time, user and system, that this process's descendants used between the commits of the steady
    batches of a replay into `out`.

    Args:
        out: the replay's folder, which need not exist yet.
    """

    def __init__(self, out: Path) -> None:
        self._log = out / "checkpoint" / "batches.jsonl"
        self._first: Mapping[int, float] = {}
        self._last: Mapping[int, float] = {}
        self._kinds: dict[int, str] = {}
        self.batches = 0
        """Commits that were seen."""

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Keep the account while the block runs, in which the replay begins and ends."""
        with polled(self._look, _POLLED_EVERY_S, "account"):
            yield

    def per_batch(self) -> dict[str, float]:
        """Seconds of processor time per steady batch, by kind, under `KIND_cpu_s`; nothing if there were
        too few batches."""
        steady = self.batches - _WARM_UP
        if steady <= 0:
            return {}
        used: Counter[str] = Counter()
        for pid, seconds in self._last.items():
            used[self._kinds[pid]] += seconds - self._first.get(pid, 0.0)
        return {f"{kind}_cpu_s": round(used[kind] / steady, 3) for kind in KINDS}

    def _look(self) -> None:
        """Note what everybody has used, if another batch was committed since the last time."""
        try:
            batches = self._log.read_bytes().count(b"\n")
        except FileNotFoundError:
            return
        if batches > self.batches:
            self._last = self._used()
            if batches <= _WARM_UP:
                self._first = self._last
            self.batches = batches

    def _used(self) -> dict[int, float]:
        used = {}
        for process in psutil.Process().children(recursive=True):
            # One that has ended meanwhile is no part of a steady batch.
            with suppress(psutil.NoSuchProcess):
                if process.pid not in self._kinds:
                    self._kinds[process.pid] = _kind(process)
                times = process.cpu_times()
                used[process.pid] = times.user + times.system
        return used


def _kind(process: psutil.Process) -> str:
    """What a process is for, by how it was called and by whom.

    Raises:
        psutil.NoSuchProcess: it has ended.
    """
    words = " ".join(process.cmdline())
    if "spark.deploy.master.Master" in words or "spark.deploy.worker.Worker" in words:
        return STANDALONE
    if "CoarseGrainedExecutorBackend" in words:
        return EXECUTORS
    if process.name() == "java":
        return JAVA
    started_by = next((other for other in process.parents() if other.name() == "java"), None)
    if started_by is None:
        return DRIVER
    return TASKS if _kind(started_by) == EXECUTORS else PLANNER
