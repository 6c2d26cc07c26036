"""How long a query needs the tuples of its inputs.

That is their stated windows, or less where predicates say so. These bound differences of event times
(`optimizer.logical.event_time.conditions`), a window W_i says `t_j - t_i <= W_i` of every other input j, and
the closure of both gives every pair its bound. The *retention* of an input is the largest of its bounds to
another one, rounded up to a millisecond. In every result T - t_i is at most that, so the query with its
retentions in place of its windows means the same: plans are made from it, and nothing behind them knows of
the difference. Queries keep what was written, for people and for the oracle.

>>> from optimizer.algebra.types import ColumnType
>>> from optimizer.logical.stream import Stream
>>> from optimizer.sql import parse_query
>>> columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT))
>>> catalog = Catalog.of(Stream(name, columns, "at") for name in ("a", "b", "c"))
>>> query = parse_query(
...     "SELECT a.k FROM a, b, c [RANGE 1 DAY] WHERE a.k = b.k AND b.k = c.k AND c.at = b.at"
...     "  AND b.at BETWEEN a.at - INTERVAL 5 MINUTES AND a.at + INTERVAL 1 HOUR", "q", catalog)
>>> for one in retentions(query, catalog):
...     print(one.alias, one.window.text, "because of", " and ".join(one.because))
a 1h because of b.at <= a.at + INTERVAL '1' HOUR
b 5m because of b.at >= a.at - INTERVAL '5' MINUTE
c 5m because of b.at = c.at and b.at >= a.at - INTERVAL '5' MINUTE
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated

from pydantic import Field

from optimizer.algebra.expression import Column, Expression, Literal
from optimizer.algebra.render import quote_if_needed, to_sql
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call
from optimizer.logical.catalog import Catalog
from optimizer.logical.event_time.bounds import Constraint, TimeBounds, close
from optimizer.logical.event_time.conditions import time_constraints
from optimizer.logical.query import Input, Query
from optimizer.logical.stream import TimeColumn
from optimizer.logical.window import UNBOUNDED, Sliding, Window

_ROUNDED_US = 1_000
"""Retentions are multiples of it, rounded up."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long tuples of an input are needed, and what says so."""

    alias: str
    window: Annotated[Window, Field(alias="window_us")]
    because: tuple[str, ...]
    """Predicates and windows that it is the sum of; empty if nothing bounds it."""


def retentions(query: Query, catalog: Catalog) -> tuple[Retention, ...]:
    """The retention of each of the query's inputs, in their order.

    Raises `KeyError` if the catalog lacks one of the query's streams.
    """
    catalog = catalog.beside([query])
    return _retentions(query, _event_times(query, catalog), time_columns(query.inputs, catalog))


def derived_retentions(query: Query, catalog: Catalog) -> tuple[Retention, ...]:
    """The retentions that predicates make shorter than the windows.

    There are none of a query with branches: conditions hold in some of them only.

    Raises `KeyError` if the catalog lacks one of the query's streams.
    """
    if query.branches or not any(time_constraints(query.predicates)):
        return ()  # Planning asks for the same queries again and again, and most compare no times.
    found = zip(query.inputs, retentions(query, catalog), strict=True)
    return tuple(one for item, one in found if one.window != item.window)


def with_retentions(query: Query, catalog: Catalog) -> Query:
    """The query with retentions in place of its windows.

    It has the same results and needs less state.

    Raises `KeyError` if the catalog lacks one of the query's streams.
    """
    shorter = {one.alias: one.window for one in derived_retentions(query, catalog)}
    if not shorter:
        return query
    inputs = tuple(replace(item, window=shorter.get(item.alias, item.window)) for item in query.inputs)
    return replace(query, inputs=inputs)


