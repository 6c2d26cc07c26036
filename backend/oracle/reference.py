"""A batch join of what a topology read: DuckDB's results of some of its batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from backend.catalog.sandbox import TooLarge, TooLong, sandbox
from backend.oracle.accepted import BATCH, LATE, accepted
from backend.oracle.comparison import Expected, Row, as_published
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
from optimizer.sql import null_where_it_errs, to_duckdb

DUCKDB_SECONDS = 5.0
"""Of DuckDB's work; then the check compares nothing."""
DUCKDB_MEMORY = "256MB"
MOST_RESULTS = 100_000
"""Of DuckDB that are taken into this process."""
_PAGE_ENTRIES = 10_000
_BATCH, _NEWEST, _LATE = quote(BATCH), quote("millrace newest"), quote(LATE)
_EARLIER = -1
"""The batch of everything that arrived before the span."""
_ResultRow = tuple[*tuple[object, ...], int, int, bool]
"""The query's outputs, then BATCH, the newest event time and LATE."""


@dataclass(frozen=True, slots=True)
class Reference:
    by_batch: dict[int, Expected]
    tuples: int
    """Read, those that arrived before the span too."""
    event_from: datetime | None
    """The oldest event time that arrived in the span; None if nothing did."""
    event_to: datetime | None
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
    if query.branches or query.derived:
        raise CannotCheck(
            "its results wait for what is absent, so they come in other batches than their tuples"
        )


def reference(query: Query, catalog: Catalog, ledger: Ledger, span: Span) -> Reference:
    """DuckDB's results whose last tuple arrived in the span's batches.

    Raises:
        BeyondReach: what they were made of is no longer there, or is too much.
        CannotCheck: they cannot be known.
    """
    names = sorted({source.stream for source in query.inputs})
    own = {
        name: accepted(catalog[name], own_stretch(ledger, span, name), span.numbers, MOST_TUPLES)
        for name in names
    }
    read = sum(taken.read for taken in own.values())
    times = np.concatenate([taken.times_us for taken in own.values()])
    if not len(times):
        return Reference(_nothing(span), read, None, None)
    needed = needed_from(query, catalog, int(times.min()))
    tables: dict[str, pa.Table] = {}
    for name, taken in own.items():
        stretch = stretch_before(ledger, span, name, needed[name])
        before = accepted(catalog[name], stretch, (_EARLIER,) * len(stretch.parts), MOST_TUPLES)
        tables[name] = pa.concat_tables([before.table, taken.table])
        read += before.read
    by_batch = _results(query, catalog, tables, span)
    return Reference(by_batch, read, moment_of(int(times.min())), moment_of(int(times.max())))


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
    ours = np.concatenate(times)
    sampled = Sampled(keys, sample.halvings)
    tuples = sum(part.table.num_rows for part in sample.parts.values())
    if not tuples and sample.halvings:
        raise CannotCheck(
            "its windows are too large to be read at once, and none of the few keys that have all their "
            f"tuples is in the sample of 1 in {1 / sampled.share:,.0f}"
        )
    if not len(ours):
        return Reference(_nothing(span), tuples, None, None, sampled)
    needed = needed_from(query, catalog, int(ours.min()))
    for name, part in sample.parts.items():
        since, oldest = part.complete_from_us, needed[name]
        if since is not None and (oldest is None or oldest < since):
            back = "its beginning" if oldest is None else f"{moment_of(oldest):%Y-%m-%d %H:%M:%S}"
            raise CannotCheck(
                "its windows are too large to be read at once, and the sample that is kept of them has what "
                f"is newer than {moment_of(since):%Y-%m-%d %H:%M:%S} of {name}; they reach back to {back}"
            )
    tables = {name: sampling.marked(name, sample) for name in sample.parts}
    conditions = [
        f"{quote(alias)}.{quote(mark_of(column))}"
        for alias, columns in keys.by_alias.items()
        for column, _ in columns
    ]
    by_batch = _results(query, catalog, tables, span, conditions)
    return Reference(by_batch, tuples, moment_of(int(ours.min())), moment_of(int(ours.max())), sampled)


def _own_times(stream: Stream, table: pa.Table, span: Span) -> npt.NDArray[np.int64]:
    ours = pc.greater_equal(table.column(BATCH), span.numbers[0])
    return np.asarray(table.filter(ours).column(stream.event_time).cast(pa.int64()).to_numpy())


def _nothing(span: Span) -> dict[int, Expected]:
    return {batch: Expected(Counter(), Counter()) for batch in span.numbers}


def _results(
    query: Query, catalog: Catalog, tables: Mapping[str, pa.Table], span: Span, also: Sequence[str] = ()
) -> dict[int, Expected]:
    aliases = [quote(source.alias) for source in query.inputs]
    moments = [
        f"epoch_us({quote(source.alias)}.{quote(catalog[source.stream].event_time)})"
        for source in query.inputs
    ]
    batch = _greatest([f"{alias}.{_BATCH}" for alias in aliases])
    late = " OR ".join(f"{alias}.{_LATE}" for alias in aliases)
    text = to_duckdb(
        query,
        catalog,
        (f"{batch} AS {_BATCH}", f"{_greatest(moments)} AS {_NEWEST}", f"({late}) AS {_LATE}"),
        (f"{batch} >= {span.numbers[0]}", *also),
        null_where_it_errs,
    )
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
            for *values, number, newest, is_late in _rows(connection, text):
                row = as_published(values, types)
                possible[number][row] += 1
                begin = since[number]
                if not is_late and (begin is None or newest >= begin):
                    required[number][row] += 1
    except TooLong as error:
        raise CannotCheck(f"the batch join of its windows takes longer than {DUCKDB_SECONDS:g} s") from error
    except TooLarge as error:
        raise CannotCheck(f"the batch join of its windows needs more than {DUCKDB_MEMORY}") from error
    return {number: Expected(required[number], possible[number]) for number in span.numbers}


def _rows(connection: duckdb.DuckDBPyConnection, text: str) -> list[_ResultRow]:
    answer = connection.execute(text)
    rows: list[_ResultRow] = []
    while page := answer.fetchmany(_PAGE_ENTRIES):
        rows += page
        if len(rows) > MOST_RESULTS:
            raise CannotCheck(f"more than {MOST_RESULTS:,} results belong to its newest batch")
    return rows


def _greatest(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"greatest({', '.join(terms)})"
