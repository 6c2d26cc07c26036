"""DuckDB's results with the batch of a span that each is due in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from backend.oracle.comparison import Row, as_published
from backend.oracle.expected.due import Marks, results_text
from backend.oracle.span import CannotCheck, Span
from optimizer.algebra.expression import Column
from optimizer.logical.catalog import Catalog
from optimizer.logical.grouping import GROUP
from optimizer.logical.query import Query

MOST_RESULTS = 100_000
"""Of DuckDB that are taken into this process."""
_PAGE_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class Asked:
    """Which results are asked for."""

    query: Query
    """Its derived streams are tables like others."""
    catalog: Catalog
    """Has its streams."""
    span: Span
    marks: Marks | None
    """Of the span; None for a query of which nothing waits."""
    also: Mapping[str, Sequence[str]]
    """Further conditions of combinations, by alias."""
    holds: Callable[[Row], bool]
    """Says of a result whether it is asked for."""


@dataclass(frozen=True, slots=True)
class Due:
    """A result that is due in a batch."""

    batch: int
    row: Row
    known_from_us: int
    """All that is of this event time or newer must be there, or it may be another result."""
    is_late: bool
    """True if a late tuple is in it."""


def due_results(connection: duckdb.DuckDBPyConnection, asked: Asked) -> Iterator[Due]:
    """DuckDB's results that are due in the span.

    Raises `CannotCheck` if they are too many.
    """
    query, marks = asked.query, asked.marks
    types = [output.expression.type for output in query.outputs]
    text = results_text(query, asked.catalog, marks, asked.span.numbers[0], asked.also)
    answer = connection.execute(text)
    taken = 0
    while page := answer.fetchmany(_PAGE_ENTRIES):
        taken += len(page)
        if taken > MOST_RESULTS:
            raise CannotCheck(f"more than {MOST_RESULTS:,} results belong to its newest batch")
        for *values, arrived, newest_us, is_late, deadline_us in page:
            number = arrived if marks is None or deadline_us is None else marks.batch_of(deadline_us, arrived)
            row = as_published(values, types)
            if number is not None and asked.holds(row):
                yield Due(number, row, newest_us, is_late)


def shown_keys(query: Query) -> tuple[int, ...]:
    """The places of the outputs that show a group's key, its bucket's left out.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT))
    >>> catalog = Catalog.of([Stream("a", columns, "at")])
    >>> shown_keys(parse_query("SELECT COUNT(*) AS many, k, k + 1 AS next FROM a GROUP BY k", "q", catalog))
    (1,)
    """
    grouping = query.grouping
    if grouping is None:
        return ()
    bucket = None if grouping.bucket is None else grouping.bucket.key
    keys = {name for name, _ in grouping.keys} - {bucket}
    return tuple(
        place
        for place, output in enumerate(query.outputs)
        if isinstance(one := output.expression, Column) and one.input == GROUP and one.name in keys
    )
