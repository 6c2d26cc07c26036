"""Where tuples go that are kept in slices of event time, or look for partners in them."""

from __future__ import annotations

import numpy as np
import polars as pl

from jobs.partitioning.hashing import split
from jobs.partitioning.layout import Layouts, slices_of
from jobs.partitioning.slices import Numbers, Touched, slice_numbers, touched
from jobs.plan.event_time import all_earlier, all_later
from jobs.plan.index import RuleIndex
from jobs.plan.tuples import EVERY_TASK, column_name
from optimizer.physical.graph import Edge, ProbeRule


def send_to_slices(
    index: RuleIndex, edge: Edge, rows: pl.DataFrame, layouts: Layouts
) -> list[tuple[int, pl.DataFrame]]:
    """The rows for each task, by task, in their order.

    A tuple to be stored goes to the one task of its slice. One that probes goes to every task that has a
    slice which its windows touch, and to none if they exclude each other; what all tasks are to have is one
    message.
    """
    store = index.stores[edge.target]
    if edge.id in index.store_edges:
        (time,) = index.stored_times(store)
        numbers = slice_numbers(slices_of(store, layouts), _microseconds(rows[time]))
        return split(rows, numbers % store.tasks, store.tasks)
    if rows.is_empty():
        return []
    found = touched_by(index, edge, rows, layouts)
    if found.everywhere:
        return [(EVERY_TASK, rows)]
    parts = ((task, rows.filter(pl.Series(found.in_task(task)))) for task in range(store.tasks))
    return [(task, part) for task, part in parts if part.height]


def touched_by(index: RuleIndex, edge: Edge, rows: pl.DataFrame, layouts: Layouts) -> Touched:
    """The slices that the windows of the probe behind `edge` touch, by row.

    A partner is not older than any arriving tuple by more than its own window, and not newer than an
    arriving tuple by more than that one's window.
    """
    store = index.stores[edge.target]
    rule = index.receivers[edge.id]
    assert isinstance(rule, ProbeRule)
    windows, reach_us = rule.window_of, rule.stored_window.reach_us
    assert reach_us is not None, "a sliced store has a retention, and no probe a wider window"
    times = {name: _microseconds(rows[column_name(index.time_column(name))]) for name in rule.bound}
    oldest = all_earlier(np.max(np.stack(list(times.values())), axis=0), reach_us)
    limits = [
        all_later(times[name], after) for name in rule.bound if (after := windows[name].reach_us) is not None
    ]
    newest = np.min(np.stack(limits), axis=0) if limits else None
    return touched(slices_of(store, layouts), oldest, newest, store.tasks)


def _microseconds(times: pl.Series) -> Numbers:
    return times.cast(pl.Int64).to_numpy()