def bounding_conditions(query: Query, catalog: Catalog, alias: str, length_us: int) -> tuple[Expression, ...]:
    """Conditions that would bound the retention of an input, one where one is enough.

    There are none for, and about, the event times of derived streams, which have no names.

    Each says that another input is at most so much newer. There are none if the query's own conditions
    exclude each other.

    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in ("a", "b"))
    >>> query = parse_query("SELECT a.k FROM a, b WHERE a.k = b.k", "q", catalog)
    >>> [to_sql(condition) for condition in bounding_conditions(query, catalog, "a", 3_600_000_000)]
    ["b.at <= a.at + INTERVAL '1' HOUR"]
    """
    catalog = catalog.beside([query])
    times = _event_times(query, catalog)
    bounds = _bounds(query, times, time_columns(query.inputs, catalog))
    if bounds is None or any(catalog[item.stream].results is not None for item in query.inputs):
        return ()
    own = next(time for time in times if time.input == alias)
    latest = call("add", own, Literal(length_us, ColumnType.INTERVAL))
    missing = {time for time in times if bounds.most_us(own, time) is None}
    found = []
    while missing:
        reached = {
            time: {other for other in missing if bounds.most_us(time, other) is not None} for time in missing
        }
        best = max((time for time in times if time in missing), key=lambda time: len(reached[time]))
        found.append(call("le", best, latest))
        missing -= reached[best]
    return tuple(found)


def _event_times(query: Query, catalog: Catalog) -> tuple[Column, ...]:
    return tuple(Column(i.alias, catalog[i.stream].event_time, ColumnType.TIMESTAMP) for i in query.inputs)


@lru_cache(maxsize=4096)
def _retentions(
    query: Query, times: tuple[Column, ...], columns: tuple[Constraint, ...]
) -> tuple[Retention, ...]:
    said = len(times) > 1 and any(time_constraints(query.predicates))
    bounds = _bounds(query, times, columns) if said else None
    # Nothing is narrowed by conditions that exclude each other: infinite times may fulfil them yet.
    return tuple(
        _stated(item) if bounds is None else _derived(item, time, times, bounds)
        for item, time in zip(query.inputs, times, strict=True)
    )


@lru_cache(maxsize=256)
def _bounds(query: Query, times: tuple[Column, ...], columns: tuple[Constraint, ...]) -> TimeBounds | None:
    """What conditions and windows say together; None if they exclude each other."""
    return close((*time_constraints(query.predicates), *window_constraints(query.inputs, times), *columns))


def time_columns(inputs: Sequence[Input], catalog: Catalog) -> tuple[Constraint, ...]:
    """What is known of other columns of derived streams beside their event times."""
    found = []
    for item in inputs:
        stream = catalog[item.stream]
        time = Column(item.alias, stream.event_time, ColumnType.TIMESTAMP)
        for one in () if stream.results is None else stream.results.times:
            column = Column(item.alias, one.name, ColumnType.TIMESTAMP)
            found.append(Constraint(time, column, -one.least_us, one))
            if one.most_us is not None:
                found.append(Constraint(column, time, one.most_us, one))
    return tuple(found)


def window_constraints(inputs: Sequence[Input], times: Sequence[Column]) -> list[Constraint]:
    """What the windows of inputs say of their event times, `times`."""
    return [
        Constraint(older, newer, item.window.reach_us, item)
        for item, older in zip(inputs, times, strict=True)
        if item.window.reach_us is not None
        for newer in times
        if newer != older
    ]


def _stated(item: Input) -> Retention:
    return Retention(item.alias, item.window, (_window_text(item),) if item.window.is_bounded else ())


def _derived(item: Input, time: Column, times: tuple[Column, ...], bounds: TimeBounds) -> Retention:
    reach, farthest = 0, time
    for newer in times:
        most = bounds.most_us(time, newer)
        if most is None:
            return Retention(item.alias, UNBOUNDED, ())
        if farthest == time or most > reach:
            # The first one even if it is never newer: it is why nothing is kept.
            reach, farthest = max(0, most), newer
    # `<` is a microsecond less than `<=`: queries that differ in no more are to share what they keep.
    kept = Sliding(-(-reach // _ROUNDED_US) * _ROUNDED_US)
    if kept.covers(item.window):
        return _stated(item)
    path = (one for one in bounds.path(time, farthest) if not isinstance(one.origin, TimeColumn))
    return Retention(item.alias, kept, tuple(dict.fromkeys(map(_said_by, path))))


def _said_by(constraint: Constraint) -> str:
    origin = constraint.origin
    return _window_text(origin) if isinstance(origin, Input) else to_sql(origin)  # type: ignore[arg-type]


def _window_text(item: Input) -> str:
    return item.window.behind(quote_if_needed(item.alias))
