"""Failures that tasks describe themselves, so that the driver can react.

Spark tells the driver of a failed task with a hundred lines of text. A task that raises therefore says, on
one line of that text, where it was, for whose queries, and what it raised. What comes from outside of it
(files, memory, servers, state that a person has to mend) is raised as it is: it is nobody's tuple.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from jobs.expressions.guarded import one_line
from optimizer.algebra.errors import InputError

_MARK = "task failure: "
_TOLD = re.compile(rf"{_MARK}(\{{.*\}})\s*$", re.MULTILINE)
_LOST = "Python worker exited unexpectedly"
_ENDED = "a worker process ended without a word"
_OUTSIDE = (OSError, MemoryError, ImportError, InputError)
_SERVERS = ("redis", "confluent_kafka", "botocore", "aiobotocore", "s3fs", "fsspec", "aiohttp", "py4j")
"""Packages whose errors tell of a server."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task failed."""

    where: str
    """What it was doing; empty if its process ended without a word."""
    error: str
    """What was raised, on one line."""
    queries: tuple[str, ...] = ()
    """For which queries; none if for all of them, or if nobody knows."""
    every_tuple: bool = False
    """True if no tuple had a part in it: what the queries ask for cannot be made ready."""
    away: bool = False
    """True if a server did not answer: the same tuples may be worked on later."""

    @property
    def lost(self) -> bool:
        """True if no task told it, because the process ended."""
        return self.error == _ENDED

    def __str__(self) -> str:
        return f"{self.error}, {self.where}" if self.where else self.error


class TaskFailed(RuntimeError):
    """That the tasks of a batch fail, and would fail again on the same tuples."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Told(Exception):
    """What a task raises in place of what was raised in it."""

    def __init__(self, failure: Failure) -> None:
        document = [failure.where, failure.error, list(failure.queries), failure.every_tuple, failure.away]
        super().__init__(_MARK + json.dumps({"failure": document}))


class telling:
    """A context in which an error is told with where it was raised.

    Of nested contexts the innermost tells.

    >>> try:
    ...     with telling("probing", ["q"], "S"):
    ...         raise ValueError("no such key")
    ... except Told as error:
    ...     print(told_by(f"Job aborted:\\n  jobs.failures.task_failure.Told: {error}\\n\\tat java.lang"))
    ValueError: no such key, probing S
    """

    __slots__ = ("_doing", "_every_tuple", "_queries", "_what")

    def __init__(
        self, doing: str, queries: Collection[str] = (), what: object = "", *, every_tuple: bool = False
    ) -> None:
        self._doing = doing
        self._what = what
        self._queries = queries
        self._every_tuple = every_tuple

    def __enter__(self) -> None:
        if _trail.folder is not None:
            _trail.leave(self._where, self._queries)

    @property
    def _where(self) -> str:
        return f"{self._doing} {self._what}".rstrip()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or not is_told(error):
            return
        failure = Failure(self._where, one_line(error), tuple(sorted(self._queries)), self._every_tuple)
        raise Told(failure) from error


def is_told(error: BaseException) -> bool:
    """False for what comes from outside of the task, is told already, or is no error.

    >>> is_told(KeyError("x")), is_told(OSError("disk full")), is_told(KeyboardInterrupt())
    (True, False, False)
    """
    if isinstance(error, (Told, *_OUTSIDE)) or type(error).__module__.split(".")[0] in _SERVERS:
        return False
    # Polars' panics are no `Exception`, nor is all that a function may raise.
    return not isinstance(error, (KeyboardInterrupt, GeneratorExit))


def told_by(said: str) -> Failure | None:
    """What the text of a Spark error tells of a task, or None.

    >>> told_by("Python worker exited unexpectedly (crashed)").error
    'a worker process ended without a word'
    """
    found = _TOLD.findall(said)
    if found:
        where, error, queries, every_tuple, away = json.loads(found[-1])["failure"]
        return Failure(where, error, tuple(queries), every_tuple, away)
    if _LOST in said:
        return Failure("", _ENDED)
    return None


class _Trail:
    """What this process is doing, in a file, in case it ends without a word."""

    def __init__(self) -> None:
        self.folder: Path | None = None

    def leave(self, where: str, queries: Collection[str]) -> None:
        assert self.folder is not None
        self.path.write_text(json.dumps([where, sorted(queries)]))

    @property
    def path(self) -> Path:
        assert self.folder is not None
        return self.folder / f"{os.getpid()}{_TRAIL}"


_TRAIL = ".doing"
_trail = _Trail()


@contextmanager
def leaving_trail(folder: str | None) -> Iterator[None]:
    """A context in which a process writes to the folder, if any, what it is doing."""
    if folder is None:
        yield
        return
    _trail.folder = Path(folder)
    try:
        yield
        _trail.path.unlink(missing_ok=True)
    finally:
        _trail.folder = None


def found_on_trail(failure: Failure, folder: Path) -> Failure:
    """What a process that ended was doing, if it alone left word of it.

    >>> found_on_trail(Failure("", "a worker process ended without a word"), Path("/nowhere")).where
    ''
    """
    done = [
        path for path in folder.glob(f"*{_TRAIL}") if not Path(f"/proc/{path.name.split('.')[0]}").exists()
    ]
    doing = {path.read_text() for path in done}
    if not failure.lost or len(doing) != 1:
        return failure
    where, queries = json.loads(doing.pop())
    return replace(failure, where=where, queries=tuple(queries))
