"""A batch join of what a topology read: DuckDB's results of some of its batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from backend.catalog.sandbox import TooLarge, TooLong, sandbox
from backend.oracle.comparison import Expected, Row, as_published
from backend.oracle.ledger import Ledger
from backend.oracle.span import MOST_TUPLES, CannotCheck, Span, Stretch, own_stretch, stretch_before
from backend.streams.retained import arrived
from optimizer.algebra.render import quote
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.retention import with_retentions
from optimizer.logical.stream import Stream
from optimizer.logical.window import union
from optimizer.sql import null_where_it_errs, to_duckdb

DUCKDB_SECONDS = 5.0
"""Of DuckDB's work; then the check compares nothing."""
DUCKDB_MEMORY = "256MB"
MOST_RESULTS = 100_000
"""Of DuckDB that are taken into this process."""
_PAGE_ENTRIES = 10_000
_BATCH, _NEWEST, _LATE = '"millrace batch"', '"millrace newest"', '"millrace late"'
"""Columns that no registered stream has: theirs have no blanks."""
_EARLIER = -1
"""The batch of everything that arrived before the span."""
_ResultRow = tuple[*tuple[object, ...], int, int, bool]
"""The query's outputs, then _BATCH, _NEWEST and _LATE."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Reference:
    by_batch: dict[int, Expected]
    tuples: int
    """Read, those that arrived before the span too."""
    event_from: datetime | None
    """The oldest event time that arrived in the span; None if nothing did."""
    event_to: datetime | None


@dataclass(frozen=True, slots=True)
class _Taken:
    """Accepted tuples of a stretch, with the columns _BATCH and _LATE."""

    table: pa.Table
    times_us: npt.NDArray[np.int64]
    read: int


def reference(query: Query, catalog: Catalog, ledger: Ledger, span: Span) -> Reference:
    """DuckDB's results whose last tuple arrived in the span's batches.

    Raises:
        CannotCheck: what they were made of is no longer there, or is too much.
    """
    if query.grouping is not None and query.grouping.bucket is None:
        raise CannotCheck(
            "rows of groups without an end follow from all that came since they are there, of which only the "
            "newest part is kept: the tests compare them with DuckDB, and `millrace test` does"
        )
    if query.branches or query.derived:
        raise CannotCheck(
            "its results wait for what is absent, so they come in other batches than their tuples"
        )
    names = sorted({source.stream for source in query.inputs})
    own = {name: _take(catalog[name], own_stretch(ledger, span, name), span.numbers) for name in names}
    times = np.concatenate([taken.times_us for taken in own.values()])
    if not len(times):
        nothing = {batch: Expected(Counter(), Counter()) for batch in span.numbers}
        return Reference(nothing, sum(taken.read for taken in own.values()), None, None)
    least = int(times.min())
    needed = with_retentions(query, catalog)
    read = 0
    tables: dict[str, pa.Table] = {}
    for name, taken in own.items():
        stretch = stretch_before(ledger, span, name, _oldest(needed, name, least))
        before = _take(catalog[name], stretch, (_EARLIER,) * len(stretch.parts))
        tables[name] = pa.concat_tables([before.table, taken.table])
        read += before.read + taken.read
    by_batch = _results(query, catalog, tables, span)
    return Reference(by_batch, read, _moment(least), _moment(int(times.max())))


def _oldest(query: Query, stream: str, least_us: int) -> datetime | None:
    """The oldest event time that may meet a tuple from `least_us` on; None for any."""
    longest_us = union(source.window for source in query.inputs if source.stream == stream).reach_us
    if longest_us is None:
        return None
    try:
        return _moment(least_us) - timedelta(microseconds=longest_us)
    except OverflowError:
        return None


def _take(stream: Stream, stretch: Stretch, batches: Sequence[int]) -> _Taken:
    """What the job accepted of a stretch.

    A tuple is late if it is older than the stream's watermark before its batch, and the job tells how
    many of a batch were: they are the oldest ones, whatever the watermark was. What `drop` turns away is
    left out, what `join` lets in is marked.
    """
    found = arrived(stream, stretch.after, stretch.bounds, MOST_TUPLES)
    if found is None:
        raise CannotCheck(f"more than {MOST_TUPLES:,} tuples of {stream.name} arrived in its windows")
    read = found.table.num_rows + sum(found.unreadable)
    if read < stretch.read:
        raise CannotCheck(
            f"{stretch.read - read:,} of {stretch.read:,} tuples of {stream.name} in its windows are no "
            "longer in Redis"
        )
    aside = sum(part.set_aside for part in stretch.parts)
    if aside:
        # Which ones only their dead letters tell, of which the newest are kept.
        raise CannotCheck(f"{aside:,} tuples of {stream.name} in its windows were set aside")
    times = found.table.column(stream.event_time).cast(pa.int64()).to_numpy()
    late = late_rows(times, found.interval, [part.late for part in stretch.parts])
    numbers = np.array(batches, np.int64)[found.interval]
    table = found.table.append_column(_BATCH.strip('"'), pa.array(numbers))
    table = table.append_column(_LATE.strip('"'), pa.array(late))
    if stream.late == "drop":
        table, times = table.filter(pa.array(~late)), times[~late]
    return _Taken(table, times, read)


def late_rows(
    times_us: npt.NDArray[np.int64], interval: npt.NDArray[np.int64], late: Sequence[int]
) -> npt.NDArray[np.bool_]:
    """Marks of the oldest `late[i]` tuples of every interval i.

    >>> late_rows(np.array([5, 3, 4, 1]), np.array([0, 0, 0, 1]), [2, 0]).tolist()
    [False, True, True, False]
    """
    marks = np.zeros(len(times_us), np.bool_)
    for number, many in enumerate(late):
        if many:
            rows = np.flatnonzero(interval == number)
            marks[rows[np.argsort(times_us[rows], kind="stable")[:many]]] = True
    return marks


def _results(
    query: Query, catalog: Catalog, tables: Mapping[str, pa.Table], span: Span
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
        (f"{batch} >= {span.numbers[0]}",),
        null_where_it_errs,
    )
    since = {
        batch.batch: None if part.missing_before is None else (part.missing_before - _EPOCH) // _MICROSECOND
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


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
