"""Decide, purely, whether a topology's state meets an alert's condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    suspended: Mapping[str, str] = field(default_factory=dict)
    """Queries that are not answered because they cost too much, and what they have too much of."""
    differing: Mapping[str, str] = field(default_factory=dict)
    """Queries whose results differ from a batch join, and how (`backend.oracle`)."""


@dataclass(frozen=True, slots=True)
class Limits:
    on_failed: bool
    lag: timedelta | None
    stuck: timedelta | None


def conditions(observed: Observed, limits: Limits, now: datetime) -> Sequence[tuple[str, str]]:
    """(kind, one line about it) for everything that the limits ask to be told of.

    `lag` is event time: how far the newest tuple of the slowest stream is behind the newest of any
    stream, so that it means the same for live streams and for history that is replayed. Stores keep
    so much more than their windows. What a stream's own lateness allows is no lag. `stuck` is wall clock:
    a tuple has waited for so long and no batch was committed since. A topology that shall not run is told
    of neither. `suspended` and `differs` go to whoever asked for failures: answers fail to come or are wrong.
    """
    found = []
    if limits.on_failed and observed.error is not None:
        found.append(("failed", observed.error))
    if limits.on_failed and observed.suspended:
        found.append(("suspended", _listed(observed.suspended)))
    if limits.on_failed and observed.differing:
        found.append(("differs", _listed(observed.differing)))
    if not observed.wanted:
        return found
    behind = _lag(observed.streams)
    if limits.lag is not None and behind is not None and behind[1] > limits.lag:
        stream, lag = behind
        found.append(("lag", f"the newest tuple of {stream} is {lag} older than that of another stream"))
    if limits.stuck is not None and observed.waiting_since is not None:
        waited = now - observed.waiting_since
        if waited > limits.stuck:
            seconds = int(waited.total_seconds())
            found.append(("stuck", f"tuples have waited for {seconds} s and no batch was committed"))
    return found


def _lag(streams: dict[str, StreamMetrics]) -> tuple[str, timedelta] | None:
    reached = [(one.max_event_time, name) for name, one in streams.items() if one.max_event_time is not None]
    if not reached:
        return None
    slowest, name = min(reached)
    return name, max(reached)[0] - slowest


def _listed(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{query}: {why}" for query, why in sorted(reasons.items()))
