"""A process that works at one thing at a time and may be killed at any moment.

It is forked from a server that has imported the optimizer once, so that its successor is there in
hundredths of a second. It ends with the process that it works for, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from multiprocessing import connection
from multiprocessing.context import ForkServerContext
from typing import Any

import psutil
from django.conf import settings

_RESERVED = 2_000_000_000
"""Bytes of address space that libraries take without using them: threads, arenas."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one piece of work may use."""

    seconds: float
    """Of processor time."""
    wall_seconds: float
    memory: int
    """Bytes above what a worker has to begin with: resident ones as whoever waits sees them, and a few
    times as many of address space, which libraries reserve and leave alone, as the kernel does."""
    niceness: int = 0
    """How far it goes behind whoever waits for a page."""


class OutOfTime(Exception):
    """It used as much processor or wall time as it may."""


class OutOfMemory(Exception):
    """It needs more memory than it may have."""


class Failed(Exception):
    """The work raised an error that another process cannot be told; has its traceback."""


class Lost(Exception):
    """The worker died of something that it did not do itself, such as a kill."""


class Worker:
    """A handle of one process. Not for several threads at once."""

    def __init__(self, limits: Limits) -> None:
        here, there = _context().Pipe()
        self._connection = here
        arguments = (there, limits.memory, limits.niceness)
        self._process = _context().Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        there.close()
        self.done = 0
        """How much it has worked at."""
        self._watched = psutil.Process(self.pid)
        self._held, self._used = 0, 0.0

    @property
    def pid(self) -> int:
        assert self._process.pid is not None  # it was started
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def begin(self, function: Callable[..., object], arguments: tuple[object, ...], seconds: float) -> None:
        """Raises `Lost` if the worker is gone already."""
        self.done += 1
        self._held, self._used = self._resident(), self._processor_s()
        try:
            self._connection.send((function, arguments, seconds))
        except OSError as error:
            raise Lost from error

    def has_answered(self, within_s: float) -> bool:
        """True once there is an answer, or never will be one."""
        return bool(connection.wait([self._connection, self._process.sentinel], within_s))

    @property
    def grown(self) -> int:
        """Bytes that it holds more than when it began."""
        return self._resident() - self._held

    @property
    def used_s(self) -> float:
        """Processor time since it began."""
        return self._processor_s() - self._used

    def _processor_s(self) -> float:
        try:
            found = self._watched.cpu_times()
        except psutil.NoSuchProcess:
            return 0.0
        return float(found.user + found.system)

    def _resident(self) -> int:
        try:
            return int(self._watched.memory_info().rss)
        except psutil.NoSuchProcess:
            return 0

    def answer(self) -> Any:
        """What it worked out, or raises what that raised; waits for it.

        Raises `OutOfTime`, `OutOfMemory`, `Failed` or `Lost` too.
        """
        try:
            kind, value = self._connection.recv()
        except (EOFError, OSError) as error:
            self._process.join(5.0)
            if self._process.exitcode == -signal.SIGXCPU:
                raise OutOfTime from error
            raise Lost from error
        if kind == "raised":
            raise value
        return value

    def end(self) -> None:
        """Kills it, whatever it is at."""
        self._process.kill()
        self._process.join()
        self._connection.close()


_context_lock = threading.Lock()


def _context() -> ForkServerContext:
    with _context_lock:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([settings.MILLRACE_WORK_PRELOAD])
        return context


def _serve(mine: connection.Connection, memory: int, niceness: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.nice(niceness)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    most = psutil.Process().memory_info().vms + 2 * memory + _RESERVED
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    while True:
        try:
            function, arguments, seconds = mine.recv()
        except EOFError:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        # The kernel ends a process above its soft limit with SIGXCPU. It counts the ticks of its clock that
        # found the process working, on a busy machine half as many again as it worked: whoever waits for the
        # answer asks for exact times, and this is for when nobody does.
        soft = ceil(used.ru_utime + used.ru_stime + 2 * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
        try:
            answer = ("answered", function(*arguments))
        except MemoryError:
            answer = ("raised", OutOfMemory())
        except Exception as error:
            answer = ("raised", _told(error))
        mine.send(answer)
        # What was worked at may be large; the next task's limits are its own.
        del function, arguments, answer


def _told(error: Exception) -> Exception:
    """The error as another process can read it."""
    try:
        again = pickle.loads(pickle.dumps(error))
    except Exception:
        return Failed("".join(traceback.format_exception(error)))
    if type(error).__module__.partition(".")[0] in ("optimizer", "backend"):
        assert isinstance(again, Exception)
        return again
    return Failed("".join(traceback.format_exception(error)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # a worker has one
    parent.join()
    os._exit(0)
