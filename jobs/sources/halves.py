"""Halve descriptors, down to single tuples, to find those that make a batch fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from jobs.sources.connector import Cutting, Descriptor

Halves: TypeAlias = tuple[Sequence[Descriptor], Sequence[Descriptor]]


def halves(descriptors: Sequence[Descriptor], server: Cutting) -> Halves | None:
    """Two parts with about as many tuples, in the same order.

    None for what holds a single tuple or record.

    >>> from jobs.sources.files.connector import FileRange
    >>> from jobs.sources.redis import RedisEntries
    >>> ranges = [FileRange("r", "f", 0, 3), FileRange("s", "g", 5, 1)]
    >>> first, second = halves(ranges, RedisEntries(None))
    >>> [(d.stream, d.first, d.rows) for d in first], [(d.stream, d.first, d.rows) for d in second]
    ([('r', 0, 2)], [('r', 2, 1), ('s', 5, 1)])
    """
    if len(descriptors) == 1:
        descriptors = [descriptors[0].opened(server)]
    total = sum(descriptor.weight for descriptor in descriptors)
    if total <= 1:
        return None
    room = total // 2
    first: list[Descriptor] = []
    second: list[Descriptor] = []
    for descriptor in descriptors:
        weight = descriptor.weight
        if room >= weight:
            first.append(descriptor)
            room -= weight
        elif room > 0 and (cut := descriptor.cut(room, server)) is not None:
            first.append(cut[0])
            second.append(cut[1])
            room = 0
        else:
            second.append(descriptor)
            room = 0
    if first and second:
        return first, second
    # What could not be cut where it should: at least the descriptors are told apart.
    return (descriptors[:1], descriptors[1:]) if len(descriptors) > 1 else None
