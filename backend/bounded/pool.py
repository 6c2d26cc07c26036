"""A pool of workers for requests of users.

A request gets a place in turn, is bounded, and is given up with its client.

Why no library: pebble and loky give tasks to killable processes from a first-come queue of their own,
with a thread in between. A fair queue that knows who left and a bound on processor time for each task
had to be written around either, and what was left of them is one pipe for each process (`worker`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from math import inf
from typing import ParamSpec, TypeVar

from django.conf import settings

from backend.bounded.caller import Caller
from backend.bounded.turns import Gone, Turns
from backend.bounded.worker import Failed, Limits, Lost, OutOfMemory, OutOfTime, Worker
from backend.errors import TooMuchWork, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

MOST_USES = 500
"""A worker is replaced after so much work, whatever its libraries have kept."""
_LOOK_SECONDS = 0.1
GRACE_SECONDS = 0.4
"""What is nearly done when its client goes is let be: a warm worker is worth more."""


_ADVICE = "join fewer streams at once, split the text into views, or write it shorter"


class Contested(OutOfTime):
    """It would have had more time, but others wait who have used less."""


class Pool:
    """Workers of one web process, started when first needed.

    Args:
        turns: gives at most as many places as there shall be workers.
        waits: whether its work waits for other machines, which says nothing of how hard it is.
        advice: what whoever asked for too much may do.
    """

    def __init__(self, turns: Turns, limits: Limits, waits: bool = False, advice: str = _ADVICE) -> None:
        self.turns = turns
        self.limits = limits
        self._waits = waits
        self._advice = advice
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def run(self, caller: Caller, function: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
        """What the function makes of the arguments, worked out in a worker.

        All of it travels between processes, so it is data, and the function is one of a module or of such
        data.

        Raises:
            TooMuchWork: it needs more time or memory than one request may use.
            TooManyAtOnce, Busy, Gone: see `Turns.place`; `Gone` also while it is worked at.
            Unavailable: its worker was killed, and its next one too.
        """
        try:
            return self.attempt(caller, self.limits.seconds, inf, function, arguments)
        except OutOfTime as error:
            raise TooMuchWork(
                "too-much-work",
                f"this needs more work than one request may use ({self.limits.seconds:g} s): {self._advice}",
            ) from error

    def attempt(
        self,
        caller: Caller,
        seconds: float,
        contested_s: float,
        function: Callable[..., T],
        arguments: tuple[object, ...],
    ) -> T:
        """As `run`, with less time.

        It has `contested_s` of it while others wait for the place who have used less lately.

        Raises `OutOfTime` where `run` raises `TooMuchWork` for it.
        """
        with self.turns.place(caller):
            try:
                return self._work(caller, seconds, contested_s, function, arguments)
            except Lost:
                # Somebody killed the worker. What it was at changes nothing, so it is done again, once.
                try:
                    return self._work(caller, seconds, contested_s, function, arguments)
                except Lost as error:
                    raise Unavailable(
                        "worker-lost", "the process that worked at this was killed; try again"
                    ) from error

    def warm(self) -> None:
        """Start a worker, so that no request has to wait for its imports."""
        worker = self._taken()
        self._give_back(worker, kept=True)

    def _work(
        self,
        caller: Caller,
        seconds: float,
        contested_s: float,
        function: Callable[..., T],
        arguments: tuple[object, ...],
    ) -> T:
        worker = self._taken()
        kept = False
        try:
            worker.begin(function, arguments, seconds)
            self._await(worker, caller, seconds, contested_s)
            answer: T = worker.answer()
            kept = True
            return answer
        except OutOfMemory as error:
            raise TooMuchWork(
                "too-much-memory",
                f"this needs more memory than a request may use ({self.limits.memory / 1e6:g} MB): "
                f"{self._advice}",
            ) from error
        except OutOfTime as error:
            if not (self._waits or isinstance(error, Contested)):
                _found_hard(caller)
            raise
        except (Lost, Gone):
            raise
        except Failed as error:
            kept = True
            raise RuntimeError(f"a bounded process failed:\n{error}") from None
        except Exception:
            # Raised by what was asked for, as anybody would; the worker is as good as before.
            kept = True
            raise
        finally:
            if worker.used_s > QUICK_SECONDS and not self._waits:
                _found_hard(caller)
            self._give_back(worker, kept)

    def _await(self, worker: Worker, caller: Caller, seconds: float, contested_s: float) -> None:
        began = time.monotonic()
        left: float | None = None
        while not worker.has_answered(_LOOK_SECONDS):
            now = time.monotonic()
            used = worker.used_s
            if used > seconds or now - began > self.limits.wall_seconds:
                raise OutOfTime
            if used > contested_s and self.turns.is_contested(caller, now - began):
                raise Contested
            if worker.grown > self.limits.memory:
                raise OutOfMemory
            if caller.gone.is_set():
                left = now if left is None else left
                if now - left >= GRACE_SECONDS:
                    raise Gone

    def _taken(self) -> Worker:
        with self._lock:
            if self._pid != os.getpid():
                # A fork of this process has no workers yet; these are its parent's.
                self._idle, self._pid = [], os.getpid()
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    return worker
                worker.end()
        return Worker(self.limits)

    def _give_back(self, worker: Worker, kept: bool) -> None:
        if not kept or worker.done >= MOST_USES or not worker.is_alive:
            worker.end()
            return
        with self._lock:
            self._idle.append(worker)

    def close(self) -> None:
        """Ends the workers that have nothing to do."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    @property
    def pids(self) -> list[int]:
        """Of workers that wait for work."""
        with self._lock:
            return [worker.pid for worker in self._idle]


