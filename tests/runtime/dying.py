"""The job's program, which kills itself at one point of a batch that reads files.

    python -m tests.runtime.dying run ...

`DIES_AT` in its environment names the point. `planned`: Spark has begun the batch, and nothing of it is read;
`written`: its tasks have read the files and written runs and results, none of them forced to the disk;
`unnamed`: all of them are, and the manifest is written but has no name yet; `committed`: it has, and the
results are hidden; `shown`: they are not any more, and nobody has been told. The last line on its standard
output says `died at POINT in batch N`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs.__main__ import main
from jobs.driver.batch_protocol import BatchProtocol
from jobs.recovery.manifest import CommitLog, Manifest
from jobs.sources.planner import PlannedBatch
from jobs.storage.disk import Disk, using

DIES_AT = "MILLRACE_TEST_DIES_AT"
POINTS = ("planned", "written", "unnamed", "committed", "shown")
BEFORE_COMMIT = POINTS[:3]
OF_FILES = ("r", "s")
"""Streams whose tuples lie in files."""
_point = os.environ.get(DIES_AT, "")
_dying: list[int] = []
"""The batch that is the last one."""


def _reach(point: str) -> None:
    if _dying and point == _point:
        print(f"died at {point} in batch {_dying[0]}", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


class _Watched(Disk):
    def rename(self, old: Path, new: Path) -> None:
        if new.parent.name == "commits":
            _reach("unnamed")
        super().rename(old, new)


def _before(point: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def reached(*arguments: Any) -> Any:
        _reach(point)
        return method(*arguments)

    return reached


def _behind(point: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def done(*arguments: Any) -> Any:
        answer = method(*arguments)
        _reach(point)
        return answer

    return done


_work = BatchProtocol.work


def _working(protocol: BatchProtocol, batch: int, planned: PlannedBatch) -> None:
    if all(planned.rows.get(stream) for stream in OF_FILES):
        _dying.append(batch)
    _reach("planned")
    _work(protocol, batch, planned)
    # Until here in a batch that reads files of some streams only.
    _dying.clear()


def _written(commit: Callable[[BatchProtocol, Manifest, Any], None]) -> Callable[..., None]:
    return _before("written", _behind("shown", commit))


if __name__ == "__main__":
    BatchProtocol.work = _working  # type: ignore[method-assign]
    BatchProtocol._commit = _written(BatchProtocol._commit)  # type: ignore[method-assign]
    CommitLog.write = _behind("committed", CommitLog.write)  # type: ignore[method-assign]
    with using(_Watched()):
        sys.exit(main(sys.argv[1:]))
