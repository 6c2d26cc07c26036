"""The product's processes: their order, what each needs, how all end."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import redis

from backend.run import redis_server, strays
from backend.run.console import say
from backend.run.guard import Guard
from backend.run.job_news import JobNews
from backend.run.keeper import Keeper, Wanted
from backend.run.parts import Part
from backend.run.probes import answers, is_healthy, redis_client, works
from backend.run.setting import Setting, Unusable, free_port

_ROOT = Path(__file__).resolve().parents[2]
_LOOK_SECONDS = 0.1
_REDIS_LOOK_SECONDS = 1.0
_SLOW_SECONDS = 60.0
"""Whoever waits for a part for longer is told that it only takes long."""
_COMMAND_TRIES = 3
"""Of a command that fails while Redis answers: else Redis is the reason."""
DEMO_TOPOLOGY = "flights"
_CELERY = (sys.executable, "-m", "celery", "-A", "backend.celery:app")


class CannotGoOn(Exception):
    """A part cannot be started at all: which one, and what it wrote last."""

    def __init__(self, why: str, log: Path, lines: list[str]) -> None:
        shown = "".join(f"\n    {line}" for line in lines)
        super().__init__(f"{why}; the end of {log}:{shown}")


def web_command(host: str, port: int) -> list[str]:
    """What serves the pages and the API."""
    command = [sys.executable, "-m", "uvicorn", "backend.asgi:application", "--host", host]
    # Live pages hold their connections for ever.
    options = ["--no-access-log", "--lifespan", "off", "--timeout-graceful-shutdown", "2"]
    # Whose X-Forwarded-For is believed says MILLRACE_TRUSTED_PROXIES (backend.http.proxies), not uvicorn.
    serving = ["--http", "backend.http.serving:Connection", "--no-proxy-headers"]
    return [*command, "--port", str(port), *serving, *options]


class Product:
    """Starts and keeps all parts; `start`, `watch` and `end` are called by one thread."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._keepers: list[Keeper] = []
        self._guard: Guard | None = None
        self._environment = {
            **os.environ,
            "MILLRACE_HOME": str(setting.home),
            "MILLRACE_DEMO": "1" if setting.demo else "0",
            strays.MARK: str(setting.home),
            "DJANGO_SETTINGS_MODULE": "backend.settings",
            "PYTHONUNBUFFERED": "1",
        }

    def stop(self) -> None:
        """Make `start` and `watch` return soon; `end` does the rest.

        Told once more, it ends without waiting for any part.
        """
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    def start(self) -> None:
        """Starts everything, each part when those that it needs are ready.

        Raises `CannotGoOn` when one cannot be started, with what it wrote last.
        """
        self._guard = self._new_guard()
        left = strays.end_in_order(self._setting.home, self._stopping)
        if left:
            say("cleanup", f"ended {left} processes that an earlier run left behind")
        for old in self._logs.glob("*.log"):
            if old.stem != "guard":
                old.unlink()
        self._start_redis()
        self._manage("migrate", "migrate", "--noinput", "--verbosity", "0")
        self._say("database", "migrated")
        if self._setting.demo:
            self._manage("demo", "create_demo", "--topology", DEMO_TOPOLOGY)
            self._say("demo", "account, streams and queries are there")
        worker = [*_CELERY, "worker", "--concurrency", "2", "--without-gossip", "--without-mingle"]
        self._start("worker", worker, lambda _: works(self._redis_url))
        # A killed beat leaves its file of the process behind; it needs none.
        beat = [*_CELERY, "beat", "--schedule", str(self._setting.home / "beat"), "--pidfile", ""]
        self._start("beat", beat, lambda part: part.has_said(" is starting"))
        host, port = self._setting.host, self._setting.port
        local = "127.0.0.1" if host == "0.0.0.0" else f"[{host}]" if ":" in host else host
        self._start("web", web_command(host, port), lambda _: is_healthy(f"http://{local}:{port}/healthz"))
        if self._setting.demo:
            feeder = [sys.executable, "-m", "backend.demo.feed"]
            self._start("feeder", feeder, lambda part: part.has_said("feeding"))
        if self._stopping.is_set():
            return
        say("", "")
        say("Millrace", f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0', '::1') else host}:{port}")
        if self._setting.demo:
            password = os.environ.get("MILLRACE_DEMO_PASSWORD", "millrace")
            say("account", f"demo, password {password}")
        say("", "Ctrl-C stops everything; the next `make run` continues.")

    def watch(self) -> None:
        """Watch the parts until told to stop.

        Raises `CannotGoOn` when a part cannot be started again.
        """
        client = redis_client(self._redis_url)
        news = JobNews(client, DEMO_TOPOLOGY)
        is_there, look_at = True, time.monotonic()
        while not self._stopping.wait(_LOOK_SECONDS):
            self._check()
            if time.monotonic() < look_at:
                continue
            was_there, is_there = is_there, answers(self._redis_url)
            if is_there != was_there:
                say("redis", "answers again" if is_there else "does not answer; everything waits for it")
            if is_there and self._setting.demo:
                for line in news.lines():
                    say("job", line)
            look_at = time.monotonic() + _REDIS_LOOK_SECONDS

    def end(self) -> None:
        """Ends everything in the opposite order; nothing is left when it returns."""
        self._stopping.set()
        if self._keepers:
            say("stopping", "")
        for keeper in self._keepers[:0:-1]:
            keeper.end(self._hurry)
        strays.end_jobs(self._setting.home, self._hurry)
        for keeper in self._keepers[:1]:
            keeper.end(self._hurry)
        strays.end_all(self._setting.home, self._hurry)
        if self._guard is not None:
            self._guard.dismiss()
        if self._keepers:
            say("stopped", "")

    @property
    def _redis_url(self) -> str:
        return self._environment["REDIS_URL"]

    @property
    def _logs(self) -> Path:
        return self._setting.home / "logs"

    def _new_guard(self) -> Guard:
        return Guard(self._setting.home, self._setting.lock, self._logs / "guard.log")

    def _check(self) -> None:
        """Raise `CannotGoOn` if a part cannot be started.

        Looks after the guard too, which is no part: it has to outlive them.
        """
        for keeper in self._keepers:
            if keeper.failure is not None:
                raise CannotGoOn(keeper.failure, keeper.log, keeper.last_lines(15))
        if self._guard is not None and not self._guard.is_running:
            say("guard", "ended; it is started again")
            self._guard = self._new_guard()

    def _say(self, part: str, what: str) -> None:
        if not self._stopping.is_set():
            say(part, what)

    def _start_redis(self) -> None:
        """Redis is the first part, so the last to end: the job says its last words to it."""
        given = self._setting.redis_url
        if given is not None:
            self._environment["REDIS_URL"] = given
            try:
                redis_client(given).ping()
            except (redis.RedisError, ValueError) as error:
                raise Unusable(
                    f"REDIS_URL: found no Redis there ({error}), expected redis://host:port/0"
                ) from error
            say("redis", "the one that REDIS_URL names")
            return
        port = free_port()
        folder = self._setting.home / "redis"
        folder.mkdir(parents=True, exist_ok=True)
        self._environment["REDIS_URL"] = f"redis://127.0.0.1:{port}/0"
        options = {
            "--port": str(port),
            "--bind": "127.0.0.1",
            "--dir": str(folder),
            # The log of changes loses at most a second when the machine stops.
            "--appendonly": "yes",
            "--save": "",
            "--daemonize": "no",
            # A title is written over the environment, by which the process is found.
            "--set-proc-title": "no",
        }
        command = [redis_server.executable(), *(word for pair in options.items() for word in pair)]
        self._start("redis", command, lambda _: answers(self._redis_url), f"127.0.0.1:{port}")

    def _start(
        self, name: str, command: list[str], is_ready: Callable[[Part], bool], place: str = ""
    ) -> None:
        """Start the part and wait until it is ready or the supervisor is told to stop."""
        if self._stopping.is_set():
            return
        keeper = Keeper(
            Wanted(name, command, is_ready, place),
            self._environment,
            _ROOT,
            self._logs / f"{name}.log",
            self._stopping,
            # Redis itself needs nothing; nothing else works without it.
            (lambda: False) if name == "redis" else (lambda: not answers(self._redis_url)),
        )
        self._keepers.append(keeper)
        keeper.start()
        tell_at = time.monotonic() + _SLOW_SECONDS
        while not keeper.ready.wait(_LOOK_SECONDS) and not self._stopping.is_set():
            self._check()
            if time.monotonic() > tell_at:
                say(name, f"is still starting; it writes to {keeper.log}")
                tell_at += _SLOW_SECONDS

    def _manage(self, name: str, *words: str) -> None:
        """Run a management command to its end, again if it fails.

        Each changes nothing when done twice. Raises `CannotGoOn` when it fails always.
        """
        tries = 0
        while not self._stopping.is_set():
            command = [sys.executable, "manage.py", *words]
            part = Part(name, command, self._environment, _ROOT, self._logs / f"{name}.log")
            while (code := part.code()) is None:
                if self._stopping.wait(_LOOK_SECONDS):
                    part.end(self._hurry)
                    return
                self._check()
            if code == 0:
                return
            if answers(self._redis_url):
                tries += 1
            if tries >= _COMMAND_TRIES:
                raise CannotGoOn(
                    f"{name} ended with code {code}, {tries} times", part.log, part.last_lines(15)
                )
            say(name, f"ended with code {code}; it is done again")
            self._stopping.wait(_REDIS_LOOK_SECONDS)
