"""Processor time of this process, step by step, and of all that it has started."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path

_PROCESSES = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


class CpuClock:
    """Laps of this process's processor time, over all its threads.

    A worker of Spark has one task at a time, so what a process takes is its task's.

    >>> clock = CpuClock()
    >>> clock.lap_us() >= 0
    True
    """

    __slots__ = ("_began_ns",)

    def __init__(self) -> None:
        self._began_ns = time.process_time_ns()

    def lap_us(self) -> int:
        """Microseconds since the clock was made or last asked.

        What is left over counts for the next lap.
        """
        took = (time.process_time_ns() - self._began_ns) // 1000
        self._began_ns += took * 1000
        return took


def cpu_seconds() -> float | None:
    """Processor seconds of this process and its descendants so far.

    None where the system does not tell.

    A process that has ended counts with the parent that waited for it.
    """
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            # The name, in parentheses, may contain anything.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended meanwhile.
        children[int(fields[1])].append(int(folder.name))
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    if os.getpid() not in ticks:
        return None
    total, pending = 0, [os.getpid()]
    while pending:
        process = pending.pop()
        total += ticks.get(process, 0)
        pending += children[process]
    return total / _TICKS
