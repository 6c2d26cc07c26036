"""The product as `make run` starts it, with its console read: what is ready, and as which process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import redis

from backend.run import strays
from backend.run.setting import free_port

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 600.0
"""Longer than anything takes on the busiest machine; nothing is said about how fast it is."""
_LOOK_S = 0.02
_READY = re.compile(r"(?P<name>\w+) +ready(?: again)?(?: on \S+:(?P<port>\d+))? \(process (?P<pid>\d+)\)")


class StartedProduct:
    """`python -m backend.run` on a folder and ports of its own."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home.resolve()
        self.web_port = free_port()
        self.url = f"http://127.0.0.1:{self.web_port}"
        self.lines: list[str] = []
        """What it has said on its console."""
        self._pids: dict[str, int] = {}
        self._redis_port: int | None = None
        environment = {**os.environ, "PORT": str(self.web_port), "MILLRACE_HOME": str(self.home)}
        # A setting of whoever runs this must not reach another database or another Redis.
        for name in ("DATABASE_URL", "REDIS_URL"):
            environment.pop(name, None)
        self.environment = environment | settings
        self.process = subprocess.Popen(
            [sys.executable, "-m", "backend.run"],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, name="console", daemon=True)
        self._reader.start()

    def wait_until_up(self) -> None:
        self.wait_for(lambda: any(line.startswith("Millrace ") for line in self.lines))

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Raises `RuntimeError` with the console if it does not become so, or the supervisor ends first."""
        give_up_at = time.monotonic() + PATIENCE_S
        while not is_so():
            if self.process.poll() is not None or time.monotonic() > give_up_at:
                self._reader.join(1)
                raise RuntimeError(f"{self.process.poll()}: {''.join(self.lines)}")
            time.sleep(_LOOK_S)

    def pid(self, name: str) -> int:
        """The process of a part that was ready last."""
        return self._pids[name]

    def is_ready(self, name: str) -> bool:
        """Whether the process that was ready last still lives, and not as a zombie."""
        try:
            return psutil.Process(self._pids[name]).status() != psutil.STATUS_ZOMBIE
        except (KeyError, psutil.NoSuchProcess):
            return False

    def kill(self, *names: str) -> None:
        for name in names:
            os.kill(self._pids[name], signal.SIGKILL)

    @property
    def redis_port(self) -> int:
        assert self._redis_port is not None, "".join(self.lines)
        return self._redis_port

    @property
    def redis_url(self) -> str:
        return self.environment.get("REDIS_URL") or f"redis://127.0.0.1:{self.redis_port}/0"

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.redis_url, socket_timeout=10, socket_connect_timeout=2)

    def command(self, *words: str) -> str:
        """What a command of the product prints that works on the same database and Redis."""
        environment = self.environment | {
            "REDIS_URL": self.redis_url,
            "DJANGO_SETTINGS_MODULE": "backend.settings",
        }
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Tells it to end; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def left(self) -> list[psutil.Process]:
        """All that was started for it and still lives, the guard too."""
        mine = str(self.home)
        found = strays.belonging_to(self.home)
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if "backend.run.guard" in words and mine in words:
                found.append(process)
        return found

    def _read(self) -> None:
        assert self.process.stdout is not None  # a pipe was asked for
        for line in self.process.stdout:
            if found := _READY.match(line):
                self._pids[found["name"]] = int(found["pid"])
                if found["name"] == "redis" and found["port"]:
                    self._redis_port = int(found["port"])
            self.lines.append(line)
