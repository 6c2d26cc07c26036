"""Rows of groups without an end: what each batch of a span changes of the table.

The table of a batch is DuckDB's answer over all combinations that were found up to it. What the job publishes
of the batch is how this one differs from the one before: rows that are new or other ones, and the keys of
rows that are gone (docs/design/groups.md, *Running groups*).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import duckdb

from backend.oracle.accepted import BATCH, LATE
from backend.oracle.comparison import Expected, Row, as_published, near_pairs
from backend.oracle.expected.due import results_text
from backend.oracle.expected.kept import keep
from backend.oracle.expected.results import MOST_RESULTS, Asked, shown_keys
from backend.oracle.ledger import Ledger
from backend.oracle.span import CannotCheck, Span, microseconds
from optimizer.algebra.render import quote
from optimizer.algebra.types import ColumnType
from optimizer.logical.grouping import Grouping
from optimizer.logical.query import Query
from optimizer.physical.groups import DELETED
from optimizer.sql import groups_to_duckdb, null_where_it_errs

_COMBINATIONS = "millrace combinations"
_GROUP, _NUMBER = "millrace group", "millrace number"
_ONLY = 1
"""The number of the group without keys."""


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

    numbered = f"SELECT *, {_number(grouping)} AS {quote(_GROUP)} FROM (\n{text}\n)"
    keep(connection, _COMBINATIONS, numbered, found_in)
    table = _Table(connection, asked, grouping, counted)
    published = _Published(grouping.changes, shown_keys(asked.query))
    found = {number: Expected(Counter(), Counter()) for number in span.numbers}
    first, touched, rows = span.numbers[0], table.touched(), table.rows()
    current = {group: row for (number, group), row in rows.items() if number == first - 1}
    if not grouping.keys and counted.begins:
        # Its one row is there from this batch on, with or without combinations.
        current[_ONLY] = Counter()
    for number, groups in sorted(touched.items()):
        old = _together(current.get(group) for group in groups)
        current.update({group: rows.get((number, group), Counter()) for group in groups})
        new = _together(current[group] for group in groups)
        required, possible = published.changes(old, new)
        if number == first and not grouping.keys:
            # Another version's groups may have been the same, or not.
            possible |= published.marked(new, deleted=False)
        found[number] = Expected(required, possible)
    return found


def _together(rows: Iterable[Counter[Row] | None]) -> Counter[Row]:
    found = Counter[Row]()
    for some in rows:
        found.update(some or ())
    return found


def _number(grouping: Grouping) -> str:
    """A number for each group."""
    keys = [
        f"{quote(name)} + 0.0" if key.type is ColumnType.DOUBLE else quote(name)
        for name, key in grouping.keys
    ]
    return f"dense_rank() OVER (ORDER BY {', '.join(keys)})" if keys else str(_ONLY)


@dataclass(frozen=True, slots=True)
class _Table:
    """The groups that the span's batches added to, as they were after each of these."""

    connection: duckdb.DuckDBPyConnection
    asked: Asked
    grouping: Grouping
    counted: Counted

    def touched(self) -> dict[int, set[int]]:
        """By batch of the span the groups that it added to.

        To its first one the group without keys belongs in any case.
        """
        found: dict[int, set[int]] = {}
        for number, group in self.connection.execute(self._added).fetchall():
            found.setdefault(number, set()).add(group)
        return found

    def rows(self) -> dict[tuple[int, int], Counter[Row]]:
        """By batch and group its row, none of what HAVING leaves out.

        Also what the groups were with the batch before the span.
        """
        first = self.asked.span.numbers[0]
        looked_at = f"{self._added} UNION SELECT {first - 1}, {quote(_GROUP)} FROM ({self._added})"
        own = ", ".join(map(quote, (BATCH, LATE, _GROUP)))
        combinations = (
            f"SELECT c.* EXCLUDE ({own}), a.number AS {quote(_NUMBER)}, a.{quote(_GROUP)} AS {quote(_GROUP)} "
            f"FROM ({looked_at}) AS a JOIN {quote(_COMBINATIONS)} AS c "
            f"ON c.{quote(_GROUP)} = a.{quote(_GROUP)} AND c.{quote(BATCH)} <= a.number{self._counts}"
        )
        found: dict[tuple[int, int], Counter[Row]] = {}
        for *values, number, group in self._answers(combinations, (_NUMBER, _GROUP)):
            found[number, group] = self._asked_for(values)
        if not self.grouping.keys:
            begin = self._first_counted()
            nothing = f"SELECT * EXCLUDE ({own}) FROM {quote(_COMBINATIONS)} WHERE FALSE"
            empty = [
                number for number in (first - 1, *self.asked.span.numbers) if begin is None or number < begin
            ]
            for answer in self._answers(nothing) if empty else ():
                found |= {(number, _ONLY): self._asked_for(answer) for number in empty}
        return found

    @property
    def _added(self) -> str:
        first = self.asked.span.numbers[0]
        text = (
            f"SELECT DISTINCT {quote(BATCH)} AS number, {quote(_GROUP)} FROM {quote(_COMBINATIONS)} "
            f"WHERE {quote(BATCH)} >= {first}"
        )
        return text if self.grouping.keys else f"{text} UNION SELECT {first}, {_ONLY}"

    @property
    def _counts(self) -> str:
        if self.counted.from_us is None:
            return ""
        assert self.grouping.counted_by is not None
        time = quote(self.grouping.taken[self.grouping.counted_by])
        return f" AND epoch_us(c.{time}) >= {self.counted.from_us}"

    def _first_counted(self) -> int | None:
        """The batch of the first combination."""
        combinations = f"SELECT * FROM {quote(_COMBINATIONS)} AS c WHERE TRUE{self._counts}"
        ((begin,),) = self.connection.execute(f"SELECT min({quote(BATCH)}) FROM ({combinations})").fetchall()
        return cast("int | None", begin)

    def _answers(self, combinations: str, apart: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        text = groups_to_duckdb(self.asked.query, combinations, null_where_it_errs, apart, exact=True)
        rows = self.connection.execute(text).fetchmany(MOST_RESULTS + 1)
        if len(rows) > MOST_RESULTS:
            raise CannotCheck(f"its batches add to more than {MOST_RESULTS:,} groups")
        return rows

    def _asked_for(self, values: Sequence[object]) -> Counter[Row]:
        row = as_published(values, [output.expression.type for output in self.asked.query.outputs])
        return Counter([row]) if self.asked.holds(row) else Counter()


@dataclass(frozen=True, slots=True)
class _Published:
    """How rows that change are published."""

    changes_rows: bool
    """False of rows that only come."""
    keys: tuple[int, ...]
    """The places of the outputs that show them."""

    def changes(self, old: Counter[Row], new: Counter[Row]) -> tuple[Counter[Row], Counter[Row]]:
        """How a batch's rows must differ from those before, and how they may.

        A row whose floats are near what they were may be the same in the runtime, which sums otherwise; and
        one that is equal here may be another there.
        """
        came = new - old
        near = Counter(row for row, _ in near_pairs(new, old))
        same = new & old if any(isinstance(value, float) for row in new for value in row) else Counter[Row]()
        gone = Counter(map(self._key, old.elements())) - Counter(map(self._key, new.elements()))
        left = self.marked(gone, deleted=True) if self.changes_rows else Counter[Row]()
        return (
            self.marked(came - near, deleted=False) + left,
            self.marked(came + same, deleted=False) + left,
        )

    def marked(self, rows: Counter[Row], *, deleted: bool) -> Counter[Row]:
        """With the mark of what is gone."""
        if not self.changes_rows:
            return rows
        return Counter({(*row, deleted): many for row, many in rows.items()})

    def _key(self, row: Row) -> Row:
        """A row with NULL for all that is not its key."""
        return tuple(value if place in self.keys else None for place, value in enumerate(row))
