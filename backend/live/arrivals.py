"""A stream's recent arrivals, batch by batch, as topologies that read it saw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel

from backend.redis import connection, read_batch
from jobs.protocol import StreamMetrics, events_key

MOST_ENTRIES = 600
"""Events of a topology that are looked at: heartbeats stand between the batches."""


class _Batch(BaseModel, frozen=True, extra="ignore"):
    """What of a batch's event concerns streams; nothing else is even read."""

    batch: int
    at: datetime
    streams: dict[str, StreamMetrics]


@dataclass(frozen=True, slots=True)
class Point:
    """One batch."""

    batch: int
    at: datetime
    seconds: float | None
    """Since the batch before was committed; None for the first one."""
    accepted: int
    late: int
    undecodable: int
    newest: datetime | None
    """The largest event time so far."""
    watermark: datetime | None
    behind_ms: float | None
    """How far the newest tuple's event time is behind that of the newest tuple of all streams."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    topology: str
    points: tuple[Point, ...]
    """Oldest first."""


def arrivals_of(stream: str, topologies: Sequence[str], limit: int) -> tuple[Arrivals, ...]:
    """The newest batches of topologies that read the stream.

    At most `limit` of each.
    """
    names = sorted(topologies)
    pipeline = connection().pipeline(transaction=False)
    for name in names:
        pipeline.xrevrange(events_key(name), count=MOST_ENTRIES)
    return tuple(
        Arrivals(name, _points(stream, entries, limit))
        for name, entries in zip(names, pipeline.execute(), strict=True)
    )


def _points(stream: str, entries: list[tuple[str, dict[str, str]]], limit: int) -> tuple[Point, ...]:
    found: dict[int, _Batch] = {}
    for _, fields in entries:
        batch = read_batch(_Batch, fields)
        # A batch that was done again after a crash is told again; the newest telling counts.
        if batch is not None and batch.batch not in found and stream in batch.streams:
            found[batch.batch] = batch
            if len(found) > limit:
                break
    ordered = [found[number] for number in sorted(found)]
    points = [_point(stream, now, before) for before, now in zip([None, *ordered], ordered, strict=False)]
    return tuple(points[-limit:])


def _point(stream: str, now: _Batch, before: _Batch | None) -> Point:
    own = now.streams[stream]
    newest = max((one.max_event_time for one in now.streams.values() if one.max_event_time), default=None)
    behind = None
    if newest is not None and own.max_event_time is not None:
        behind = (newest - own.max_event_time) / timedelta(milliseconds=1)
    seconds = None if before is None else (now.at - before.at).total_seconds()
    return Point(
        batch=now.batch,
        at=now.at,
        seconds=seconds if seconds is not None and seconds > 0 else None,
        accepted=own.accepted,
        late=own.late,
        undecodable=own.undecodable,
        newest=own.max_event_time,
        watermark=own.watermark,
        behind_ms=behind,
    )
