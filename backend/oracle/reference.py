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
from backend.oracle.comparison import Expected, Row, as_published
from backend.oracle.due import SESSION_GAPS, Marks, marks_of, results_text, undecided_text, waits_us
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
MOST_RESULTS = 100_000
"""Of DuckDB that are taken into this process."""
_PAGE_ENTRIES = 10_000
_ResultRow = tuple[*tuple[object, ...], int | None, int, bool, int | None]
"""The query's outputs, then what `results_text` has behind them."""


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


@dataclass(frozen=True, slots=True)
class Sampled:
    """Which results a sample has."""

    keys: Keys
    halvings: int

    @property
    def share(self) -> float:
        """Of all results."""
        return self.keys.share(self.halvings)

    def holds(self, row: Row) -> bool:
        return self.keys.holds(row, self.halvings)


def refuse(query: Query) -> None:
    """Raise `CannotCheck` for a query whose results no stretch of its streams makes."""
    if query.grouping is not None and query.grouping.bucket is None:
        raise CannotCheck(
            "rows of groups without an end follow from all that came since they are there, of which only the "
            "newest part is kept: the tests compare them with DuckDB, and `millrace test` does"
        )
    if query.derived:
        raise CannotCheck("it reads results of a query that waits, which come in batches of their own")


def reference(query: Query, catalog: Catalog, ledger: Ledger, span: Span) -> Reference:
    """DuckDB's results whose last tuple arrived in the span's batches.

    Raises:
        BeyondReach: what they were made of is no longer there, or is too much.
        CannotCheck: they cannot be known.
    """
    names = sorted({source.stream for source in query.inputs})
    own = {name: accepted(catalog[name], own_stretch(ledger, span, name), MOST_TUPLES) for name in names}
    read = sum(taken.read for taken in own.values())
    times = np.concatenate([taken.times_us for taken in own.values()])
    reach = reach_of(query, catalog, ledger, span, times)
    if reach is None:
        return Reference(_nothing(span), read, None, None)
    tables: dict[str, pa.Table] = {}
    for name, taken in own.items():
        before = accepted(catalog[name], stretch_before(ledger, span, name, reach.needed[name]), MOST_TUPLES)
        tables[name] = pa.concat_tables([before.table, taken.table])
        read += before.read
    by_batch = expected_of(query, catalog, tables, span, reach)
    return Reference(by_batch, read, reach.event_from, reach.event_to)


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
            "its windows are too large to be read at once, and the sample that is kept of them begins behind "
            f"batch {sample.began:,}"
        )
    times = [_own_times(catalog[name], part.table, span) for name, part in sample.parts.items()]
    reach = reach_of(query, catalog, sampling.ledger, span, np.concatenate(times))
    sampled = Sampled(keys, sample.halvings)
    tuples = sum(part.table.num_rows for part in sample.parts.values())
    if not tuples and sample.halvings:
        raise CannotCheck(
            "its windows are too large to be read at once, and none of the few keys that have all their "
            f"tuples is in the sample of 1 in {1 / sampled.share:,.0f}"
        )
    if reach is None:
        return Reference(_nothing(span), tuples, None, None, sampled)
    for name, part in sample.parts.items():
        since, oldest = part.complete_from_us, reach.needed[name]
        if since is not None and (oldest is None or oldest < since):
            back = "its beginning" if oldest is None else f"{moment_of(oldest):%Y-%m-%d %H:%M:%S}"
            raise CannotCheck(
                "its windows are too large to be read at once, and the sample that is kept of them has what "
                f"is newer than {moment_of(since):%Y-%m-%d %H:%M:%S} of {name}; they reach back to {back}"
            )
    tables = {name: sampling.marked(name, sample) for name in sample.parts}
    conditions = {
        alias: [f"{quote(alias)}.{quote(mark_of(column))}" for column, _ in columns]
        for alias, columns in keys.by_alias.items()
    }
    by_batch = expected_of(query, catalog, tables, span, reach, conditions, sampled.holds)
    return Reference(by_batch, tuples, reach.event_from, reach.event_to, sampled)


