"""When groups are final, or why they never are."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.algebra.aggregates import UNMERGED
from optimizer.algebra.errors import InputError
from optimizer.algebra.render import to_sql
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import group_wait_us, written_time
from optimizer.logical.durations import duration_text
from optimizer.logical.grouping import Grouping
from optimizer.logical.query import Query
from optimizer.sql.grammar.places import SourceText


def never_final(
    text: SourceText, query: Query, catalog: Catalog, place: tuple[int, int] | None
) -> Iterator[InputError]:
    """Why groups of a query can never be final, which running ones need not be."""
    if query.grouping is None or query.grouping.bucket is None:
        return
    late = next((item.stream for item in query.inputs if catalog[item.stream].late == "join"), None)
    if late is not None:
        found = f"{late}, whose late tuples are joined, in a query with groups"
        yield text.error(place, "late-join", found, "streams that drop late tuples")
    try:
        wait_us, alias = group_wait_us(query, catalog)
    except ValueError as error:
        found = f"results of {error} without the bucket's stream"
        yield text.error(place, "no-bucket", found, "a bucket of RESULT_TIME(), which every result has")
        return
    if wait_us is None:
        yield text.error(
            place,
            "no-deadline",
            f"no end to the wait for {alias}, so no group is ever final",
            f"windows, a condition that bounds {alias}'s event time, or a bucket of RESULT_TIME()",
        )


def finality(text: SourceText, query: Query, catalog: Catalog) -> Iterator[InputError]:
    """The hint that says when groups appear, or that they are kept for ever."""
    if query.grouping is None:
        return
    bucket = query.grouping.bucket
    if bucket is None:
        yield _kept_for_ever(text, query, query.grouping, catalog)
        return
    wait_us, alias = group_wait_us(query, catalog)
    size = (
        "the event time"
        if bucket.size_us == 1
        else f"{duration_text(bucket.size_us).lower()} after its beginning"
    )
    if bucket.gap_us:
        size = f"{duration_text(bucket.gap_us).lower()} after the last event time of the session"
    later = f", and {duration_text(wait_us).lower()} for {alias}" if wait_us else ""
    yield text.error((0, 6), "deadline", "groups of the bucket", f"{size}{later}")


def _kept_for_ever(text: SourceText, query: Query, grouping: Grouping, catalog: Catalog) -> InputError:
    """The hint for groups without an end."""
    times = (written_time(item, catalog) for item in query.inputs)
    time = next((to_sql(one) for one in times if one is not None), "RESULT_TIME()")
    what = "the row changes" if not grouping.keys else "rows change"
    found = (
        f"groups without an end: {what} with every batch" if grouping.changes else "DISTINCT without an end"
    )
    whole = any(one.scheme in UNMERGED for one in grouping.aggregates)
    kept = "every value that an aggregate needs" if whole else "every group"
    bounded = f"a bucket of event time such as TUMBLE({time}, INTERVAL 1 MINUTE) bounds that"
    if not grouping.keys and not whole:
        return text.error((0, 6), "running", found, "one row, whose state is as large whatever comes")
    return text.error((0, 6), "running", found, f"memory for {kept}, for ever; {bounded}")
