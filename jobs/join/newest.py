"""As-of joins: of each tuple's partners only the newest.

Of several of one event time it is the greatest by what is read of them, so that neither the order in which
they came nor the tasks in which they lie decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from jobs.expressions.dtypes import DTYPES
from jobs.plan.tuples import ARRIVAL, column_name
from optimizer.physical.rules import Found


def newest_of_each(pairs: pl.DataFrame, order: Iterable[str]) -> pl.DataFrame:
    """Take, of each arriving tuple's pairs, that with the greatest stored one.

    NULL is the least of all values, NaN the greatest.

    >>> pairs = pl.DataFrame({ARRIVAL: [7, 7, 8], "q.at": [1, 2, 1], "q.x": [5.0, 0.5, None]})
    >>> newest_of_each(pairs, ["q.at", "q.x"]).rows()
    [(7, 2, 0.5), (8, 1, None)]
    """
    if pairs.height < 2:
        return pairs
    by = [pl.col(ARRIVAL), *(expression for name in order for expression in _ordered(pairs, name))]
    return pairs.sort(by, nulls_last=False).unique(ARRIVAL, keep="last", maintain_order=True)


def _ordered(pairs: pl.DataFrame, name: str) -> Sequence[pl.Expr]:
    value = pl.col(name)
    if not pairs.schema[name].is_float():
        return (value,)
    # 0.0 comes behind -0.0, which equals it.
    return value, pl.when(value == 0).then(1 / value)


def with_newest(found: Found, rows: pl.DataFrame, hits: pl.DataFrame | None) -> pl.DataFrame:
    """Join what is due with the newest of the partners that any task has found.

    Where there is none columns are NULL, or the row goes, if it must have one.
    """
    names = [column_name(column) for column in found.newest]
    if hits is None:
        empty = [pl.lit(None, DTYPES[column.type]).alias(column_name(column)) for column in found.newest]
        return rows.clear().with_columns(empty) if found.present else rows.with_columns(empty)
    partners = newest_of_each(hits, names).select(ARRIVAL, *names)
    return rows.join(partners, on=ARRIVAL, how="inner" if found.present else "left", maintain_order="left")
