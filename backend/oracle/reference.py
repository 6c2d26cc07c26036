"""A batch join of what a topology read: DuckDB's results of some of its batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from backend.catalog.sandbox import TooLarge, TooLong, sandbox
from backend.oracle.accepted import BATCH, accepted
from backend.oracle.comparison import NOTHING_UNDECIDED, Expected, Row, Undecided
from backend.oracle.expected.due import Marks, least_of, marks_of, waits_us
from backend.oracle.expected.exact_sums import let_sum
from backend.oracle.expected.layers import Layers, base_streams, layers_of, refuse_incomplete
from backend.oracle.expected.results import Asked, due_results
from backend.oracle.expected.running import Counted, changes_of, counted_of, is_running
from backend.oracle.expected.sessions import SAMPLED_GAPS, look_backs, session_from, undecided_sessions
from backend.oracle.ledger import Ledger
from backend.oracle.sampling.keys import Keys
from backend.oracle.sampling.sample import Sample, Sampling, mark_of
from backend.oracle.span import (
    MOST_TUPLES,
    CannotCheck,
    Span,
    microseconds,
    moment_of,
    needed_from,
    own_stretch,
    stretch_before,
)
from optimizer.algebra.render import quote
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream

DUCKDB_SECONDS = 5.0
"""Of DuckDB's work; then the check compares nothing."""
DUCKDB_MEMORY = "256MB"


@dataclass(frozen=True, slots=True)
class Reference:
    by_batch: dict[int, Expected]
    tuples: int
    """Read, those that arrived before the span too."""
    event_from: datetime | None
    """The oldest event time that arrived in the span; None if nothing did."""
    event_to: datetime | None
    """The newest, or that of the watermark where results wait for it: all results up to it are there."""
    sampled: Sampled | None = None
    """None if these are all results."""
    gaps: int = 0
    """As many of its gaps a session was followed back."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Which results a sample has."""

    keys: Keys
    halvings: int

    @property
    def share(self) -> float:
        """Of all results."""
        return self.keys.share(self.halvings)

    @property
    def is_all(self) -> bool:
        """True if no key was left out yet."""
        return self.halvings == 0

    def holds(self, row: Row) -> bool:
        return self.keys.holds(row, self.halvings)


def reference(query: Query, catalog: Catalog, ledger: Ledger, span: Span) -> Reference:
    """DuckDB's results whose last tuple arrived in the span's batches.

    Raises:
        BeyondReach: what they were made of is no longer there, or is too much.
        CannotCheck: they cannot be known.
    """
    layers = layers_of(query, catalog, ledger, span) if query.derived else None
    wide = span if layers is None else layers.wide
    names = base_streams(query)
    own = {name: accepted(catalog[name], own_stretch(ledger, wide, name), MOST_TUPLES) for name in names}
    times = np.concatenate([taken.times_us for taken in own.values()])
    found: Reference | None = None
    for gaps in look_backs(query):
        read = sum(taken.read for taken in own.values())
        reach = reach_of(query, catalog, ledger, span, times, gaps, layers)
        if reach is None:
            return Reference(_nothing(span), read, None, None)
        tables: dict[str, pa.Table] = {}
        try:
            for name, taken in own.items():
                stretch = stretch_before(ledger, wide, name, reach.needed[name])
                before = accepted(catalog[name], stretch, MOST_TUPLES)
                tables[name] = pa.concat_tables([before.table, taken.table])
                read += before.read
            by_batch = expected_of(query, catalog, tables, span, reach)
        except CannotCheck:
            if found is None:
                raise
            # Some sessions stay undecided, all others are known.
            return found
        found = Reference(by_batch, read, reach.event_from, reach.event_to, gaps=gaps or 0)
        if all(one.undecided is NOTHING_UNDECIDED for one in by_batch.values()):
            break
    assert found is not None
    return found


