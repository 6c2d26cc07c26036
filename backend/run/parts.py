"""One process of the product: started, looked at, stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

TERM_SECONDS = 12.0
"""A part that was told to end has this long before it is killed."""
_LOOK_SECONDS = 0.05
NEVER = threading.Event()
"""Nobody is in a hurry."""


class Part:
    """A child process that writes to a log.

    It gets a session of its own, so that Ctrl-C in the terminal reaches the supervisor alone and the
    parts end in order; and so that what it started is found when it dies.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        log: Path,
    ) -> None:
        """Raises `OSError` if it cannot be started."""
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._log_begins = output.tell()
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
        return self.code() is None

    def code(self) -> int | None:
        """Its exit code once it has ended, negative for a signal.

        What is left of its group then is killed: a Celery worker's children would work on beside those
        of the next one.
        """
        with contextlib.suppress(ChildProcessError, ProcessLookupError):  # It was waited for already.
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if self._process.returncode is None and os.waitid(os.P_PID, self.pid, flags) is not None:
                # As long as nobody has waited for its leader, the group's number is not used again.
                os.killpg(self.pid, signal.SIGKILL)
        return self._process.poll()

    def has_said(self, words: str) -> bool:
        """Whether the words are in what it has written since it was started."""
        return words in self._text()

    def last_lines(self, count: int) -> list[str]:
        return self._text().splitlines()[-count:]

    def end(self, hurry: threading.Event = NEVER) -> None:
        """Ask the part to end, and kill it if it does not.

        Killed at once, too, as soon as the supervisor is told to hurry.
        """
        if self.is_running:
            self._process.terminate()
            # One that is stopped hears nothing before it goes on.
            self._process.send_signal(signal.SIGCONT)
        give_up_at = time.monotonic() + TERM_SECONDS
        while self.is_running:
            if hurry.wait(_LOOK_SECONDS) or time.monotonic() > give_up_at:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
                self._process.wait()

    def _text(self) -> str:
        with self.log.open("rb") as written:
            written.seek(self._log_begins)
            return written.read().decode(errors="replace")
