"""Sessions: neighbours in event time, until nothing can lengthen them.

A row of a session says from when to when the combinations are that it has merged. Rows of the same keys are
of one session if no more than the gap lies between them. Rows arrive once nothing at or before their time can
come any more, so a session whose end the watermark has passed by the gap, and by what may still be found, has
all of its rows; what is open waits for the next watermark, when all of it is looked at again.
"""

from __future__ import annotations

import polars as pl

from jobs.aggregation.groups import merge
from jobs.plan.event_time import LAST_US, later_than
from jobs.plan.tuples import ARRIVAL
from optimizer.physical.groups import LAST_TIME, Groups

_SESSION = "@session"
_OPEN = "@open"


def split_sessions(
    groups: Groups, rows: pl.DataFrame, watermark_us: int, certain_from_us: int | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of final sessions, by their session's beginning, and what is open.

    Args:
        groups: with a gap.
        rows: all that is open or new, of keys that are all here.
        watermark_us: nothing older comes any more.
        certain_from_us: sessions that may have begun before are left out; None if all are known whole.
    """
    assert groups.gap_us
    keys, start = groups.alike, pl.col(groups.bucket)
    ordered = rows.sort([*keys, groups.bucket, ARRIVAL], maintain_order=True)
    # Rows of equal keys follow one another, NULL among them.
    newest = pl.col(LAST_TIME).to_physical()
    newest = newest.cum_max().over(keys) if keys else newest.cum_max()
    before = newest.shift(1)
    apart = start.to_physical() > later_than(before, groups.gap_us)
    first = pl.int_range(pl.len()) == 0
    other_keys = [pl.col(key).ne_missing(pl.col(key).shift(1)) for key in keys]
    ordered = ordered.with_columns(pl.any_horizontal(first, *other_keys, apart).cum_sum().alias(_SESSION))
    end = later_than(pl.col(LAST_TIME).max(), groups.gap_us)
    end = later_than(end, groups.wait_us).clip(upper_bound=LAST_US - 1)
    ordered = ordered.with_columns(
        (end.over(_SESSION) >= watermark_us).alias(_OPEN), start.min().over(_SESSION).alias("@start")
    )
    begun = pl.col("@start")
    final, still = (ordered.filter(one) for one in (~pl.col(_OPEN), pl.col(_OPEN)))
    if certain_from_us is not None:
        # A neighbour of its first time that nobody saw would be less than the gap before this.
        known = begun.to_physical() >= later_than(pl.lit(certain_from_us, dtype=pl.Int64), groups.gap_us)
        final = final.filter(known)
    final = final.with_columns(begun.alias(groups.bucket)).select(rows.columns)
    if groups.merges:
        # One row is enough of what is open of a session; else each is its own combination.
        still = merge(groups, still.with_columns(begun.alias(groups.bucket)))
    return final, still.select([name for name in rows.columns if name in still.columns])
