"""Processor time of this process and of all that it has started."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

_PROCESSES = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


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
