"""Which ingesting task reads which part of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.sources.connector import Descriptor

_LEAST_ROWS = 8192
"""Fewer rows are not worth a task of their own."""


def assign(descriptors: Sequence[Descriptor], tasks: int) -> tuple[tuple[Descriptor, ...], ...]:
    """Spread descriptors over at most `tasks` tasks, in order and by rows.

    Row ranges are split where a task is full; entry ranges are not. The same descriptors are
    always spread in the same way, so that a repeated batch gives the same arrival numbers.
    Always at least one task.
    """
    total = sum(descriptor.rows for descriptor in descriptors)
    share = max(_LEAST_ROWS, -(-total // max(1, tasks)))
    groups: list[list[Descriptor]] = [[]]
    room = share
    for descriptor in descriptors:
        rest: Descriptor | None = descriptor
        while rest is not None:
            if room <= 0 and len(groups) < tasks:
                groups.append([])
                room = share
            last = len(groups) == tasks
            parts = None if last or rest.rows <= room else rest.split(room)
            if parts is None:
                groups[-1].append(rest)
                room -= rest.rows
                rest = None
            else:
                groups[-1].append(parts[0])
                rest = parts[1]
                room = 0
    return tuple(tuple(group) for group in groups)
