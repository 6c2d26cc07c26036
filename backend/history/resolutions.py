"""How finely a topology's past is kept, and how finely it is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MINUTE = timedelta(minutes=1)
TEN_MINUTES = timedelta(minutes=10)
HOUR = timedelta(hours=1)
KEPT = {
    MINUTE: timedelta(days=2),
    TEN_MINUTES: timedelta(days=14),
    HOUR: timedelta(days=400),
}
"""For how long periods of each length are kept, shortest first: some 14,500 of a topology."""
MOST_POINTS = 600
_TOLD = {
    MINUTE: MINUTE,
    TEN_MINUTES: TEN_MINUTES,
    HOUR: HOUR,
    timedelta(hours=4): HOUR,
    timedelta(days=1): HOUR,
}
"""Lengths of points, shortest first, and the kept periods that they are made from."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, and how finely it is told."""

    begin: datetime
    """Inclusive."""
    end: datetime
    """Exclusive."""
    resolution: timedelta
    kept: timedelta
    """The length of the kept periods that points are made from."""


def whole_seconds(resolution: timedelta) -> int:
    """A length as it is stored and told."""
    return resolution // timedelta(seconds=1)


def period_start(moment: datetime, resolution: timedelta) -> datetime:
    """The beginning of the period that a moment is in.

    >>> period_start(datetime(2026, 11, 26, 11, 47, 3, tzinfo=UTC), TEN_MINUTES)
    datetime.datetime(2026, 11, 26, 11, 40, tzinfo=datetime.timezone.utc)
    """
    seconds = whole_seconds(resolution)
    return datetime.fromtimestamp(int(moment.timestamp()) // seconds * seconds, UTC)


def oldest_kept(resolution: timedelta, now: datetime) -> datetime:
    """The start of the oldest period of this length that is kept."""
    return period_start(now - KEPT[resolution], resolution)


def span_of(begin: datetime, end: datetime, now: datetime) -> Span:
    """The part of a stretch of time that may be kept, as finely as fits.

    An hour of this morning is told in minutes, a day in ten minutes, a quarter in four hours: at most
    `MOST_POINTS` points, and one more where the ends lie within periods.
    """
    begin, end = max(begin, oldest_kept(HOUR, now)), min(end, now)
    for resolution, kept in _TOLD.items():
        if begin >= oldest_kept(kept, now) and end - begin <= MOST_POINTS * resolution:
            break
    # The longest one fits whatever is kept: 400 days.
    return Span(begin, end, resolution, kept)
