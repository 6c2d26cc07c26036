"""The tests' streaming job, holding a lock on its checkpoint: two at once leave a file that says so."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path

from tests.api.runs.job_process import main

if __name__ == "__main__":
    checkpoint = Path(sys.argv[sys.argv.index("--checkpoint") + 1])
    run = sys.argv[sys.argv.index("--run") + 1]
    lock = (checkpoint / "lock").open("w")
    try:
        # The kernel lets go of it when this process ends, however it ends.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        (checkpoint / f"double-{run}").touch()
        raise
    (checkpoint / f"launched-{run}").touch()
    main()
