"""Keep one part of the product running: start it again whenever it ends."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.run.console import say
from backend.run.parts import Part

_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast and how often a part is started again."""

    first_s: float = 0.5
    """Before the first start after an end; every further one doubles it."""
    longest_s: float = 30.0
    steady_s: float = 30.0
    """A part that was ready for so long begins at the first pause again."""
    tries: int = 4
    """So many starts in a row that never made it ready are too many."""
    patience_s: float = 300.0
    """A start that takes longer has failed. Nothing is that slow, not even on a busy machine."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A part as it shall be."""

    name: str
    command: Sequence[str]
    is_ready: Callable[[Part], bool]
    """Whether it can do its work; asked until it says yes. Must answer within seconds."""
    place: str = ""
    """Where others reach it, to be told."""


_USUAL = Pace()


class Keeper(threading.Thread):
    """Keeps one part running until `stopping`, or until it cannot be started at all.

    Args:
        wanted: the part.
        environment, directory, log: what it is given.
        stopping: no further start once this is set.
        is_excused: asked when a start failed: whether that is not the part's fault, because something
            that it needs is away. Such a start does not count.
    """

    def __init__(
        self,
        wanted: Wanted,
        environment: Mapping[str, str],
        directory: Path,
        log: Path,
        stopping: threading.Event,
        is_excused: Callable[[], bool] = lambda: False,
        pace: Pace = _USUAL,
    ) -> None:
        super().__init__(name=f"keeper of {wanted.name}", daemon=True)
        self._wanted, self._environment, self._directory = wanted, environment, directory
        self._stopping, self._is_excused, self._pace = stopping, is_excused, pace
        self._was_ready = False
        self._part: Part | None = None
        self.log = log
        self.ready = threading.Event()
        """Set once it was ready for the first time."""
        self.failure: str | None = None
        """Why it cannot be started; nobody tries any more."""

    def run(self) -> None:
        falls = failures = 0
        while not self._stopping.is_set():
            ready_at, how = self._live()
            if self._stopping.is_set():
                return
            if ready_at is not None:
                failures = 0
                if time.monotonic() - ready_at >= self._pace.steady_s:
                    falls = 0
            elif not self._is_excused():
                failures += 1
                if failures >= self._pace.tries:
                    self.failure = (
                        f"{self._wanted.name} cannot be started: it {how}, {failures} times in a row"
                    )
                    return
            pause_s = min(self._pace.longest_s, self._pace.first_s * 2.0**falls)
            falls += 1
            say(self._wanted.name, f"{how}; it is started again in {pause_s:g} s")
            self._stopping.wait(pause_s)

    def last_lines(self, count: int) -> list[str]:
        """What the part wrote last."""
        return [] if self._part is None else self._part.last_lines(count)

    def end(self, hurry: threading.Event) -> None:
        """Ends the part; only after `stopping` was set."""
        self.join()
        if self._part is not None:
            self._part.end(hurry)

    def _live(self) -> tuple[float | None, str]:
        """One life of the part: when it was ready, None if it never was, and how it ended."""
        try:
            part = self._part = Part(
                self._wanted.name, self._wanted.command, self._environment, self._directory, self.log
            )
        except OSError as error:
            return None, f"could not be executed ({error.strerror})"
        began, ready_at = time.monotonic(), None
        while (code := part.code()) is None:
            if ready_at is None and self._wanted.is_ready(part):
                ready_at = time.monotonic()
                self._tell_ready(part)
            elif ready_at is None and time.monotonic() - began > self._pace.patience_s:
                part.end()
                return None, f"was not ready after {self._pace.patience_s:.0f} s"
            if self._stopping.wait(_LOOK_SECONDS):
                return ready_at, ""
        return ready_at, _how(code)

    def _tell_ready(self, part: Part) -> None:
        where = f" on {self._wanted.place}" if self._wanted.place else ""
        again = " again" if self._was_ready else ""
        say(self._wanted.name, f"ready{again}{where} (process {part.pid})")
        self._was_ready = True
        self.ready.set()


def _how(code: int) -> str:
    return f"ended with code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
