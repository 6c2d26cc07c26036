"""Decide, purely, whether a topology's state meets an alert's condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.protocol import StreamMetrics

_MB = 1 << 20
"""As the pages count bytes."""


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
    letters: Mapping[str, int] = field(default_factory=dict)
    """Dead letters of the last minute, by stream."""
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    """Of 99 of 100 results of the last minute, by query."""
    state_bytes: int = 0
    """That its stores hold."""
    cores: float | None = None
    """That its job used over the newest epoch; None before there is one."""
    budgets: Mapping[str, str] = field(default_factory=dict)
    """Teams with queries in it that have spent most of their month's budget, and how much."""


@dataclass(frozen=True, slots=True)
class Limits:
    on_failed: bool
    lag: timedelta | None
    stuck: timedelta | None
    letters_per_minute: int | None = None
    latency_ms: int | None = None
    state_mb: int | None = None
    cores: float | None = None


def conditions(observed: Observed, limits: Limits, now: datetime) -> Sequence[tuple[str, str]]:
    """(kind, one line about it) for everything that the limits ask to be told of.

    `lag` is event time: how far the newest tuple of the slowest stream is behind the newest of any
    stream, so that it means the same for live streams and for history that is replayed. Stores keep
    so much more than their windows. What a stream's own lateness allows is no lag. `stuck` is wall clock:
    a tuple has waited for so long and no batch was committed since. Of a topology that shall not run
    only failures and answers are told. `suspended`, `differs` and `budget` go to whoever asked for failures:
    answers fail to come or are wrong, or soon will.
    """
    found = []
    if limits.on_failed and observed.error is not None:
        found.append(("failed", observed.error))
    if limits.on_failed and observed.suspended:
        found.append(("suspended", _listed(observed.suspended)))
    if limits.on_failed and observed.differing:
        found.append(("differs", _listed(observed.differing)))
    if limits.on_failed and observed.budgets:
        found.append(("budget", _listed(observed.budgets)))
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
    return [*found, *_amounts(observed, limits)]


def _amounts(observed: Observed, limits: Limits) -> Iterator[tuple[str, str]]:
    """What there is too much of."""
    if limits.letters_per_minute is not None and sum(observed.letters.values()) > limits.letters_per_minute:
        of = ", ".join(f"{many} of {stream}" for stream, many in sorted(observed.letters.items()) if many)
        yield "letters", f"dead letters in the last minute: {of}"
    if limits.latency_ms is not None and observed.latency_ms:
        slowest, query = max((ms, name) for name, ms in observed.latency_ms.items())
        if slowest > limits.latency_ms:
            yield "latency", f"one in 100 results of {query} takes {slowest:,.0f} ms or more"
    if limits.state_mb is not None and observed.state_bytes > limits.state_mb * _MB:
        yield "state", f"its stores hold {observed.state_bytes / _MB:,.0f} MB"
    if limits.cores is not None and observed.cores is not None and observed.cores > limits.cores:
        yield "cores", f"its job uses {observed.cores:.2f} cores"


def _lag(streams: dict[str, StreamMetrics]) -> tuple[str, timedelta] | None:
    reached = [(one.max_event_time, name) for name, one in streams.items() if one.max_event_time is not None]
    if not reached:
        return None
    slowest, name = min(reached)
    return name, max(reached)[0] - slowest


def _listed(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in sorted(reasons.items()))
