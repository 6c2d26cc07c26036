"""What results of running groups come to: the current table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from optimizer.physical.groups import DELETED

_ROW = "@row"


def current_table(changes: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The rows that changes come to, in the order of their last change.

    >>> gone = [False, False, False, True]
    >>> changes = pl.DataFrame({"k": [1, 2, 1, 2], "n": [1, 1, 2, None], "_deleted": gone})
    >>> current_table(changes, ["k"]).rows()
    [(1, 2)]

    Args:
        changes: the results of running groups, batch after batch.
        key: the outputs by which a row is known, none for a single row (`GraphQuery.key`).
    """
    numbered = changes.with_row_index(_ROW)
    last = numbered.group_by(list(key), maintain_order=True).last() if key else numbered.tail(1)
    there = last.filter(~pl.col(DELETED)).sort(_ROW)
    return there.select(name for name in changes.columns if name != DELETED)
