"""One process of the product: started, asked whether it is ready, stopped."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TERM_S = 12.0
"""A part that was told to end has this long before it is killed."""


class PartEnded(Exception):
    """A part ended although nobody asked it to."""

    def __init__(self, part: Part, code: int) -> None:
        self.part = part
        self.code = code
        super().__init__(f"{part.name} ended with code {code}")


class Part:
    """A child process with a log of its own.

    It gets a session of its own too, so that Ctrl-C in the terminal reaches the supervisor alone
    and the parts end in order.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        log: Path,
        is_ready: Callable[[Part], bool] = lambda _: True,
    ) -> None:
        self.name = name
        self.log = log
        self._is_ready = is_ready
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=directory,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def is_ready(self) -> bool:
        """Whether it can do its work. Raises `PartEnded` if it never will."""
        self.check()
        return self._is_ready(self)

    def check(self) -> None:
        """Raises `PartEnded` if the process is gone."""
        code = self._process.poll()
        if code is not None:
            raise PartEnded(self, code)

    def has_said(self, words: str) -> bool:
        return words in self.log.read_text(errors="replace")

    def last_lines(self, count: int) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()[-count:]

    def end(self) -> None:
        """Asks it to end, and kills it if it does not."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            self._process.wait(TERM_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