def sampled_reference(sampling: Sampling, sample: Sample, span: Span) -> Reference:
    """DuckDB's results of a sample whose last tuple arrived in the span's batches.

    Args:
        sampling: of the query.
        sample: read up to the span's last batch.
        span: what is checked.
    Raises:
        CannotCheck: the sample does not yet reach as far back as the windows do.
    """
    query, catalog, keys = sampling.query, sampling.catalog, sampling.keys
    if sample.began >= span.numbers[0]:
        raise CannotCheck(
            f"{why_sampled(query)}, and the sample that is kept of them begins behind batch {sample.began:,}"
        )
    times = [_own_times(catalog[name], part.table, span) for name, part in sample.parts.items()]
    reach = reach_of(query, catalog, sampling.ledger, span, np.concatenate(times), SAMPLED_GAPS)
    sampled = Sampled(keys, sample.halvings)
    tuples = sum(part.table.num_rows for part in sample.parts.values())
    if not tuples and sample.halvings:
        raise CannotCheck(
            f"{why_sampled(query)}, and none of the few keys that have all their tuples is in the sample of "
            f"1 in {1 / sampled.share:,.0f}"
        )
    if reach is None:
        return Reference(_nothing(span), tuples, None, None, sampled)
    for name, part in sample.parts.items():
        since, oldest = part.complete_from_us, reach.needed[name]
        if since is not None and (oldest is None or oldest < since):
            back = "its beginning" if oldest is None else f"{moment_of(oldest):%Y-%m-%d %H:%M:%S}"
            raise CannotCheck(
                f"{why_sampled(query)}, and the sample that is kept of them has what is newer than "
                f"{moment_of(since):%Y-%m-%d %H:%M:%S} of {name}; they reach back to {back}"
            )
    tables = {name: sampling.marked(name, sample) for name in sample.parts}
    conditions = {
        alias: [f"{quote(alias)}.{quote(mark_of(column))}" for column, _ in columns]
        for alias, columns in keys.by_alias.items()
    }
    by_batch = expected_of(query, catalog, tables, span, reach, conditions, sampled.holds)
    return Reference(by_batch, tuples, reach.event_from, reach.event_to, sampled, SAMPLED_GAPS)


def why_sampled(query: Query) -> str:
    """Why a query's tuples are not read anew for each check, for people."""
    if is_running(query):
        return "what it counts may be of any age, so its tuples are not read anew"
    return "its windows are too large to be read at once"


@dataclass(frozen=True, slots=True)
class Reach:
    """Of a span's results, the event times that they are made of."""

    needed: dict[str, int | None]
    """By registered stream the oldest, microseconds; None for any."""
    marks: Marks | None
    """By which what waits is due; None where nothing does."""
    event_from: datetime | None
    event_to: datetime | None
    known_from_us: int | None = None
    """Combinations of this event time and newer ones are all there; None if all are."""
    counted: Counted | None = None
    """Of running groups."""
    layers: Layers | None = None
    """Of a query that reads results of others."""


def reach_of(
    query: Query,
    catalog: Catalog,
    ledger: Ledger,
    span: Span,
    times_us: npt.NDArray[np.int64],
    gaps: int | None = 0,
    layers: Layers | None = None,
) -> Reach | None:
    """How far a span's results reach back; None if there cannot be any.

    Args:
        query: what is asked.
        catalog: has its streams.
        ledger: of its topology.
        span: some batches of it.
        times_us: of what arrived in the span, and in those of the layers.
        gaps: how many gaps before its last time a session may have begun; None for any number.
        layers: of a query that reads results of others.
    Raises:
        CannotCheck: results wait for watermarks that are not known.
    """
    came_us = int(times_us.min()) if len(times_us) else None
    counted = counted_of(query, ledger, span) if is_running(query) else None
    marks = _marks(query, catalog, ledger, span) if layers is None else layers.outer.marks
    waits = marks is not None or (layers is not None and layers.waits)
    if came_us is None and not waits and counted is None:
        return None
    if layers is not None:
        until_us = layers.until_us
    elif marks is not None:
        until_us = marks.last_us
    else:
        until_us = None if came_us is None else int(times_us.max())
    if counted is not None:
        least_us = counted.from_us
    elif layers is not None:
        least_us = layers.least_us(came_us)
        refuse_incomplete(query, span, least_us)
    else:
        least_us = least_of(query, catalog, marks, [] if came_us is None else [came_us])
    least_us = session_from(query, least_us, gaps)
    if layers is not None:
        needed = layers.needed(came_us, least_us)
    else:
        names = base_streams(query)
        needed = dict.fromkeys(names) if least_us is None else needed_from(query, catalog, least_us)
    event_from, event_to = (None if us is None else moment_of(us) for us in (came_us, until_us))
    return Reach(needed, marks, event_from, event_to, least_us, counted, layers)


