"""What goes wrong during the soak, at random moments: one thing after the other, each at least once."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tests.soak.product import KILLED, STOPPED, TERMINATED, Product
from tests.soak.watching import CommitWatch

KINDS = (
    *("driver", "java", "python worker", "celery worker", "beat", "web"),
    *("redis killed", "redis restarted", "redis stopped"),
)
_REDIS_STOPPED_S = (5.0, 20.0)
CAUGHT_UP_S = 3.0
"""The lag below which a topology has caught up: the newest tuple waited for at most so long."""
RECOVERED_WITHIN_S = 600.0
"""After this time without recovery the soak stops waiting, and the verdict says so."""
_AFTER_THE_LOAD_S = 600.0
"""How long it may take when nothing else goes wrong and nothing new arrives."""
_SETTLING_S = 1.0


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    at: float
    """Unix seconds."""
    recovered_at: float | None
    """When the topology had caught up again; None if it did not in time."""


class NotNow(Exception):
    """There is nothing to break at this moment: what was broken before is still coming back."""


class Faults(threading.Thread):
    """Breaks something every `every_s` seconds, but never before the fault before it is repaired.

    FILE gets one JSON object per fault.
    """

    def __init__(self, product: Product, commits: CommitWatch, seed: int, every_s: float, file: Path) -> None:
        super().__init__(name="faults", daemon=True)
        self._product, self._commits, self._every_s, self._file = product, commits, every_s, file
        self._chance = random.Random(f"faults {seed}")
        self._ending = threading.Event()
        self._give_up_at = float("inf")
        break_it: tuple[Callable[[], None], ...] = (
            self._driver,
            self._java,
            self._python_worker,
            lambda: self._service("worker"),
            lambda: self._service("beat"),
            lambda: self._service("web"),
            lambda: self._redis(KILLED),
            lambda: self._redis(TERMINATED),
            lambda: self._redis(STOPPED),
        )
        self._kinds: Mapping[str, Callable[[], None]] = dict(zip(KINDS, break_it, strict=True))
        self.done: list[Fault] = []
        self.error: BaseException | None = None

    @property
    def all_kinds_happened(self) -> bool:
        return {fault.kind for fault in self.done} == set(KINDS)

    def run(self) -> None:
        try:
            waiting: list[str] = []
            due = time.monotonic() + self._every_s / 2
            while not self._ending.wait(max(0.0, due - time.monotonic())):
                # Not at the same moment of every minute.
                due = max(due, time.monotonic()) + self._every_s * self._chance.uniform(0.8, 1.2)
                if not waiting:
                    waiting = list(self._kinds)
                    self._chance.shuffle(waiting)
                self._inject(waiting.pop())
        except BaseException as error:
            self.error = error
            raise

    def stop_breaking(self) -> None:
        """Nothing else is broken from now on."""
        self._ending.set()

    def end(self) -> None:
        """Returns when what was broken last is repaired, or was given up."""
        self._ending.set()
        self._give_up_at = time.monotonic() + _AFTER_THE_LOAD_S
        if self.is_alive():
            self.join()

    def _inject(self, kind: str) -> None:
        at = time.time()
        while not self._ending.is_set():
            try:
                at = time.time()
                self._kinds[kind]()
                break
            except NotNow:
                self._ending.wait(0.2)
        else:
            return
        recovered = None
        give_up_at = time.monotonic() + RECOVERED_WITHIN_S
        while recovered is None and time.monotonic() < min(give_up_at, self._give_up_at):
            recovered = self._commits.caught_up(at + _SETTLING_S, CAUGHT_UP_S, 1.0)
        fault = Fault(kind, at, recovered)
        self.done.append(fault)
        with self._file.open("a") as noted:
            noted.write(json.dumps(asdict(fault)) + "\n")

    def _driver(self) -> None:
        job = self._job()
        job.kill()
        self._wait_for_another(job)

    def _java(self) -> None:
        job = self._job()
        machines = [p for p in job.children(recursive=True) if p.name() == "java"]
        if not machines:
            raise NotNow
        for machine in machines:
            machine.kill()
        self._wait_for_another(job)

    def _python_worker(self) -> None:
        """One that executes tasks, or the one that plans batches."""
        workers = []
        for process in self._job().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if any("pyspark" in word for word in process.cmdline()) and process.name() != "java":
                    workers.append(process)
        if not workers:
            raise NotNow
        with suppress(psutil.NoSuchProcess):
            self._chance.choice(sorted(workers, key=lambda process: process.pid)).kill()

    def _service(self, name: str) -> None:
        if not self._product.is_ready(name):
            raise NotNow
        self._product.kill(name)
        deadline = time.monotonic() + RECOVERED_WITHIN_S
        while time.monotonic() < min(deadline, self._give_up_at) and not self._product.is_ready(name):
            time.sleep(0.1)

    def _redis(self, number: int) -> None:
        if not self._product.is_ready("redis"):
            raise NotNow
        self._product.interrupt_redis(number, self._chance.uniform(*_REDIS_STOPPED_S))

    def _job(self) -> psutil.Process:
        job = self._product.job()
        if job is None:
            raise NotNow
        return job

    def _wait_for_another(self, job: psutil.Process) -> None:
        """Until the supervisor has launched the next one: a last commit may still become visible."""
        deadline = time.monotonic() + RECOVERED_WITHIN_S
        while time.monotonic() < min(deadline, self._give_up_at):
            now = self._product.job()
            if now is not None and now.pid != job.pid:
                return
            time.sleep(0.05)
