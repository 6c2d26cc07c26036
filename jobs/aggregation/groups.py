"""Groups while they wait, and once they are final."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from jobs.aggregation.states import lifted, lowered, merged, one_zero, result
from jobs.expressions import compile_expression
from jobs.expressions.dtypes import DTYPES, FIRST_MOMENT
from jobs.plan.event_time import LAST_US, earlier_than, later_than
from jobs.plan.tuples import ARRIVAL
from jobs.storage.key_hash import row_hashes
from optimizer.algebra.types import ColumnType
from optimizer.physical.groups import GROUP_HASH, LAST_TIME, Groups


def states_of(groups: Groups, taken: pl.DataFrame, deadline: str) -> pl.DataFrame:
    """The states of combinations, by group, and until when the groups wait.

    Args:
        groups: what to make of the combinations.
        taken: what was taken of each, and its arrival number.
        deadline: what the column with the event time is called from which the group is final.

    Returns:
        A row per group if all states merge, else one per combination; of buckets that overlap one each.
    """
    columns = [column for one in groups.aggregates for column in lifted(one)]
    keys = [one_zero(pl.col(name), kind).alias(name) for name, kind in groups.taken[: groups.keys]]
    rows = taken.select(*keys, *columns, ARRIVAL)
    if groups.overlapping > 1:
        # What merges does so before there are several of it.
        rows = merge(groups, rows) if groups.merges else rows
        # The newest bucket of a time is the last to begin; those before it began a slide earlier each.
        starts = [
            _moved(pl.col(groups.bucket), number * groups.slide_us) for number in range(groups.overlapping)
        ]
        rows = pl.concat([rows.with_columns(start.alias(groups.bucket)) for start in starts])
    if groups.running:
        keyed = rows.select(groups.key_names).get_columns()
        end = pl.lit(LAST_US - 1, dtype=pl.Int64).cast(DTYPES[ColumnType.TIMESTAMP])
        rows = rows.with_columns(end.alias(deadline), row_hashes(keyed, rows.height).alias(GROUP_HASH))
        return merge(groups, rows, (deadline, GROUP_HASH)) if groups.merges else rows
    last = later_than(pl.col(groups.bucket), groups.size_us - 1 + groups.wait_us)
    # A time without a bucket, such as infinity, has no end but that of all.
    until = pl.min_horizontal(last.fill_null(LAST_US - 1), pl.lit(LAST_US - 1, dtype=pl.Int64))
    rows = rows.with_columns(until.cast(DTYPES[ColumnType.TIMESTAMP]).alias(deadline))
    if groups.gap_us:
        rows = rows.with_columns(pl.col(groups.bucket).alias(LAST_TIME))
    return merge(groups, rows, (deadline,)) if groups.merges else rows


def merge(groups: Groups, rows: pl.DataFrame, beside: tuple[str, ...] = ()) -> pl.DataFrame:
    """One row per group, of states that merge."""
    keys = [*beside, *groups.key_names]
    states = [column for one in groups.aggregates for column in merged(one)]
    states += [pl.col(LAST_TIME).max()] if groups.gap_us else []
    return rows.group_by(keys, maintain_order=True).agg(*states, pl.col(ARRIVAL).max())


def of_nothing(groups: Groups, deadline: str) -> pl.DataFrame:
    """The state of a group without keys before there is a combination."""
    counted = "@counted"
    none = replace(groups, aggregates=tuple(replace(one, where=counted) for one in groups.aggregates))
    columns = [pl.lit(None, dtype=DTYPES[kind]).alias(name) for name, kind in groups.taken]
    taken = pl.select(*columns, pl.lit(False).alias(counted), pl.lit(0, dtype=pl.Int64).alias(ARRIVAL))
    return states_of(none, taken, deadline)


def finish(groups: Groups, rows: pl.DataFrame) -> pl.DataFrame:
    """The keys and aggregates of groups, in the order of the keys."""
    keys = groups.key_names or [GROUP_HASH]
    columns = [lowered(one) for one in groups.aggregates]
    found = rows.group_by(keys).agg(*columns, pl.col(ARRIVAL).max())
    kinds = dict(groups.taken)
    found = found.with_columns(
        result(one, [kinds[name] for name in one.arguments], found.get_column(one.name))
        for one in groups.aggregates
    )
    return found.sort(keys)


def first_groups(groups: Groups, found: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """The first of groups that are alike, as those of a bucket are.

    Columns of keys begin with `prefix`.
    """
    assert groups.limit is not None
    keys = [f"{prefix}{name}" for name in groups.key_names]
    ranks = {f"@rank{n}": compile_expression(rank.expression) for n, rank in enumerate(groups.ranks)}
    descending = [rank.descending for rank in groups.ranks] + [False] * len(keys)
    last = [not rank.nulls_first for rank in groups.ranks] + [True] * len(keys)
    ordered = found.with_columns(**ranks).sort([*ranks, *keys], descending=descending, nulls_last=last)
    alike = [f"{prefix}{name}" for name in groups.together]
    return ordered.drop(*ranks).group_by(alike, maintain_order=True).head(groups.limit)


def _moved(start: pl.Expr, by_us: int) -> pl.Expr:
    """A bucket's start earlier; NULL before the first moment."""
    moved = earlier_than(start, by_us)
    return pl.when(moved >= FIRST_MOMENT).then(moved).cast(DTYPES[ColumnType.TIMESTAMP])
