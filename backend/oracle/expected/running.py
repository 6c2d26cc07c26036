"""Rows of groups without an end: what each batch of a span changes of the table.

The table of a batch is DuckDB's answer over all combinations that were found up to it. What the job publishes
of the batch is how this one differs from the one before: rows that are new or other ones, and the keys of
rows that are gone (docs/design/groups.md, *Running groups*).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import duckdb

from backend.oracle.accepted import BATCH, LATE
from backend.oracle.comparison import Expected, Row, as_published, near_pairs
from backend.oracle.expected.due import results_text
from backend.oracle.expected.kept import keep
from backend.oracle.expected.results import Asked, shown_keys
from backend.oracle.ledger import Ledger
from backend.oracle.span import CannotCheck, Span, microseconds
from optimizer.algebra.render import quote
from optimizer.algebra.types import ColumnType
from optimizer.logical.grouping import Grouping
from optimizer.logical.query import Query
from optimizer.physical.groups import DELETED
from optimizer.sql import groups_to_duckdb, null_where_it_errs

_COMBINATIONS = "millrace combinations"
_GROUP_NUMBER = quote("millrace group")


def is_running(query: Query) -> bool:
    """True of groups without a bucket."""
    return query.grouping is not None and query.grouping.bucket is None


def published_names(query: Query) -> list[str]:
    """The columns of a query's published results."""
    marks = [DELETED] if query.grouping is not None and query.grouping.changes else []
    return [*(output.name for output in query.outputs), *marks]


@dataclass(frozen=True, slots=True)
class Counted:
    """Which combinations running groups count."""

    from_us: int | None
    """Those of this event time and newer ones; None for all."""
    begins: bool
    """True if the span's first batch is the first that answered the query."""


def counted_of(query: Query, ledger: Ledger, span: Span) -> Counted:
    """What a span's groups count.

    Raises `CannotCheck` if that cannot be told from what the job says of its batches.
    """
    before = ledger.get(span.age + 1)
    begins = before is None or query.name not in before.queries
    told = [batch.queries[query.name] for batch in span.batches]
    if before is not None and not begins:
        told.append(before.queries[query.name])
    if any(part.joining for part in told):
        raise CannotCheck("a stream of it is still being read from its beginning, and nothing is counted")
    since = {part.missing_before for part in told}
    if len(since) > 1:
        raise CannotCheck("what it counts changed with these batches")
    (from_,) = since
    if from_ is not None and (query.derived or any(branch.absences for branch in query.branches)):
        raise CannotCheck("it came to a topology that ran, and its oldest combinations may wait for others")
    return Counted(None if from_ is None else microseconds(from_), begins)


def changes_of(connection: duckdb.DuckDBPyConnection, asked: Asked, counted: Counted) -> dict[int, Expected]:
    """The changes of each of a span's batches.

    Args:
        connection: to DuckDB with the streams' accepted tuples, up to the span's end.
        asked: of a query with running groups.
        counted: which combinations the groups count.
    """
    grouping, marks, span = asked.query.grouping, asked.marks, asked.span
    assert grouping is not None
    combinations = replace(asked.query, grouping=None, outputs=asked.query.branches[0].outputs)
    since = None if marks is None else replace(marks, before_us=None)
    text = results_text(combinations, asked.catalog, since, 0, asked.also)

    def found_in(arrived: int | None, deadline_us: int | None) -> int | None:
        if marks is None or deadline_us is None:
            return arrived
        return marks.found_in(deadline_us, arrived)

    numbered = f"SELECT *, {_number(grouping)} AS {_GROUP_NUMBER} FROM (\n{text}\n)"
    keep(connection, _COMBINATIONS, numbered, found_in)
    table = _Table(connection, asked, grouping, counted, shown_keys(asked.query))
    found = {number: Expected(Counter(), Counter()) for number in span.numbers}
    first, came = span.numbers[0], table.batches()
    if counted.begins and not grouping.keys:
        # Its one row is there from the first batch on, with or without combinations.
        came.add(first)
    for number in sorted(came & found.keys()):
        new = table.rows(number, "<=")
        begins = number == first and counted.begins and not grouping.keys
        old = Counter[Row]() if begins else table.rows(number, "<")
        required, possible = table.changes(old, new)
        if number == first and not grouping.keys:
            # Another version's groups may have been the same, or not.
            possible |= table.marked(new, deleted=False)
        found[number] = Expected(required, possible)
    return found


def _number(grouping: Grouping) -> str:
    """A number for each group."""
    keys = [
        f"{quote(name)} + 0.0" if key.type is ColumnType.DOUBLE else quote(name)
        for name, key in grouping.keys
    ]
    return f"dense_rank() OVER (ORDER BY {', '.join(keys)})" if keys else "1"


@dataclass(frozen=True, slots=True)
class _Table:
    connection: duckdb.DuckDBPyConnection
    asked: Asked
    grouping: Grouping
    counted: Counted
    keys: tuple[int, ...]
    """The places of the outputs that show them."""

    def batches(self) -> set[int]:
        """Those that found a combination."""
        text = f"SELECT DISTINCT {quote(BATCH)} FROM {quote(_COMBINATIONS)}"
        return {number for (number,) in self.connection.execute(text).fetchall()}

    def rows(self, number: int, upto: str) -> Counter[Row]:
        """Rows of the groups that a batch added to: up to it (`<=`), or as they were before (`<`)."""
        added = f"SELECT {_GROUP_NUMBER} FROM {quote(_COMBINATIONS)} WHERE {quote(BATCH)} = {number}"
        asked = f"{quote(BATCH)} {upto} {number} AND {_GROUP_NUMBER} IN ({added})"
        if self.counted.from_us is not None:
            assert self.grouping.counted_by is not None
            time = quote(self.grouping.taken[self.grouping.counted_by])
            asked += f" AND epoch_us({time}) >= {self.counted.from_us}"
        own = ", ".join((quote(BATCH), quote(LATE), _GROUP_NUMBER))
        combinations = f"SELECT * EXCLUDE ({own}) FROM {quote(_COMBINATIONS)} WHERE {asked}"
        text = groups_to_duckdb(self.asked.query, combinations, null_where_it_errs)
        types = [output.expression.type for output in self.asked.query.outputs]
        found = (as_published(row, types) for row in self.connection.execute(text).fetchall())
        return Counter(row for row in found if self.asked.holds(row))

    def changes(self, old: Counter[Row], new: Counter[Row]) -> tuple[Counter[Row], Counter[Row]]:
        """How a batch's rows must differ from those before, and how they may.

        A row whose floats are near what they were may be the same in the runtime, which sums otherwise; and
        one that is equal here may be another there.
        """
        came = new - old
        near = Counter(row for row, _ in near_pairs(new, old))
        same = new & old if any(isinstance(value, float) for row in new for value in row) else Counter[Row]()
        gone = Counter(map(self._key, old.elements())) - Counter(map(self._key, new.elements()))
        left = self.marked(gone, deleted=True) if self.grouping.changes else Counter[Row]()
        return (
            self.marked(came - near, deleted=False) + left,
            self.marked(came + same, deleted=False) + left,
        )

    def marked(self, rows: Counter[Row], *, deleted: bool) -> Counter[Row]:
        """As they are published."""
        if not self.grouping.changes:
            return rows
        return Counter({(*row, deleted): many for row, many in rows.items()})

    def _key(self, row: Row) -> Row:
        """A row with NULL for all that is not its key."""
        return tuple(value if place in self.keys else None for place, value in enumerate(row))