@dataclass(frozen=True, slots=True)
class Reach:
    """Of a span's results, the event times that they are made of."""

    needed: dict[str, int | None]
    """By stream the oldest, microseconds; None for any."""
    marks: Marks | None
    """By which what waits is due; None where nothing does."""
    known_from_us: int | None
    """From this newest event time on all combinations are known; None if all are."""
    event_from: datetime | None
    event_to: datetime | None


def reach_of(
    query: Query, catalog: Catalog, ledger: Ledger, span: Span, times_us: npt.NDArray[np.int64]
) -> Reach | None:
    """How far a span's results reach back; None if there cannot be any.

    Args:
        times_us: of what arrived in the span.
    Raises:
        CannotCheck: results wait for watermarks that are not known.
    """
    came = (int(times_us.min()), int(times_us.max())) if len(times_us) else None
    event_from = None if came is None else moment_of(came[0])
    wait_us = waits_us(query, catalog)
    if wait_us is None:
        if came is None:
            return None
        return Reach(needed_from(query, catalog, came[0]), None, came[0], event_from, moment_of(came[1]))
    marks = marks_of(ledger, span)
    event_to = None if marks.last_us is None else moment_of(marks.last_us)
    if marks.before_us is None:
        # All that has come waits.
        return Reach({item.stream: None for item in query.inputs}, marks, None, event_from, event_to)
    least = marks.before_us - wait_us
    if came is not None:
        least = min(least, came[0])
    return Reach(needed_from(query, catalog, least), marks, least, event_from, event_to)


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
    """DuckDB's results of a span, by batch.

    Args:
        query: what is asked.
        catalog: has its streams.
        tables: what was accepted of each as far as `reach` asks for it, with BATCH and LATE.
        span: what is checked.
        reach: of its results.
        also: further conditions, by alias.
        holds: says of a result whether it is asked for.
    Raises:
        CannotCheck: they are too many, or not known whole.
    """
    marks = reach.marks
    text = results_text(query, catalog, marks, span.numbers[0], also)
    since = {
        batch.batch: None if part.missing_before is None else microseconds(part.missing_before)
        for batch in span.batches
        for part in (batch.queries[query.name],)
    }
    types = [output.expression.type for output in query.outputs]
    required: dict[int, Counter[Row]] = {number: Counter() for number in span.numbers}
    possible: dict[int, Counter[Row]] = {number: Counter() for number in span.numbers}
    try:
        with sandbox(tables, catalog.functions, DUCKDB_SECONDS, DUCKDB_MEMORY) as connection:
            _demand_whole_sessions(connection, query, catalog, reach, also)
            for *values, arrived, newest, is_late, deadline in _rows(connection, text):
                number = arrived if marks is None or deadline is None else marks.batch_of(deadline, arrived)
                row = as_published(values, types)
                if number is None or not holds(row):
                    continue
                possible[number][row] += 1
                begin = since[number]
                if not is_late and (begin is None or newest >= begin):
                    required[number][row] += 1
    except TooLong as error:
        raise CannotCheck(f"the batch join of its windows takes longer than {DUCKDB_SECONDS:g} s") from error
    except TooLarge as error:
        raise CannotCheck(f"the batch join of its windows needs more than {DUCKDB_MEMORY}") from error
    return {number: Expected(required[number], possible[number]) for number in span.numbers}


def _demand_whole_sessions(
    connection: duckdb.DuckDBPyConnection,
    query: Query,
    catalog: Catalog,
    reach: Reach,
    also: Mapping[str, Sequence[str]],
) -> None:
    bucket = None if query.grouping is None else query.grouping.bucket
    if bucket is None or not bucket.gap_us or reach.marks is None or reach.known_from_us is None:
        return
    text = undecided_text(query, catalog, reach.marks, reach.known_from_us, also)
    ((undecided,),) = connection.execute(text).fetchall()
    if undecided:
        raise CannotCheck(
            f"{undecided:,} of the sessions that ended may have begun more than {SESSION_GAPS} gaps before, "
            "which is as far back as their tuples are read"
        )


def _rows(connection: duckdb.DuckDBPyConnection, text: str) -> list[_ResultRow]:
    answer = connection.execute(text)
    rows: list[_ResultRow] = []
    while page := answer.fetchmany(_PAGE_ENTRIES):
        rows += page
        if len(rows) > MOST_RESULTS:
            raise CannotCheck(f"more than {MOST_RESULTS:,} results belong to its newest batch")
    return rows
