"""Until when combinations wait for partners that they must not have.

A partner of a combination has event times that conditions and windows bound: one of j comes no later than
t_i + bound(i -> j), for every alias i of the combination. Once the watermark has passed the earliest of these
for every j there is nothing left to wait for. As far as it has to wait, stores keep what it may then find.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from optimizer.algebra.expression import Call, Column
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.event_time.bounds import TimeBounds, close
from optimizer.logical.event_time.conditions import time_constraints
from optimizer.logical.query import Absence, Branch, Input, Output, Query
from optimizer.logical.retention import time_columns, window_constraints, with_retentions
from optimizer.logical.window import UNBOUNDED, Sliding, Window, union


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a combination waits for an alias, and how far it looks back."""

    alias: str
    until: tuple[tuple[str, int], ...]
    """(alias of the combination, microseconds): no partner comes later than the earliest of these times, as
    the watermark goes: one of a derived stream comes its lag behind its event time."""
    back_us: int | None
    """How much older than the newest tuple of the combination a partner may be; None for any age. Of a table
    it is how much older the time may be as of which a version is looked up."""

    @property
    def longest_us(self) -> int:
        """The least distance from one of its tuples to the deadline."""
        return min(bound for _, bound in self.until)


def waits(branch: Branch, absence: Absence, catalog: Catalog) -> tuple[Wait, ...]:
    """Of each of an absence's aliases; one without an end has nothing in `until`.

    Raises `KeyError` if the catalog lacks a stream.
    """
    inputs = (*branch.inputs, *absence.inputs)
    times = {item.alias: time_of(item, catalog) for item in inputs}
    bounds = _bounds(branch, absence, times, catalog)
    found = []
    for item in absence.inputs:
        own, lag_us = times[item.alias], catalog[item.stream].lag_us
        until = tuple(
            (one.alias, max(0, most) + lag_us)
            for one in branch.inputs
            if (most := bounds.most_us(times[one.alias], own)) is not None
        )
        if catalog[item.stream].is_table:
            asked = as_of_time(absence, own)
            ages = [bounds.most_us(asked, times[one.alias]) for one in branch.inputs]
        else:
            ages = [bounds.most_us(own, time) for time in times.values()]
        known = [age for age in ages if age is not None]
        back = max(0, *known) if len(known) == len(ages) else None
        found.append(Wait(item.alias, until, back))
    return tuple(found)


def as_of_time(absence: Absence, own: Column) -> Column:
    """The event time that an as-of join compares with its partner's `own`."""
    compared = (p.arguments for p in absence.predicates if isinstance(p, Call) and own in p.arguments)
    return next(
        time for arguments in compared for time in arguments if isinstance(time, Column) and time != own
    )


def group_wait_us(query: Query, catalog: Catalog) -> tuple[int | None, str]:
    """How many microseconds after its bucket a group still gets combinations.

    None if nothing bounds it. Returned with it is the alias that the group waits for longest, or for ever.

    Raises `KeyError` if the catalog lacks a stream, `ValueError` if combinations without any of the aliases
    whose event times are bucketed may be results.
    """
    assert query.grouping is not None
    bucket = query.grouping.bucket
    assert bucket is not None, "running groups wait for nothing"
    catalog = catalog.beside([query])
    ahead_us = bucket.ahead_us
    longest: tuple[int, str] = (ahead_us, "")
    for branch in query.branches:
        bucketed = [item for item in branch.inputs if item.alias in bucket.aliases]
        if not bucketed:
            raise ValueError(branch.text)
        for absence in (None, *branch.absences):
            inputs = branch.inputs if absence is None else (*branch.inputs, *absence.inputs)
            times = {item.alias: time_of(item, catalog) for item in inputs}
            bounds = _bounds(branch, absence, times, catalog)
            for item in branch.inputs if absence is None else absence.inputs:
                found = [bounds.most_us(times[one.alias], times[item.alias]) for one in bucketed]
                known = [most for most in found if most is not None]
                if not known:
                    return None, item.alias
                after_us = max(0, min(known)) if item not in bucketed else 0
                longest = max(longest, (ahead_us + after_us + catalog[item.stream].lag_us, item.alias))
    return longest


def needed_windows(query: Query, catalog: Catalog) -> tuple[Input, ...]:
    """A query's inputs with how long before the newest tuple theirs may be.

    Of an input that may be absent, how old partners may be that would have kept a result away.
    """
    catalog = catalog.beside([query])
    if not query.branches:
        return with_retentions(query, catalog).inputs
    windows: dict[str, list[Window]] = {item.alias: [] for item in query.inputs}
    tables = {item.alias for item in query.inputs if catalog[item.stream].is_table}
    for branch in query.branches:
        times = tuple(Output(item.alias, time_of(item, catalog)) for item in branch.inputs)
        own = Query(query.name, branch.inputs, branch.predicates, times, True)
        for item in with_retentions(own, catalog).inputs:
            # A tuple alone is the newest one.
            windows[item.alias].append(item.window if len(branch.inputs) > 1 else Sliding(0))
        for absence in branch.absences:
            for wait in waits(branch, absence, catalog):
                # The version in force may be of any age.
                ages = () if wait.alias in tables or wait.back_us is None else (Sliding(wait.back_us),)
                windows[wait.alias] += ages or (UNBOUNDED,)
    return tuple(replace(item, window=union(windows[item.alias] or [item.window])) for item in query.inputs)


def _bounds(
    branch: Branch, absence: Absence | None, times: dict[str, Column], catalog: Catalog
) -> TimeBounds:
    windows = window_constraints(branch.inputs, [times[item.alias] for item in branch.inputs])
    predicates = branch.predicates
    if absence is not None:
        beside = [item for item in branch.inputs if item.alias in absence.beside]
        both = (*beside, *absence.inputs)
        windows += window_constraints(both, [times[item.alias] for item in both])
        predicates += absence.predicates
    inputs = branch.inputs if absence is None else (*branch.inputs, *absence.inputs)
    windows += time_columns(inputs, catalog)
    said = time_constraints(predicates)
    # Infinite times may fulfil what excludes itself: then only windows are sure.
    found = close((*said, *windows)) or close(windows)
    assert found is not None, "windows never exclude each other"
    return found


def time_of(item: Input, catalog: Catalog) -> Column:
    """The event time of an input."""
    return Column(item.alias, catalog[item.stream].event_time, ColumnType.TIMESTAMP)


def written_time(item: Input, catalog: Catalog) -> Column | None:
    """The event time of an input, or a column that it follows, as a text may name it.

    None if there is none: a derived stream's has no name.
    """
    results = catalog[item.stream].results
    if results is None:
        return time_of(item, catalog)
    named = (one.name for one in results.times if one.most_us is not None)
    return next((Column(item.alias, name, ColumnType.TIMESTAMP) for name in named), None)


def longest_wait_us(waited: Iterable[Wait]) -> int:
    """The longest of some waits, all with an end."""
    return max(wait.longest_us for wait in waited)
