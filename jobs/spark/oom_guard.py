"""Stop a topology whose workers are OOM-killed repeatedly.

Processes that it loses for want of memory are counted until they are too many to go on.

A worker that is gone is replaced and its batch done again, so one accident costs a moment. A topology
that needs more memory than there is loses workers in one batch after the other: it goes on many times slower
than it should, and whoever runs it does not know why. So it ends and says what to set.

What counts is the kernel's word alone: its counter of the processes that it has ended for want of memory, of
the control group that this process is in, or of the host where there are no groups; and an allocation that
was refused, which a task reports itself. A worker that somebody kills changes neither. Workers on other
hosts are in other groups, of which nobody here knows.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

from optimizer.algebra.errors import InputError, Place

MOST_BATCHES = 3
"""A topology ends when so many of its newest WITHIN_BATCHES have lost processes for want of memory."""
WITHIN_BATCHES = 8
_SHARE = 8
_LEAST_MIB = 64
"""A limit that is proposed: an eighth of the memory, beside which programs and batches have room; no less
than operators may set."""
_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
_REFUSED = re.compile(r"(?<!OutOf)MemoryError\b|Cannot allocate memory")
"""What Python, NumPy, Arrow and the system say of an allocation that was refused. Java's OutOfMemoryError is
of a heap that is too small, not of memory that is not there."""


class OutOfMemory(InputError):
    """A topology needs more memory than there is.

    Started again as it was, it would end again.
    """


class Losses:
    """The newest batches in which processes were lost for want of memory.

    >>> ended = iter([0, 2, 2])
    >>> losses = Losses(None, lambda: next(ended))
    >>> losses.begin(7)
    >>> losses.add("Python worker exited unexpectedly"), losses.add("Python worker exited unexpectedly")
    (True, False)

    Args:
        limit_bytes: what of the stores may be in memory; None for any amount.
        ended: how many processes the kernel has ended for want of memory until now.
    """

    def __init__(self, limit_bytes: int | None, ended: Callable[[], int] | None = None) -> None:
        self._limit_bytes = limit_bytes
        self._ended = ended or ended_by_kernel
        self._before = 0
        self._batch = -1
        self._lost: dict[int, int] = {}

    def begin(self, batch: int) -> None:
        """What is lost from now on, until the next call of this, is lost in this batch."""
        now = self._ended()
        if self._batch in self._lost:
            # What was lost while the batch was done again; of one that lost nothing, other programs'.
            self._lost[self._batch] += now - self._before
        self._batch, self._before = batch, now
        self._lost = {b: count for b, count in self._lost.items() if b > batch - WITHIN_BATCHES}

    def add(self, said: str) -> bool:
        """Count the failure that Spark reports if it was for want of memory.

        Returns whether it was.
        """
        now = self._ended()
        count = now - self._before
        self._before = now
        if count == 0 and _REFUSED.search(said):
            count = 1
        if count:
            self._lost[self._batch] = self._lost.get(self._batch, 0) + count
        return count > 0

    @property
    def too_many(self) -> bool:
        return len(self._lost) >= MOST_BATCHES

    def reason(self, state_bytes: int, memory_bytes: int | None = None) -> OutOfMemory:
        """What to tell people: what there is, what was lost, and what to set.

        >>> print(Losses(None, lambda: 0).reason(800_000_000, 2 << 30))  # doctest: +NORMALIZE_WHITESPACE
        command line: --memory-limit: found no limit, 800,000,000 bytes of stores, 2,147,483,648 bytes of
        memory and 0 processes lost for want of it, expected a limit of what of the stores is in memory, such
        as 256MiB (of a topology: Jobs, Memory), or more memory

        Args:
            state_bytes: of the stores, as of the last commit.
            memory_bytes: that this process and those it started may have; by default as the system says.
        """
        memory = memory_there_is() if memory_bytes is None else memory_bytes
        batches = sorted(self._lost)
        where = f" in {_counted(batches)}" if batches else ""
        count = sum(self._lost.values())
        lost = f"{count} {'process' if count == 1 else 'processes'} lost for want of it{where}"
        if self._limit_bytes is None:
            limit = "no limit"
            proposed = max(_LEAST_MIB, (memory // _SHARE) >> 20)
            expected = (
                f"a limit of what of the stores is in memory, such as {proposed}MiB "
                "(of a topology: Jobs, Memory), or more memory"
            )
        else:
            limit = f"a limit of {self._limit_bytes:,} bytes"
            expected = "a lower limit (of a topology: Jobs, Memory), a smaller --batch-rows, or more memory"
        return OutOfMemory(
            "out-of-memory",
            Place("command line", path="--memory-limit"),
            f"{limit}, {state_bytes:,} bytes of stores, {memory:,} bytes of memory and {lost}",
            expected,
        )


def ended_by_kernel(proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """Processes of this control group that the kernel has ended for want of memory.

    Without a group that counts, on this host. The number means nothing by itself, only that it grows; where
    nobody counts it is always 0.

    Args:
        proc: where the kernel tells of processes.
        groups: where its control groups are mounted, of version 1, 2 or both.
    """
    own = next(_around(proc, groups), None)
    files = () if own is None else (own / "memory.events", own / "memory.oom_control")
    for file in (*files, proc / "vmstat"):
        for line in (_read(file) or "").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    return 0


def memory_there_is(proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """Bytes of memory that this process may have.

    The least of what the host has, what its control groups allow and its own limit of address space.
    Arguments as for `ended_by_kernel`.
    """
    bounds = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for group in _around(proc, groups):
        for name in ("memory.max", "memory.limit_in_bytes"):
            said = (_read(group / name) or "").strip()
            if said.isdigit():  # "max" is no bound
                bounds.append(int(said))
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        bounds.append(address_space)
    return min(bounds)


def _around(proc: Path, groups: Path) -> Iterator[Path]:
    """The control groups that account for this process's memory, its own first."""
    for line in (_read(proc / "self" / "cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            top = groups / "memory"
        elif controllers == "" and (groups / "cgroup.controllers").is_file():
            top = groups
        else:
            continue
        own = top / path.lstrip("/")
        # A container may see its group's name on the host, and that group as the only one.
        group = own if own.is_dir() else top
        yield group
        while group != top:
            group = group.parent
            yield group
        return


def _counted(batches: list[int]) -> str:
    """Batches as a counted phrase.

    >>> _counted([4]), _counted([4, 6])
    ('batch 4', 'batches 4, 6')
    """
    return f"{'batch' if len(batches) == 1 else 'batches'} {', '.join(map(str, batches))}"


def _read(file: Path) -> str | None:
    """The text of one of the kernel's files, None where it has or shows none."""
    try:
        return file.read_text()
    except OSError:
        return None
