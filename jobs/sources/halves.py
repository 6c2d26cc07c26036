"""Descriptors cut in two, down to single tuples, for the search of those that make a batch fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import redis

from jobs.sources.descriptor import Descriptor, EntryRange, LostEntries, LostRange

Halves: TypeAlias = tuple[Sequence[Descriptor], Sequence[Descriptor]]


class Entries(Protocol):
    """What has to be known of entries of Redis in order to cut ranges of them."""

    def last_of(self, entries: EntryRange, rows: int) -> str | None:
        """The id of the last one of the first `rows` entries; None if there are not so many any more."""
        ...

    def tuples_of(self, entry: EntryRange) -> int:
        """How many tuples the range's only entry holds."""
        ...


class RedisEntries:
    def __init__(self, url: str | None) -> None:
        self._client = None if url is None else redis.Redis.from_url(url, socket_timeout=10)

    def last_of(self, entries: EntryRange, rows: int) -> str | None:
        found = self._read(entries, rows)
        return found[-1][0].decode() if len(found) == rows else None

    def tuples_of(self, entry: EntryRange) -> int:
        found = self._read(entry, 1)
        if not found or b"arrow" not in found[0][1]:
            return 1
        try:
            with pa.ipc.open_stream(found[0][1][b"arrow"]) as reader:
                rows: int = reader.read_all().num_rows
                return max(1, rows)
        except (pa.ArrowException, OSError):
            return 1  # A single dead letter.

    def _read(self, entries: EntryRange, count: int) -> list[tuple[bytes, dict[bytes, bytes]]]:
        assert self._client is not None, "who plans entries knows their server"
        answer: Any = self._client.xrange(entries.key, f"({entries.after}", entries.last, count=count)
        return list(answer)


def halves(descriptors: Sequence[Descriptor], known: Entries) -> Halves | None:
    """Two parts with about as many tuples, in the same order; None for what holds a single tuple or record.

    >>> from jobs.sources.descriptor import FileRange
    >>> ranges = [FileRange("r", "f", 0, 3), FileRange("s", "g", 5, 1)]
    >>> first, second = halves(ranges, RedisEntries(None))
    >>> [(d.stream, d.first, d.rows) for d in first], [(d.stream, d.first, d.rows) for d in second]
    ([('r', 0, 2)], [('r', 2, 1), ('s', 5, 1)])
    """
    if len(descriptors) == 1:
        descriptors = [_opened(descriptors[0], known)]
    total = sum(_weight(descriptor) for descriptor in descriptors)
    if total <= 1:
        return None
    room = total // 2
    first: list[Descriptor] = []
    second: list[Descriptor] = []
    for descriptor in descriptors:
        weight = _weight(descriptor)
        if room >= weight:
            first.append(descriptor)
            room -= weight
        elif room > 0 and (cut := _cut(descriptor, room, known)) is not None:
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


def _opened(descriptor: Descriptor, known: Entries) -> Descriptor:
    """An entry that holds several tuples, with their number; everything else as it is."""
    if not isinstance(descriptor, EntryRange) or descriptor.rows != 1 or descriptor.tuples is not None:
        return descriptor
    return replace(descriptor, tuples=(0, known.tuples_of(descriptor)))


def _weight(descriptor: Descriptor) -> int:
    """Of a descriptor that only tells of a loss, one: its letter is a tuple of its own."""
    if isinstance(descriptor, EntryRange) and descriptor.tuples is not None:
        return descriptor.tuples[1] - descriptor.tuples[0]
    return max(1, descriptor.rows)


def _cut(descriptor: Descriptor, rows: int, known: Entries) -> tuple[Descriptor, Descriptor] | None:
    match descriptor:
        case LostRange() | LostEntries():
            return None
        case EntryRange() if descriptor.tuples is not None:
            first, before = descriptor.tuples
            middle = first + rows
            return replace(descriptor, tuples=(first, middle)), replace(descriptor, tuples=(middle, before))
        case EntryRange():
            last = known.last_of(descriptor, rows)
            if last is None or last == descriptor.last:
                return None
            return (
                replace(descriptor, last=last, rows=rows),
                replace(descriptor, after=last, rows=descriptor.rows - rows),
            )
        case _:
            return (
                replace(descriptor, rows=rows),
                replace(descriptor, first=descriptor.first + rows, rows=descriptor.rows - rows),
            )