MOST_WAITING = 64
"""Requests; the next one is told to come again."""
PATIENCE_SECONDS = 30.0
"""For a worker, before the client is told to come again."""
WALL_PER_CPU = 3.0
"""Wall time for each second of processor time: others use the processors too."""
READ_SECONDS = 3.0
"""Of processor time; the longest text takes one."""
QUICK_PROCESSES = 2
"""What is quick never waits behind what is not."""
QUICK_SECONDS = 1.0
"""Of processor time. Whoever takes longer begins again behind those who take long."""
CONTESTED_SECONDS = 0.3
"""The same while others wait who have used less lately."""
MANY_JOINED = 7
"""Streams whose plan, if all are joined with all, takes longer than that: six take 0.1 s, seven 0.4 s."""
READ_PROCESSES = 2
"""Texts are read while they are typed: never behind a plan."""
ASKING_PROCESSES = 2
"""For what asks other machines, whose silence must keep nobody from reading and planning."""
ASKING_SECONDS = 10.0
"""Of wall time, with all that is asked on the way, and of patience for a worker before that."""
ASKED_CPU_SECONDS = 5.0
"""Of processor time, to read what they answer; the client's library takes one to load."""
_SETTINGS = "MILLRACE_"
"""What names of the deployment's settings begin with."""
HARD_SECONDS = 60.0
"""An account whose request was not quick skips the quick workers for so long."""


@cache
def reading() -> Pool:
    """The pool for texts that are checked and formatted as they are typed."""
    return _pool(READ_PROCESSES, min(READ_SECONDS, settings.MILLRACE_WORK_SECONDS), 1)


@cache
def quick() -> Pool:
    """The pool for plans that take no long wait; see `plan`."""
    return _pool(QUICK_PROCESSES, QUICK_SECONDS, 2)


@cache
def slow() -> Pool:
    """For what takes long, behind everything else on this machine."""
    return _pool(int(settings.MILLRACE_WORK_PROCESSES), settings.MILLRACE_WORK_SECONDS, 10)


def _pool(processes: int, seconds: float, niceness: int) -> Pool:
    turns = Turns(processes, int(settings.MILLRACE_WORK_PER_ACCOUNT), MOST_WAITING, PATIENCE_SECONDS)
    return Pool(turns, Limits(seconds, WALL_PER_CPU * seconds, int(settings.MILLRACE_WORK_BYTES), niceness))


@cache
def asking() -> Pool:
    """The pool for what waits for another machine's answer."""
    turns = Turns(ASKING_PROCESSES, int(settings.MILLRACE_WORK_PER_ACCOUNT), MOST_WAITING, ASKING_SECONDS)
    limits = Limits(ASKED_CPU_SECONDS, ASKING_SECONDS, int(settings.MILLRACE_WORK_BYTES), 1)
    return Pool(turns, limits, waits=True, advice="another machine's answer is too large")


def ask(caller: Caller, function: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
    """What the function makes of another machine's answer.

    Requests that wait for one hold up no others. It works under this process's own settings as they are
    now: a worker has those of the server that forked it.

    Raises `OutOfTime` without an answer, and what `Pool.run` raises otherwise.
    """
    pool = asking()
    environment = {name: value for name, value in os.environ.items() if name.startswith(_SETTINGS)}
    answer: T = pool.attempt(caller, pool.limits.seconds, inf, _under, (environment, function, arguments))
    return answer


def _under(environment: dict[str, str], function: Callable[..., T], arguments: tuple[object, ...]) -> T:
    for name in [name for name in os.environ if name.startswith(_SETTINGS) and name not in environment]:
        del os.environ[name]
    os.environ.update(environment)
    return function(*arguments)


_hard_at: dict[int | None, float] = {}
"""By account: when something of it used more than `QUICK_SECONDS` last."""


def _found_hard(caller: Caller) -> None:
    now = time.monotonic()
    _hard_at[caller.account] = now
    if len(_hard_at) > 10_000:
        for account in [one for one, at in list(_hard_at.items()) if now - at > HARD_SECONDS]:
            _hard_at.pop(account, None)


def plan(caller: Caller, function: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
    """What the function makes of the arguments: plans, previews and conversions.

    Most take a moment. What takes longer is begun again in the slow pool, and for a minute all of the
    account's is worked out there, so that whoever asks for easy things never waits for hard ones.

    Raises what `Pool.run` raises.
    """
    if time.monotonic() - _hard_at.get(caller.account, -HARD_SECONDS) >= HARD_SECONDS:
        with suppress(OutOfTime):
            return quick().attempt(caller, QUICK_SECONDS, CONTESTED_SECONDS, function, arguments)
    return slow().run(caller, function, *arguments, **_)


def plan_join(caller: Caller, joined: int, function: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
    """Plan a query over so many inputs.

    Many are not tried in the quick pool first.

    Raises what `Pool.run` raises.
    """
    if joined < MANY_JOINED:
        return plan(caller, function, *arguments, **_)
    return slow().run(caller, function, *arguments, **_)


def warm() -> None:
    """Start the server that workers are forked from, which imports the optimizer."""
    for pool in (reading(), quick()):
        pool.warm()
