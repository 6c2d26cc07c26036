"""When there is something to tell about a topology: pure, over what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.protocol import StreamMetrics


@dataclass(frozen=True, slots=True)
class Observed:
    """A topology as it is now."""

    error: str | None
    """Why it failed; None unless it did."""
    wanted: bool
    """True if its job shall run."""
    streams: dict[str, StreamMetrics]
    """Of the newest batch; empty before the first."""
    waiting_since: datetime | None
    """Arrival of the oldest tuple that no committed batch can hold; None if none waits."""


@dataclass(frozen=True, slots=True)
class Limits:
    on_failed: bool
    lag: timedelta | None
    stuck: timedelta | None


def conditions(observed: Observed, limits: Limits, now: datetime) -> Sequence[tuple[str, str]]:
    """(kind, one line about it) for everything that the limits ask to be told of.

    `lag` is event time: how far the slowest stream's watermark is behind the newest tuple of any
    stream, so that it means the same for live streams and for history that is replayed. Stores keep
    so much more than their windows. `stuck` is wall clock: a tuple has waited for so long and
    no batch was committed since. A topology that shall not run is told of neither.
    """
    found = []
    if limits.on_failed and observed.error is not None:
        found.append(("failed", observed.error))
    if not observed.wanted:
        return found
    behind = _lag(observed.streams)
    if limits.lag is not None and behind is not None and behind[1] > limits.lag:
        stream, lag = behind
        found.append(("lag", f"the watermark of {stream} is {lag} behind the newest tuple"))
    if limits.stuck is not None and observed.waiting_since is not None:
        waited = now - observed.waiting_since
        if waited > limits.stuck:
            seconds = int(waited.total_seconds())
            found.append(("stuck", f"tuples have waited for {seconds} s and no batch was committed"))
    return found


def _lag(streams: dict[str, StreamMetrics]) -> tuple[str, timedelta] | None:
    newest = max((one.max_event_time for one in streams.values() if one.max_event_time), default=None)
    marks = [(one.watermark, name) for name, one in streams.items() if one.watermark is not None]
    if newest is None or not marks:
        return None
    slowest, name = min(marks)
    return name, newest - slowest
