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
from backend.oracle.ledger import Batch, Ledger
from backend.oracle.span import CannotCheck, Span, microseconds
from optimizer.algebra.render import quote
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import group_wait_us, time_of, waits
from optimizer.logical.grouping import GROUP, Bucket
from optimizer.logical.query import Branch, Input, Query
from optimizer.sql import SESSION_LAST, null_where_it_errs, to_duckdb

_BATCH, _NEWEST, _LATE, _DEADLINE = (quote(n) for n in (BATCH, "millrace newest", LATE, "millrace deadline"))
_NEVER_US = -(2**63)
"""A watermark before any event time."""
SESSION_GAPS = 32
"""How long a session may be, in its gaps, to be compared: so far back are tuples read."""
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
        if arrived is None or arrived < self.since:
            if self.before_us is not None and self.before_us > deadline_us:
                return None
        elif (found_under := self._under(arrived)) is not None:
            deadline_us = max(deadline_us, found_under)
        passed = bisect_right([_NEVER_US if us is None else us for us in self.in_span_us], deadline_us)
        return self.numbers[passed] if passed < len(self.numbers) else None

    def _under(self, arrived: int) -> int | None:
        return self.in_span_us[arrived - self.numbers[0]] if arrived >= self.numbers[0] else self.before_us


def marks_of(ledger: Ledger, span: Span) -> Marks:
    """The watermarks of a span's batches.

    Raises `CannotCheck` if its job does not tell them.
    """
    before = ledger.get(span.age + 1)
    if before is None:
        if not ledger.begins_with(span.age):
            raise CannotCheck(f"the watermark before batch {span.numbers[0]:,} is no longer recorded")
        return Marks(None, 0, span.numbers, tuple(_mark(batch) for batch in span.batches))
    since, age = before, span.age + 2
    while (older := ledger.get(age)) is not None and older.watermark == before.watermark:
        since, age = older, age + 1
    return Marks(_mark(before), since.batch, span.numbers, tuple(_mark(batch) for batch in span.batches))


def _mark(batch: Batch) -> int | None:
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

    Of a session that is any of its combinations', as far as sessions are followed back. None for a query of
    which nothing waits.
    """
    if query.grouping is not None and query.grouping.bucket is not None:
        bucket = query.grouping.bucket
        return _group_waits_us(query, bucket, catalog) + SESSION_GAPS * bucket.gap_us
    bounds = [
        us
        for branch in query.branches
        for absence in branch.absences
        for wait in waits(branch, absence, catalog)
        for _, us in wait.until
    ]
    return max(bounds, default=None)


def _group_waits_us(query: Query, bucket: Bucket, catalog: Catalog) -> int:
    wait_us, _ = group_wait_us(query, catalog)
    assert wait_us is not None, "a query whose groups never end is refused when it is saved"
    return bucket.size_us - 1 + bucket.gap_us + wait_us


def results_text(
    query: Query, catalog: Catalog, marks: Marks | None, first: int, also: Mapping[str, Sequence[str]]
) -> str:
    """DuckDB's SQL for the results that may be in a span.

    Behind a result's own columns come the batch of its last tuple, its newest event time (of a group the
    beginning of its bucket, of a session the gap before it), whether a late tuple is in it, and its deadline;
    NULL for what it has not.

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
    last = f"epoch_us({quote(GROUP)}.{quote(SESSION_LAST)})" if bucket.gap_us else begin
    deadline = f"{last}::HUGEINT + {_group_waits_us(query, bucket, catalog)}"
    beside = (
        f"NULL::BIGINT AS {_BATCH}",
        f"{begin} - {bucket.gap_us} AS {_NEWEST}",
        f"FALSE AS {_LATE}",
        f"{deadline} AS {_DEADLINE}",
    )
    conditions = _of(query.inputs, also)
    text = to_duckdb(query, catalog, beside, conditions, null_where_it_errs)
    return f"SELECT * FROM (\n{text}\n) WHERE {_may_be_due(_DEADLINE, 'FALSE', marks)}"


def undecided_text(
    query: Query, catalog: Catalog, marks: Marks, known_from_us: int, also: Mapping[str, Sequence[str]]
) -> str:
    """DuckDB's SQL that counts the sessions of a span that may not be known whole.

    They fall due in it, and may have begun before `known_from_us`, from when on all combinations are known;
    whatever HAVING says of them, which may say something else of all their tuples. The other arguments are
    those of `results_text`.
    """
    assert query.grouping is not None
    assert query.grouping.bucket is not None
    asked = replace(query, grouping=replace(query.grouping, conditions=()))
    text = _groups_text(asked, query.grouping.bucket, catalog, marks, also)
    return f"SELECT count(*) FROM (\n{text}\n) WHERE {_NEWEST} < {known_from_us}"


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
