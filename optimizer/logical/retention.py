"""How long a query needs the tuples of its inputs.

That is their stated windows, or less where predicates say so. These bound differences of event times
(`optimizer.logical.event_time_conditions`), a window W_i says `t_j - t_i <= W_i` of every other input j, and
the closure of both gives every pair its bound. The *retention* of an input is the largest of its bounds to
another one. In every result T - t_i is at most that, so the query with its retentions in place of its windows
means the same: plans are made from it, and nothing behind them knows of the difference. Queries keep what was
written, for people and for the oracle.

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

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated

from pydantic import Field

from optimizer.algebra.expression import Column
from optimizer.algebra.render import quote_if_needed, to_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.event_time_conditions import time_constraints
from optimizer.logical.query import Input, Query
from optimizer.logical.time_bounds import Constraint, TimeBounds, close
from optimizer.logical.window import UNBOUNDED, Sliding, Window


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
    times = tuple(Column(i.alias, catalog[i.stream].event_time, ColumnType.TIMESTAMP) for i in query.inputs)
    return _retentions(query, times)


def derived_retentions(query: Query, catalog: Catalog) -> tuple[Retention, ...]:
    """The retentions that predicates make shorter than the windows.

    Raises `KeyError` if the catalog lacks one of the query's streams.
    """
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


@lru_cache(maxsize=4096)
def _retentions(query: Query, times: tuple[Column, ...]) -> tuple[Retention, ...]:
    # Planning asks for the same queries again and again.
    said = tuple(time_constraints(query.predicates))
    bounds = close((*said, *_windows(query, times))) if said and len(times) > 1 else None
    # Nothing is narrowed by conditions that exclude each other: infinite times may fulfil them yet.
    return tuple(
        _stated(item) if bounds is None else _derived(item, time, times, bounds)
        for item, time in zip(query.inputs, times, strict=True)
    )


def _windows(query: Query, times: tuple[Column, ...]) -> list[Constraint]:
    return [
        Constraint(older, newer, item.window.reach_us, item)
        for item, older in zip(query.inputs, times, strict=True)
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
    if item.window.reach_us == reach:
        return _stated(item)
    path = bounds.path(time, farthest)
    return Retention(item.alias, Sliding(reach), tuple(dict.fromkeys(map(_said_by, path))))


def _said_by(constraint: Constraint) -> str:
    origin = constraint.origin
    return _window_text(origin) if isinstance(origin, Input) else to_sql(origin)  # type: ignore[arg-type]


def _window_text(item: Input) -> str:
    return item.window.behind(quote_if_needed(item.alias))
