"""Where a live source begins: at one of its ends, a moment or a position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from jobs.protocol import entry_order

EXPECTED = (
    "earliest, latest, a time with its zone as 2026-01-01T00:00:00Z, an entry's id as 1767225600000-0, or "
    "the offset of each partition as 0: 1200, 1: 1180"
)
_ENTRY = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_OFFSETS = re.compile(r"[0-9]{1,9}\s*:\s*[0-9]{1,18}(\s*,\s*[0-9]{1,9}\s*:\s*[0-9]{1,18})*")
_MOST_ENTRY = 2**64 - 1


class Edge(StrEnum):
    """One of the two ends of what a source holds."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Moment:
    """The first tuple that came at a moment or later."""

    at_ms: int
    """Milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class EntryStart:
    """The first entry of a Redis stream that has this id or a later one."""

    entry: str


@dataclass(frozen=True, slots=True)
class OffsetsStart:
    """Of each partition of a topic the first offset that is read."""

    offsets: tuple[tuple[int, int], ...]
    """Partitions, ascending, with their offsets."""


Start: TypeAlias = Edge | Moment | EntryStart | OffsetsStart


def start_of(text: str) -> Start:
    """Read what a setting says of where to begin.

    >>> start_of("latest"), start_of("2026-01-01T00:00:00Z"), start_of("{1: 7, 0: 3}")
    (<Edge.LATEST: 'latest'>, Moment(at_ms=1767225600000), OffsetsStart(offsets=((0, 3), (1, 7))))

    Raises `ValueError` for any other text.
    """
    if text in list(Edge):
        return Edge(text)
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1].strip()
    if _OFFSETS.fullmatch(inner):
        pairs = [part.split(":") for part in inner.split(",")]
        offsets = {int(partition): int(offset) for partition, offset in pairs}
        if len(offsets) == len(pairs):
            return OffsetsStart(tuple(sorted(offsets.items())))
    elif _ENTRY.fullmatch(inner):
        if max(entry_order(inner)) <= _MOST_ENTRY:
            return EntryStart(inner)
    else:
        return Moment(_milliseconds(inner))
    raise ValueError(f"{text!r} instead of {EXPECTED}")


def _milliseconds(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} instead of {EXPECTED}") from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r}, a time without its zone, instead of {EXPECTED}")
    # Up to the next one: what came before the moment is not of it.
    return -int(-moment.timestamp() * 1000 // 1)
