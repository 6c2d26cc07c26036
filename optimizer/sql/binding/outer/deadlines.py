"""When results of outer, semi and anti joins are final, or never are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Column
from optimizer.algebra.render import quote_if_needed, to_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import as_of_time, time_of, waits
from optimizer.logical.durations import duration_text
from optimizer.logical.query import Branch, Input, Query
from optimizer.sql.grammar.places import SourceText

Span = tuple[int, int]


def unanswerable(
    text: SourceText,
    query: Query,
    catalog: Catalog,
    places: Mapping[str, Span | None],
    meant: Collection[str],
) -> Iterator[InputError]:
    """Why results are never final, or partners never forgotten.

    Args:
        text: the query's.
        query: with its branches.
        catalog: knows its streams.
        places: of aliases that may be absent, where the text says so.
        meant: aliases with a stated window, unbounded ones too.
    """
    told: set[str] = set()
    held = [branch for branch in query.branches if branch.absences]
    for item in query.inputs if held else ():
        if catalog[item.stream].late == "join" and item.stream not in told:
            told.add(item.stream)
            found = f"{item.stream}, whose late tuples are joined, in a query that waits for what is absent"
            yield text.error(next(iter(places.values())), "late-join", found, "streams that drop late tuples")
    for branch in held:
        for absence in branch.absences:
            for wait in waits(branch, absence, catalog):
                is_table = catalog[absence.inputs[0].stream].is_table
                endless = absence.newest and not is_table and wait.back_us is None and wait.alias not in meant
                if (wait.until and not endless) or wait.alias in told:
                    continue
                told.add(wait.alias)
                if endless:
                    yield _endless(text, branch, absence.inputs[0], catalog, places.get(wait.alias))
                    continue
                kept = next(item for item in branch.inputs if item.alias in absence.beside)
                times = {
                    item.alias: Column(item.alias, catalog[item.stream].event_time, ColumnType.TIMESTAMP)
                    for item in (kept, *absence.inputs)
                }
                window = f"{quote_if_needed(kept.stream)} [RANGE 1 HOUR] AS {quote_if_needed(kept.alias)}"
                condition = f"{to_sql(times[wait.alias])} <= {to_sql(times[kept.alias])} + INTERVAL 1 HOUR"
                yield text.error(
                    places.get(wait.alias),
                    "no-deadline",
                    f"no end to the wait for {wait.alias}, so {branch.text} is never final",
                    f"a window such as {window}, or a condition such as {condition}",
                )


def _endless(
    text: SourceText, branch: Branch, item: Input, catalog: Catalog, place: Span | None
) -> InputError:
    """The error for an as-of join that would have to remember all tuples of a stream."""
    first = branch.inputs[0]
    later, time = (
        to_sql(Column(one.alias, catalog[one.stream].event_time, ColumnType.TIMESTAMP))
        for one in (first, item)
    )
    window = f"{quote_if_needed(item.stream)} [RANGE 1 DAY] AS {quote_if_needed(item.alias)}"
    return text.error(
        place,
        "no-window",
        f"ASOF JOIN of {item.alias} without a window, so its tuples are kept for ever",
        f"a window such as {window}, a condition in ON such as {later} - {time} <= INTERVAL 1 DAY, "
        "or [RANGE UNBOUNDED] if that is meant",
    )


def deadlines(
    text: SourceText, query: Query, catalog: Catalog, places: Mapping[str, Span | None]
) -> Iterator[InputError]:
    """Hints that say when the results of branches with absences appear."""
    for branch in query.branches:
        told = []
        for absence in branch.absences:
            if catalog[absence.inputs[0].stream].is_table:
                (table,) = absence.inputs
                moment = to_sql(as_of_time(absence, time_of(table, catalog)))
                told.append(
                    f"once event time has passed {moment}, with the version of {table.alias} at {moment}"
                )
                continue
            for wait in waits(branch, absence, catalog):
                streams = {item.alias: item.stream for item in branch.inputs}
                times = {
                    a: Column(a, catalog[streams[a]].event_time, ColumnType.TIMESTAMP) for a, _ in wait.until
                }
                at_once = "once event time has passed" if absence.newest else "at"
                moments = [
                    f"{duration_text(us).lower()} after {to_sql(times[alias])}"
                    if us
                    else f"{at_once} {to_sql(times[alias])}"
                    for alias, us in wait.until
                ]
                told.append(
                    moments[0] if len(moments) == 1 else f"at the earliest of {' and '.join(moments)}"
                )
        if told:
            place = next(places[item.alias] for absence in branch.absences for item in absence.inputs)
            yield text.error(
                place, "deadline", f"results of {branch.text}", " and ".join(dict.fromkeys(told))
            )
