"""Processes whose memory the kernel bounds, all of them together: a control group.

Version 1 of the memory controller only, below the group that this process is in, so that whatever bounds
this process goes on to bound them. It takes the right to write there: root, or a delegated group.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.polling import polled

_MOUNT = Path("/sys/fs/cgroup/memory")
_SAMPLED_EVERY_S = 0.05
_ENDING_S = 60.0
_FOREVER = 1 << 62


class NoGroups(RuntimeError):
    """This machine has no memory controller of version 1, or does not let us use it."""


@dataclass(slots=True)
class Group:
    """A control group; `peak_bytes` is filled while it is in use."""

    folder: Path
    limit_bytes: int | None
    peak_bytes: int = 0
    """The most that could not have been dropped: memory of processes, and files in shared memory. Not the
    page cache, which the kernel takes back when the limit is reached."""

    def inside(self, command: list[str]) -> list[str]:
        """The command that runs `command` in the group, with all that it starts."""
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh", *command]

    @property
    def killed(self) -> int:
        """How many of its processes the kernel has killed for want of memory."""
        for line in (self.folder / "memory.oom_control").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return 0

    def sample(self) -> None:
        figures = dict(line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        # Files in shared memory count as cache and are active or inactive anonymous memory.
        held = sum(int(figures[f"total_{kind}_anon"]) for kind in ("active", "inactive"))
        self.peak_bytes = max(self.peak_bytes, held)


@contextmanager
def group(name: str, limit_bytes: int | None) -> Iterator[Group]:
    """A group of that name, removed at the end; its processes must have been told to end by then.

    Args:
        name: a file name.
        limit_bytes: what its processes may have together, page cache included; None for any amount.
    Raises:
        NoGroups: see there.
    """
    folder = _parent() / f"{name}-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(_FOREVER if limit_bytes is None else limit_bytes))
    except OSError as error:
        raise NoGroups(f"{folder}: {error.strerror}, expected a memory controller to write to") from error
    made = Group(folder, limit_bytes)
    try:
        with polled(made.sample, _SAMPLED_EVERY_S, "group"):
            yield made
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a group whose processes have been killed; they take a moment to end."""
    give_up_at = time.monotonic() + _ENDING_S
    while True:
        try:
            folder.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > give_up_at:
                raise
            time.sleep(_SAMPLED_EVERY_S)
        else:
            return


def _parent() -> Path:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return _MOUNT / path.lstrip("/")
    raise NoGroups("/proc/self/cgroup: no memory controller of version 1")
