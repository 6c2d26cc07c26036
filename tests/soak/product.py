"""The product under soak: what `make run` starts, without the demo.

Its supervisor starts again what dies. The streaming job is nobody's child: the Celery worker launches it and
looks after it.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import redis

from backend.run import strays
from tests.started import StartedProduct

TOPOLOGY = "soak"


class Product:
    """Redis, web, Celery worker and beat on a folder of their own; nothing is left after `end`."""

    def __init__(self, home: Path, parallelism: int = 2) -> None:
        settings = {"MILLRACE_DEMO": "0", "MILLRACE_RESULT_FILES": "1"}
        self._started = StartedProduct(home, **settings, MILLRACE_PARALLELISM=str(parallelism))
        self._ending = threading.Event()
        self.home, self.url = self._started.home, self._started.url

    @property
    def redis_port(self) -> int:
        return self._started.redis_port

    @property
    def checkpoint(self) -> Path:
        return self.home / "topologies" / TOPOLOGY / "checkpoint"

    @property
    def output(self) -> Path:
        """Results and dead letters."""
        return self.home / "topologies" / TOPOLOGY / "out"

    def start(self) -> str:
        """Returns the token of an operator once everything is ready."""
        self._started.wait_until_up()
        return self._started.command("-m", "tests.soak.account").strip()

    def end(self) -> None:
        """Ends everything. Raises `RuntimeError` if that goes wrong."""
        self._ending.set()
        code = self._started.stop()
        if code != 0 or self._started.left():
            console = "".join(self._started.lines)
            raise RuntimeError(f"ended with {code}, left {self._started.left()}: {console}")

    def kill(self, name: str) -> None:
        """SIGKILL to a service, which the supervisor starts again."""
        self._started.kill(name)

    def interrupt_redis(self, number: int, seconds: float) -> None:
        """A signal for Redis: it is started again on what it had on disk, or, when it was only stopped, goes
        on after so long."""
        pid = self._started.pid("redis")
        os.kill(pid, number)
        if number == STOPPED:
            self._ending.wait(seconds)
            os.kill(pid, signal.SIGCONT)

    def is_ready(self, name: str) -> bool:
        return self._started.is_ready(name)

    def job(self) -> psutil.Process | None:
        """The driver of the topology's job, if it runs."""
        with suppress(FileNotFoundError, json.JSONDecodeError, psutil.NoSuchProcess):
            process = psutil.Process(json.loads((self.checkpoint / "job.json").read_bytes())["pid"])
            if process.status() != psutil.STATUS_ZOMBIE and "jobs" in process.cmdline():
                return process
        return None

    def processes(self) -> Iterator[tuple[str, psutil.Process]]:
        """All that belongs to the product, each with its kind."""
        for process in strays.belonging_to(self.home):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                yield _kind(process), process

    def exchanges(self) -> tuple[Path, ...]:
        """The directories in shared memory of this topology's jobs, also of those that were killed."""
        with suppress(FileNotFoundError):
            name = json.loads((self.checkpoint / "checkpoint.json").read_bytes())["id"][:8]
            return tuple(Path("/dev/shm").glob(f"millrace-*-{name}-*"))
        return ()

    def redis(self) -> redis.Redis:
        return self._started.redis()

    def pid(self, name: str) -> int:
        """The process of a service that was ready last."""
        return self._started.pid(name)

    def run(self, *words: str) -> str:
        """What a Python command prints that runs in the product's environment. Raises if it fails."""
        return self._started.command(*words)


def _kind(process: psutil.Process) -> str:
    words = process.cmdline()
    text = " ".join(words)
    kinds = {
        "redis-server": "redis",
        "pyspark.daemon": "python workers",
        "pyspark.worker": "python workers",
        "pyspark.sql.worker": "python workers",
        "SparkSubmit": "java",
        "-m jobs run": "driver",
        "python_streaming_source_runner": "planner",
        "uvicorn": "web",
        " worker ": "celery worker",
        " beat ": "celery beat",
    }
    return next((kind for mark, kind in kinds.items() if mark in text), "other")


TERMINATED, KILLED, STOPPED = signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP
