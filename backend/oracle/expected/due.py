"""When results come: at once, or once the watermark has passed what they wait for.

A result of an inner join is in the batch of its last tuple. One that waits, for absent partners or for its
bucket's end, is in the first batch whose watermark is newer than its deadline, and newer than the one under
which its last tuple came (docs/design/outer.md, *In a batch*). A session's deadline follows from its last
time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backend.oracle.accepted import BATCH, LATE
from backend.oracle.ledger import Ledger
from backend.oracle.span import CannotCheck, Span, microseconds
from optimizer.algebra.render import quote
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import group_wait_us, time_of, waits
from optimizer.logical.grouping import GROUP, Bucket
from optimizer.logical.query import Branch, Input, Query
from optimizer.sql import SESSION_LAST, null_where_it_errs, to_duckdb

DEADLINE = "millrace deadline"
BESIDE = (BATCH, "millrace newest", LATE, DEADLINE)
"""What `results_text` has behind a result's own columns."""
_BATCH, _NEWEST, _LATE, _DEADLINE = map(quote, BESIDE)
_NEVER_US = -(2**63)
"""A watermark before any event time."""
_LAST_YEAR = 9999
"""Of moments: a watermark behind it is told as its end."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The topology's watermarks, microseconds, where it had any."""

    before_us: int | None
    """That of the batch before the span."""
    since: int
    """The first batch that had it."""
    numbers: tuple[int, ...]
    """The span's batches."""
    in_span_us: tuple[int | None, ...]
    """Theirs; none is older than the one before it."""

    @property
    def last_us(self) -> int | None:
        """That of the span's last batch: whatever has an older deadline has come."""
        return self.in_span_us[-1]

    def batch_of(self, deadline_us: int, arrived: int | None) -> int | None:
        """The batch of the span in which something is due; None if none is.

        Args:
            deadline_us: until when it waits.
            arrived: the batch of its last tuple; None for a group, whose tuples come before it is final.

        >>> marks = Marks(10, 4, (6, 7, 8), (10, 20, 20))
        >>> marks.batch_of(15, 3), marks.batch_of(5, 5), marks.batch_of(5, 3), marks.batch_of(20, 7)
        (7, 7, None, None)
        """
        found = self.found_in(deadline_us, arrived)
        return None if found is None or found < self.numbers[0] else found

    def found_in(self, deadline_us: int, arrived: int | None) -> int | None:
        """The batch in which something is due; None if it is so behind the span.

        For all that was due before the span that is the batch before it.

        >>> marks = Marks(10, 4, (6, 7, 8), (10, 20, 20))
        >>> marks.found_in(15, 3), marks.found_in(5, 3), marks.found_in(20, 7)
        (7, 5, None)
        """
        if arrived is None or arrived < self.since:
            if self.before_us is not None and self.before_us > deadline_us:
                return self.numbers[0] - 1
        elif (found_under := self._under(arrived)) is not None:
            deadline_us = max(deadline_us, found_under)
        passed = bisect_right([_NEVER_US if us is None else us for us in self.in_span_us], deadline_us)
        return self.numbers[passed] if passed < len(self.numbers) else None

    def _under(self, arrived: int) -> int | None:
        return self.in_span_us[arrived - self.numbers[0]] if arrived >= self.numbers[0] else self.before_us


def marks_of(ledger: Ledger, span: Span, tier: int = 0) -> Marks:
    """The watermarks under which a span's batches let things fall due.

    Args:
        ledger: of the query's topology.
        span: some batches of it.
        tier: of the query: by each derived stream on the way to it, it is the watermark of two batches ago
            (docs/design/derived.md, *In a batch*).
    Raises:
        CannotCheck: its job does not tell them, or they are no longer recorded.
    """
    first, before = span.numbers[0], span.age + 1
    in_span = tuple(_mark(ledger, age, 2 * tier) for age in range(span.age, span.age - len(span.numbers), -1))
    if first == 0:
        return Marks(None, 0, span.numbers, in_span)
    before_us, since = _mark(ledger, before, 2 * tier), first - 1
    while since and ledger.get(before + first - since + 2 * tier) is not None:
        if _mark(ledger, before + first - since, 2 * tier) != before_us:
            break
        since -= 1
    return Marks(before_us, since, span.numbers, in_span)


def _mark(ledger: Ledger, age: int, ago: int) -> int | None:
    """The watermark so many batches before that of an age; None without one."""
    newest = ledger.get(0)
    assert newest is not None  # who asks has a span
    number = newest.batch - age - ago
    if number < 0:
        return None
    batch = ledger.get(age + ago)
    if batch is None:
        raise CannotCheck(f"the watermark of batch {number:,} is no longer recorded")
    told = batch.watermark
    if told is None:
        return None
    if not isinstance(told, datetime):
        raise CannotCheck(
            "its results wait for the watermark, which its job, of an older release, does not tell"
        )
    if told.year == _LAST_YEAR:
        raise CannotCheck("its results wait for the watermark, which has come to the end of time")
    return microseconds(told)


def waits_us(query: Query, catalog: Catalog) -> int | None:
    """How far before its deadline the newest tuple of a result may lie.

    Of a session that is the last of its combinations'. None for a query of which nothing waits.
    """
    if query.grouping is not None and query.grouping.bucket is not None:
        return _group_waits_us(query, query.grouping.bucket, catalog)
    bounds = [
        us
        for branch in query.branches
        for absence in branch.absences
        for wait in waits(branch, absence, catalog)
        for _, us in wait.until
    ]
    return max(bounds, default=None)


