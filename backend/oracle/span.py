"""Which batches a check looks at, and which stretches of the streams belong to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from backend.oracle.ledger import Batch, Ledger
from jobs.protocol import StreamMetrics
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import needed_windows
from optimizer.logical.query import Query
from optimizer.logical.window import union

MOST_BATCHES = 64
"""Of one check."""
MOST_STARTS = 5_000
"""Tuples that arrive in the batches of one check; a single batch may have more."""
MOST_RESULTS = 1_000
"""As many as the live tail keeps; a single batch may have more."""
MOST_BATCHES_BACK = 7_500
"""Batches that are looked back for what lies in the windows."""
MOST_TUPLES = 50_000
"""Tuples of one stream that are read."""
BEGINNING = "0-0"
"""The place in a stream before its first entry."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST_US = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


class CannotCheck(Exception):
    """Nothing can be compared; says why, for people."""


class BeyondReach(CannotCheck):
    """Windows hold more than is read at once, or reach back to what has gone."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive intervals of a stream, one per batch that read it."""

    after: str
    """The entry behind which the first one begins."""
    bounds: tuple[str, ...]
    """The last entry of each."""
    parts: tuple[StreamMetrics, ...]
    """What the job said of each."""
    batches: tuple[int, ...]
    """The batch that read each."""

    @property
    def read(self) -> int:
        """Tuples that the job found there."""
        return sum(part.read for part in self.parts)


@dataclass(frozen=True, slots=True)
class Span:
    """Batches whose results are compared."""

    batches: tuple[Batch, ...]
    """Oldest first."""
    age: int
    """Of the oldest one in the ledger."""

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(batch.batch for batch in self.batches)


def choose_span(
    ledger: Ledger,
    query: str,
    streams: Collection[str],
    is_answered: Callable[[str], bool],
    checked: int | None,
) -> Span | None:
    """The newest unchecked batches that answered the query; None without any.

    Args:
        ledger: of the query's topology.
        query: its name.
        streams: what it reads.
        is_answered: says by a plan's id whether that plan answers the version in question.
        checked: the last batch that was checked.
    Raises:
        CannotCheck: the newest batch answered it, but does not tell enough.
    """
    newest = ledger.get(0)
    if newest is None:
        return None
    if checked is not None and checked > newest.batch:
        # The topology began anew.
        checked = None
    chosen: list[Batch] = []
    arrived = results = 0
    while len(chosen) < MOST_BATCHES:
        age = len(chosen)
        batch = ledger.get(age)
        part = None if batch is None else batch.queries.get(query)
        if batch is None or part is None or not is_answered(batch.plan_id):
            break
        if checked is not None and batch.batch <= checked:
            break
        problem = _untold(ledger, age, batch, streams)
        if problem is not None:
            if not chosen:
                raise CannotCheck(problem)
            break
        arrived += sum(batch.streams[stream].read for stream in streams)
        results += part.results
        if chosen and (arrived > MOST_STARTS or results > MOST_RESULTS):
            break
        chosen.append(batch)
    return Span(tuple(reversed(chosen)), len(chosen) - 1) if chosen else None


def _untold(ledger: Ledger, age: int, batch: Batch, streams: Collection[str]) -> str | None:
    """What is not known of a batch's part of the streams; None if it can be checked."""
    for stream in sorted(streams):
        part = batch.streams.get(stream)
        if part is None or part.position is None:
            return f"{stream} is not kept in Redis, or its job is of an older release"
        if position_before(ledger, age, stream) is None:
            return f"where batch {batch.batch} began to read {stream} is no longer recorded"
    return None


def position_before(ledger: Ledger, age: int, stream: str) -> str | None:
    """The last entry read before the batch of this age, None if unknown.

    A stream keeps its position while no plan reads it.
    """
    for older in range(age + 1, age + 1 + MOST_BATCHES_BACK):
        batch = ledger.get(older)
        if batch is None:
            return BEGINNING if ledger.begins_with(older - 1) else None
        if stream in batch.streams:
            return batch.streams[stream].position
    return None


def own_stretch(ledger: Ledger, span: Span, stream: str) -> Stretch:
    """What arrived of a stream in the span, batch by batch."""
    after = position_before(ledger, span.age, stream)
    assert after is not None  # `choose_span` takes no other batches
    return stretch_of(after, span.batches, stream)


def stretch_before(ledger: Ledger, span: Span, stream: str, oldest_us: int | None) -> Stretch:
    """A stream's arrivals before the span since `oldest_us`; perhaps not all.

    Args:
        oldest_us: an event time; None for everything that ever arrived.
    Raises:
        CannotCheck: it reaches further back than what is recorded, or is too much.
    """
    batches: list[Batch] = []
    read = 0
    for age in range(span.age + 1, span.age + 1 + MOST_BATCHES_BACK):
        batch = ledger.get(age)
        if batch is None:
            if not ledger.begins_with(age - 1):
                break
            return stretch_of(BEGINNING, batches[::-1], stream)
        part = batch.streams.get(stream)
        if part is None:
            continue
        reached = part.max_event_time
        if reached is None or (oldest_us is not None and microseconds(reached) < oldest_us):
            return stretch_of(_position(part, stream), batches[::-1], stream)
        batches.append(batch)
        read += part.read
        if read > MOST_TUPLES:
            raise BeyondReach(f"its windows hold more than {MOST_TUPLES:,} tuples of {stream}")
    raise BeyondReach(f"its windows reach further back in {stream} than the batches that are recorded")


def stretch_of(after: str, batches: Sequence[Batch], stream: str) -> Stretch:
    """A stream's intervals in batches that read it, oldest first.

    Raises `CannotCheck` if it is not kept in Redis.
    """
    parts = tuple(batch.streams[stream] for batch in batches)
    bounds = tuple(_position(part, stream) for part in parts)
    return Stretch(after, bounds, parts, tuple(batch.batch for batch in batches))


def _position(part: StreamMetrics, stream: str) -> str:
    if part.position is None:
        raise CannotCheck(f"{stream} is not kept in Redis, or its job is of an older release")
    return part.position


def needed_from(query: Query, catalog: Catalog, least_us: int) -> dict[str, int | None]:
    """By stream the oldest event time in combinations, microseconds; None for any.

    The newest of each combination is not older than `least_us`.
    """
    needed = needed_windows(query, catalog)
    found: dict[str, int | None] = {}
    for name in {source.stream for source in query.inputs}:
        reach_us = union(source.window for source in needed if source.stream == name).reach_us
        # A window of a million years reaches back to everything.
        found[name] = None if reach_us is None or least_us - reach_us < _FIRST_US else least_us - reach_us
    return found


def microseconds(moment: datetime) -> int:
    """Since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(microseconds: int) -> datetime:
    """The inverse of `microseconds`."""
    return _EPOCH + microseconds * _MICROSECOND
