"""End processes of a supervisor that is gone: `python -m backend.run.guard HOME`.

It waits for the end of its standard input, which only the supervisor holds open: that comes however the
supervisor ends, by `kill -9` too. It also holds the supervisor's lock on HOME, so the next `make run` waits
until everything has ended. After an orderly end there is nothing left for it to do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from backend.run import strays
from backend.run.parts import NEVER

_ROOT = Path(__file__).resolve().parents[2]


class Guard:
    """The process, as the supervisor sees it."""

    def __init__(self, home: Path, lock: IO[str], log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        # It must not count as one of those that it ends.
        environment = {name: value for name, value in os.environ.items() if name != strays.MARK}
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "backend.run.guard", str(home)],
                cwd=_ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(lock.fileno(),),
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def dismiss(self) -> None:
        """Returns when it has seen that nothing is left."""
        assert self._process.stdin is not None  # a pipe was asked for
        self._process.stdin.close()
        self._process.wait()


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    strays.end_in_order(Path(sys.argv[1]), NEVER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