def least_of(
    query: Query, catalog: Catalog, marks: Marks | None, came_us: Sequence[int | None]
) -> int | None:
    """The oldest that the newest tuple of a span's result may be; None for any.

    Args:
        query: without derived streams, or with them as tables.
        catalog: has its streams.
        marks: of the span; None for a query of which nothing waits.
        came_us: the oldest times of what arrived in the span; None among them for any.
    """
    times = list(came_us)
    wait_us = waits_us(query, catalog)
    if wait_us is not None:
        assert marks is not None
        times.append(None if marks.before_us is None else marks.before_us - wait_us)
    known = [us for us in times if us is not None]
    return min(known) if known and len(known) == len(times) else None


def _group_waits_us(query: Query, bucket: Bucket, catalog: Catalog) -> int:
    wait_us, _ = group_wait_us(query, catalog)
    assert wait_us is not None, "a query whose groups never end is refused when it is saved"
    return bucket.size_us - 1 + bucket.gap_us + wait_us


def results_text(
    query: Query, catalog: Catalog, marks: Marks | None, first: int, also: Mapping[str, Sequence[str]]
) -> str:
    """DuckDB's SQL for the results that may be in a span.

    Behind a result's own columns come the batch of its last tuple, its newest event time (of a group the
    beginning of its bucket; of a session the time from which on all must be known, a gap before its own),
    whether a late tuple is in it, and its deadline; NULL for what it has not.

    Args:
        query: what is asked.
        catalog: has its streams, each as a relation with BATCH and LATE.
        marks: of the span; None for a query of which nothing waits.
        first: the span's first batch.
        also: further conditions, by alias.
    """
    if query.grouping is not None and query.grouping.bucket is not None:
        assert marks is not None
        return _groups_text(query, query.grouping.bucket, catalog, marks, also)
    if not query.branches:
        asked = f"{_arrived(query.inputs)} >= {first}"
        return _text(query, query.inputs, catalog, asked, "NULL::HUGEINT", also)
    parts = []
    for branch in query.branches:
        own = replace(query, branches=(branch,))
        arrived, deadline = _arrived(branch.inputs), "NULL::HUGEINT"
        asked = f"{arrived} >= {first}"
        if branch.absences:
            assert marks is not None
            deadline = _deadline(branch, catalog)
            asked = _may_be_due(deadline, f"{arrived} >= {marks.since}", marks)
        parts.append(_text(own, branch.inputs, catalog, asked, deadline, also))
    return "\nUNION ALL\n".join(parts)


def _text(
    query: Query,
    inputs: Sequence[Input],
    catalog: Catalog,
    asked: str,
    deadline: str,
    also: Mapping[str, Sequence[str]],
) -> str:
    moments = [f"epoch_us({_time(item, catalog)})" for item in inputs]
    late = " OR ".join(f"{quote(item.alias)}.{_LATE}" for item in inputs)
    beside = (
        f"{_arrived(inputs)} AS {_BATCH}",
        f"{_greatest(moments)} AS {_NEWEST}",
        f"({late}) AS {_LATE}",
        f"{deadline} AS {_DEADLINE}",
    )
    return to_duckdb(query, catalog, beside, (asked, *_of(inputs, also)), null_where_it_errs)


def _groups_text(
    query: Query, bucket: Bucket, catalog: Catalog, marks: Marks, also: Mapping[str, Sequence[str]]
) -> str:
    begin = f"epoch_us({quote(GROUP)}.{quote(bucket.key)})"
    until, since = begin, begin
    if bucket.gap_us:
        # A neighbour of a session's first time would be no more than the gap before that.
        until, since = f"epoch_us({quote(GROUP)}.{quote(SESSION_LAST)})", f"{begin} - {bucket.gap_us}"
    deadline = f"{until}::HUGEINT + {_group_waits_us(query, bucket, catalog)}"
    beside = (
        f"NULL::BIGINT AS {_BATCH}",
        f"{since} AS {_NEWEST}",
        f"FALSE AS {_LATE}",
        f"{deadline} AS {_DEADLINE}",
    )
    conditions = _of(query.inputs, also)
    text = to_duckdb(query, catalog, beside, conditions, null_where_it_errs, exact=True)
    return f"SELECT * FROM (\n{text}\n) WHERE {_may_be_due(_DEADLINE, 'FALSE', marks)}"


def _may_be_due(deadline: str, found_late: str, marks: Marks) -> str:
    """The condition that something falls due in the span, or may.

    What was found under the watermark before the span falls due in it even with an older deadline.
    """
    if marks.last_us is None:
        return "FALSE"
    come = f"{deadline} < {marks.last_us}"
    return (
        come if marks.before_us is None else f"{come} AND ({deadline} >= {marks.before_us} OR {found_late})"
    )


def _deadline(branch: Branch, catalog: Catalog) -> str:
    times = {item.alias: _time(item, catalog) for item in branch.inputs}
    return _greatest(
        [
            _least([f"epoch_us({times[alias]})::HUGEINT + {us}" for alias, us in wait.until])
            for absence in branch.absences
            for wait in waits(branch, absence, catalog)
        ]
    )


def _of(inputs: Sequence[Input], also: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(condition for item in inputs for condition in also.get(item.alias, ()))


def _arrived(inputs: Sequence[Input]) -> str:
    return _greatest([f"{quote(item.alias)}.{_BATCH}" for item in inputs])


def _time(item: Input, catalog: Catalog) -> str:
    return f"{quote(item.alias)}.{quote(time_of(item, catalog).name)}"


def _greatest(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"greatest({', '.join(terms)})"


def _least(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"least({', '.join(terms)})"
