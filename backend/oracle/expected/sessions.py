"""How far back sessions are looked for, and which ones stay undecided.

A session may be of any length, but where it begins shows: nothing is a gap or less before its first time. So
what was read tells of each whether it may have begun before, and then more is read. Where no more can be read
such a session is left out: its keys and its batch are known, nothing else of its row is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import duckdb

from backend.oracle.comparison import Row, Undecided
from backend.oracle.expected.results import Asked, due_results, shown_keys
from optimizer.logical.query import Query

SAMPLED_GAPS = 64
"""For so many gaps what a session is made of stays in a sample."""
_LOOK_BACKS = (2, 16, 128, None)


def is_session(query: Query) -> bool:
    """True of groups whose buckets are sessions."""
    return _gap_us(query) > 0


def look_backs(query: Query) -> tuple[int | None, ...]:
    """How many gaps to read before a session's last time, try by try; None for all."""
    return _LOOK_BACKS if is_session(query) else (0,)


def session_from(query: Query, least_us: int | None, gaps: int | None) -> int | None:
    """From when on a query's combinations are looked for.

    Args:
        query: of any kind.
        least_us: the oldest time of what else is needed; None for any.
        gaps: how many gaps before it a session may have begun; None for any number.
    """
    if not is_session(query):
        return least_us
    return None if least_us is None or gaps is None else least_us - gaps * _gap_us(query)


def undecided_sessions(
    connection: duckdb.DuckDBPyConnection, asked: Asked, since_us: int | None
) -> dict[int, Undecided]:
    """By batch the sessions that may have begun before what was read.

    None of another query. Whatever HAVING or LIMIT say of what was read of them: they may say something else
    of the whole.

    Args:
        connection: to DuckDB with the streams' accepted tuples.
        asked: which results are.
        since_us: from this event time on all combinations are there; None if all are.
    """
    query = asked.query
    if not is_session(query) or since_us is None:
        return {}
    assert query.grouping is not None
    every = replace(query, grouping=replace(query.grouping, conditions=(), order=(), limit=None))
    places = shown_keys(query)
    found: dict[int, Counter[Row]] = {}
    for due in due_results(connection, replace(asked, query=every)):
        if due.known_from_us < since_us:
            keys = tuple(due.row[place] for place in places)
            found.setdefault(due.batch, Counter())[keys] += 1
    return {batch: Undecided(places, rows) for batch, rows in found.items()}


def left_out(undecided: int, gaps: int) -> str:
    """What a check says of sessions that it cannot compare.

    >>> left_out(1, 128)[:70]
    '1 of the sessions that ended may have begun more than 128 gaps before,'
    """
    return (
        f"{undecided:,} of the sessions that ended may have begun more than {gaps:,} gaps before, which is "
        "as far back as their tuples are read"
    )


def _gap_us(query: Query) -> int:
    bucket = None if query.grouping is None else query.grouping.bucket
    return 0 if bucket is None else bucket.gap_us
