"""When results of outer, semi and anti joins are final, or never are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from optimizer.algebra.errors import InputError
from optimizer.algebra.render import quote_if_needed, to_sql
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import as_of_time, time_of, waits, written_time
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
                times = {item.alias: written_time(item, catalog) for item in (kept, *absence.inputs)}
                later, time = times[wait.alias], times[kept.alias]
                condition = ""
                if later is not None and time is not None:
                    bounded = f"{to_sql(later)} <= {to_sql(time)} + INTERVAL 1 HOUR"
                    condition = f", or a condition such as {bounded}"
                yield text.error(
                    places.get(wait.alias),
                    "no-deadline",
                    f"no end to the wait for {wait.alias}, so {branch.text} is never final",
                    f"a window such as {_windowed(kept, catalog, '1 HOUR')}{condition}",
                )


def _windowed(item: Input, catalog: Catalog, length: str) -> str:
    """An input with a window, as it may be written."""
    results = catalog[item.stream].results
    name = item.stream if results is None else results.label
    return f"{quote_if_needed(name)} [RANGE {length}] AS {quote_if_needed(item.alias)}"


def _endless(
    text: SourceText, branch: Branch, item: Input, catalog: Catalog, place: Span | None
) -> InputError:
    """The error for an as-of join that would have to remember all tuples of a stream."""
    later, time = (written_time(one, catalog) for one in (branch.inputs[0], item))
    condition = ""
    if later is not None and time is not None:
        condition = f" a condition in ON such as {to_sql(later)} - {to_sql(time)} <= INTERVAL 1 DAY,"
    return text.error(
        place,
        "no-window",
        f"ASOF JOIN of {item.alias} without a window, so its tuples are kept for ever",
        f"a window such as {_windowed(item, catalog, '1 DAY')},{condition} "
        "or [RANGE UNBOUNDED] if that is meant",
    )


def _told(item: Input, catalog: Catalog) -> str:
    """The event time of an input in words."""
    if catalog[item.stream].results is None:
        return to_sql(time_of(item, catalog))
    return f"the event time of {quote_if_needed(item.alias)}"


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
                times = {a: _told(Input(a, streams[a]), catalog) for a, _ in wait.until}
                at_once = "once event time has passed" if absence.newest else "at"
                moments = [
                    f"{duration_text(us).lower()} after {times[alias]}" if us else f"{at_once} {times[alias]}"
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