def _marks(query: Query, catalog: Catalog, ledger: Ledger, span: Span) -> Marks | None:
    return None if waits_us(query, catalog) is None else marks_of(ledger, span)


def _own_times(stream: Stream, table: pa.Table, span: Span) -> npt.NDArray[np.int64]:
    ours = pc.greater_equal(table.column(BATCH), span.numbers[0])
    return np.asarray(table.filter(ours).column(stream.event_time).cast(pa.int64()).to_numpy())


def _nothing(span: Span) -> dict[int, Expected]:
    return {batch: Expected(Counter(), Counter()) for batch in span.numbers}


def expected_of(
    query: Query,
    catalog: Catalog,
    tables: Mapping[str, pa.Table],
    span: Span,
    reach: Reach,
    also: Mapping[str, Sequence[str]] = MappingProxyType({}),
    holds: Callable[[Row], bool] = lambda row: True,
) -> dict[int, Expected]:
    """DuckDB's results of each of a span's batches.

    Args:
        query: what is asked.
        catalog: has its streams.
        tables: their accepted tuples, as far as they are needed, with BATCH and LATE.
        span: some batches.
        reach: of the span.
        also: further conditions, by alias.
        holds: says of a result whether it is asked for.
    Raises:
        CannotCheck: they cannot be known.
    """
    layers = reach.layers
    plain, full = (query, catalog) if layers is None else (layers.outer.query, layers.catalog)
    asked = Asked(plain, full, span, reach.marks, also, holds)
    try:
        with sandbox(tables, catalog.functions, DUCKDB_SECONDS, DUCKDB_MEMORY) as connection:
            let_sum(connection)
            if layers is not None:
                layers.answer(connection)
            if reach.counted is not None:
                return changes_of(connection, asked, reach.counted)
            undecided = undecided_sessions(connection, asked, reach.known_from_us)
            return _results(connection, asked, undecided, reach.known_from_us)
    except TooLong as error:
        raise CannotCheck(f"the batch join of its windows takes longer than {DUCKDB_SECONDS:g} s") from error
    except TooLarge as error:
        raise CannotCheck(f"the batch join of its windows needs more than {DUCKDB_MEMORY}") from error


def _results(
    connection: duckdb.DuckDBPyConnection,
    asked: Asked,
    undecided: Mapping[int, Undecided],
    known_from_us: int | None,
) -> dict[int, Expected]:
    since = {
        batch.batch: None if part.missing_before is None else microseconds(part.missing_before)
        for batch in asked.span.batches
        for part in (batch.queries[asked.query.name],)
    }
    numbers = asked.span.numbers
    required: dict[int, Counter[Row]] = {number: Counter() for number in numbers}
    possible: dict[int, Counter[Row]] = {number: Counter() for number in numbers}
    for due in due_results(connection, asked):
        if undecided and known_from_us is not None and due.known_from_us < known_from_us:
            continue
        possible[due.batch][due.row] += 1
        begin = since[due.batch]
        if not due.is_late and (begin is None or due.known_from_us >= begin):
            required[due.batch][due.row] += 1
    return {
        number: Expected(required[number], possible[number], undecided.get(number, NOTHING_UNDECIDED))
        for number in numbers
    }
