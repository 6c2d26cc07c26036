"""Results of queries as streams that other queries read.

A query of inner joins that is read is replaced by what it joins (`optimizer.logical.views`). One with outer
joins, groups or UNION ALL is answered first, in the same topology, and its results are tuples of a *derived
stream*. Their event time is the end of a group's bucket, or the newest event time of a combination. Results
of a time e are all there once the watermark has passed e by the stream's *lag*, which is how long they wait.

Derived streams are known by the structure of their queries, so that queries that read the same results, under
whatever name, share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Call, Column, Expression, Literal
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import group_wait_us, time_of, waits
from optimizer.logical.event_time.bounds import close
from optimizer.logical.grouping import GROUP, Bucket
from optimizer.logical.query import Branch, Derived, Input, Output, Query
from optimizer.logical.retention import time_columns, window_constraints
from optimizer.logical.stream import Results, Stream, TimeColumn

TIME = "@time"
"""The event time of a derived stream."""


def derived_stream(view: Query, catalog: Catalog) -> Derived:
    """The stream of the results of a query with branches.

    >>> from optimizer.sql import parse_query
    >>> catalog = Catalog.of([Stream("r", (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT)), "at")])
    >>> text = "SELECT TUMBLE(at, INTERVAL 10 SECONDS) AS begins, COUNT(*) AS n FROM r GROUP BY 1"
    >>> found = derived_stream(parse_query(text, "v", catalog), catalog).stream
    >>> [name for name, _ in found.columns], found.lag_us
    (['begins', 'n', '@time'], 0)

    Args:
        view: the query.
        catalog: has its streams.
    Raises:
        KeyError: the catalog lacks one of them.
    """
    catalog = catalog.beside([view])
    # A digest of what it does: neither its name nor its text is part of that.
    name = f"@{digest('V', replace(view, name='', written='', derived=()))}"
    if view.grouping is not None:
        bucket = view.grouping.bucket
        assert bucket is not None, "what reads running groups is refused"
        wait_us, _ = group_wait_us(view, catalog)
        assert wait_us is not None, "groups that never are final are refused"
        answering = _with_end(view, bucket)
        times = tuple(_bucket_columns(view, bucket))
        lag_us = wait_us
    else:
        answering = _with_newest(view, catalog)
        times = tuple(_time_columns(view, catalog))
        lag_us = max(_lag_us(branch, catalog) for branch in view.branches)
    columns = tuple((output.name, output.expression.type) for output in answering.outputs)
    stream = Stream(name, columns, TIME, results=Results(lag_us, times, view.name))
    return Derived(replace(answering, name=name), stream)


def _lag_us(branch: Branch, catalog: Catalog) -> int:
    """How far behind its newest event time a combination of a branch may come."""
    lags = [catalog[item.stream].lag_us for item in branch.inputs]
    waited = [wait.longest_us for absence in branch.absences for wait in waits(branch, absence, catalog)]
    return max(*lags, *waited, 0)


# Groups


def _with_end(view: Query, bucket: Bucket) -> Query:
    start = Column(GROUP, bucket.key, ColumnType.TIMESTAMP)
    end = call("add", start, Literal(bucket.size_us, ColumnType.INTERVAL))
    # A group without a bucket, such as that of infinity, is final at the end of all.
    last = Call("cast", (Literal("infinity", ColumnType.STRING),), ColumnType.TIMESTAMP)
    return replace(view, outputs=(*view.outputs, Output(TIME, call("coalesce", end, last))))


def _bucket_columns(view: Query, bucket: Bucket) -> Iterator[TimeColumn]:
    start = Column(GROUP, bucket.key, ColumnType.TIMESTAMP)
    for output in view.outputs:
        later_us = 0
        match output.expression:
            case Call("add", (first, Literal(value=int(us), type=ColumnType.INTERVAL))) if first == start:
                later_us = us
            case other if other != start:
                continue
        before_us = bucket.size_us - later_us
        # Only beginnings are counted as buckets are.
        step_us = 0 if later_us else bucket.slide_us or bucket.size_us
        yield TimeColumn(output.name, before_us, before_us, step_us)


# Combinations


def _with_newest(view: Query, catalog: Catalog) -> Query:
    branches = tuple(
        replace(branch, outputs=(*branch.outputs, Output(TIME, _newest(branch.inputs, catalog))))
        for branch in view.branches
    )
    outputs = (*view.outputs, Output(TIME, _newest(view.inputs, catalog)))
    return replace(view, branches=branches, outputs=outputs)


def _newest(inputs: Sequence[Input], catalog: Catalog) -> Expression:
    times: list[Expression] = [time_of(item, catalog) for item in inputs]
    return times[0] if len(times) == 1 else call("greatest", *times)


def _time_columns(view: Query, catalog: Catalog) -> Iterator[TimeColumn]:
    """Outputs that are event times or NULL, and how old they may be."""
    for position, output in enumerate(view.outputs):
        if output.expression.type is not ColumnType.TIMESTAMP:
            continue
        most: list[int | None] = []
        for branch in view.branches:
            value = branch.outputs[position].expression
            if isinstance(value, Literal) and value.value is None:
                continue  # A condition that reads it is not true.
            if not any(value == time_of(item, catalog) for item in branch.inputs):
                break
            most.append(_oldest_us(branch, value, catalog))
        else:
            known = [one for one in most if one is not None]
            yield TimeColumn(output.name, 0, max(known, default=0) if len(known) == len(most) else None)


def _oldest_us(branch: Branch, time: Expression, catalog: Catalog) -> int | None:
    times = [time_of(item, catalog) for item in branch.inputs]
    bounds = close((*window_constraints(branch.inputs, times), *time_columns(branch.inputs, catalog)))
    assert bounds is not None, "windows never exclude each other"
    most = [bounds.most_us(time, other) for other in times]
    known = [one for one in most if one is not None]
    return max(0, *known) if len(known) == len(most) else None
