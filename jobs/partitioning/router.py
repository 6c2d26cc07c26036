"""From a table of tuples to messages: projection, placement, splitting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import polars as pl

from jobs.partitioning.hashing import group_tasks, split
from jobs.partitioning.layout import NO_LAYOUTS, Layouts, partitioning_of, rescaled_stores
from jobs.partitioning.strategy import Arriving, Partitioning, Parts, Reach
from jobs.plan.event_time import all_earlier, all_later
from jobs.plan.index import RuleIndex, edge_columns
from jobs.plan.per_plan import PerPlan
from jobs.plan.tuples import ARRIVAL, LATE, Message, column_name, home_of
from optimizer.physical.graph import Edge
from optimizer.physical.rules import AggregateRule, ProbeRule

_Route: TypeAlias = tuple[Partitioning, bool, str | None, bool, bool, str | None]
"""What edges that place tuples alike have in common: the partitioning, whether they probe where nothing is
placed, the key, whether NULL is left out, whether tuples stay, the edge if its windows say where to look."""


def send(
    index: RuleIndex,
    edge_ids: Sequence[str],
    frame: pl.DataFrame,
    task: int | None = None,
    layouts: Layouts = NO_LAYOUTS,
) -> list[Message]:
    """Messages with the rows of `frame` for each of the edges.

    `task` is the task that sends, of the stores; None for a source. `layouts` are the batch's. Where
    an edge's key is equal to the one by which the tuples came here, they stay in the task, and nothing is
    hashed or moved.

    `frame` has the columns of all the edges, named `input.column`, and the position columns.
    Edges that place tuples alike share one split and its bodies, which have the columns of all of them:
    a message may have more columns than its edge. Along a `group_by` edge that only leads to
    probes a NULL key is not sent, because it equals nothing.
    """
    messages: list[Message] = []
    routes: dict[_Route, list[Edge]] = {}
    staying = index.staying_under(rescaled_stores(layouts))
    for edge_id in edge_ids:
        edge = index.edges[edge_id]
        if edge.kind == "home":
            messages.extend(_home(edge, frame[sent_columns(index, edge)]))
            continue
        if edge.kind == "group":
            messages.extend(_grouped(index, edge, frame[sent_columns(index, edge)]))
            continue
        partitioning = partitioning_under(index, edge.target, layouts)
        probing = edge_id not in index.store_edges
        key = _key(edge)
        # Only where there are NULLs do such edges carry other tuples than the rest.
        drop_nulls = probing and key is not None and frame[key].null_count() > 0
        stays = edge_id in staying and edge.kind in ("group_by", "shuffle")
        if probing:
            partitioning = partitioning.probed_by(key)
            probing = partitioning.probes_apart()
        route = (partitioning, probing, key, drop_nulls, stays, edge_id if edge.kind == "slices" else None)
        routes.setdefault(route, []).append(edge)
    for (partitioning, probing, key, drop_nulls, stays, _), edges in routes.items():
        wanted = list(dict.fromkeys(name for edge in edges for name in sent_columns(index, edge)))
        rows = frame.filter(pl.col(key).is_not_null()) if drop_nulls and key is not None else frame
        sent = rows[wanted]
        parts: Parts = [((task,), sent)] if task is not None and sent.height else []
        if not stays or task is None:
            tuples = arriving(index, edges[0], rows, sent)
            parts = partitioning.targets(tuples) if probing else partitioning.place(tuples)
        for targets, body in parts:
            messages.extend(Message(edge.id, target, body) for edge in edges for target in targets)
    return messages


def _home(edge: Edge, rows: pl.DataFrame) -> list[Message]:
    """Messages to the tasks that gave the rows' arrival numbers."""
    homes = home_of(rows.get_column(ARRIVAL))
    return [Message(edge.id, task, rows.filter(homes == task)) for task in homes.unique().sort().to_list()]


def _grouped(index: RuleIndex, edge: Edge, rows: pl.DataFrame) -> list[Message]:
    """Messages to the tasks of the rows' groups."""
    rule = index.receivers[edge.id]
    assert isinstance(rule, AggregateRule)
    held = index.holds[rule.hold]
    assert held.groups is not None
    keys = [rows.get_column(f"{held.stream.name}.{name}") for name in held.groups.together]
    # Sessions without keys beside them are all of one task.
    tasks = group_tasks(
        keys or [pl.repeat(0, rows.height, dtype=pl.Int64, eager=True)], index.stores[edge.target].tasks
    )
    return [
        Message(edge.id, task, part) for task, part in split(rows, tasks, index.stores[edge.target].tasks)
    ]


def arriving(index: RuleIndex, edge: Edge, rows: pl.DataFrame, sent: pl.DataFrame) -> Arriving:
    """Tuples on an edge; `sent` has the columns of `rows` that travel."""
    time = None
    if edge.id in index.store_edges:
        time = index.stored_times(index.stores[edge.target])[0]
    return Arriving(rows, sent, _key(edge), time, partial(_reach, index, edge, rows))


def partitioning_under(index: RuleIndex, store: str, layouts: Layouts) -> Partitioning:
    """The partitioning of a store in a batch."""
    if store in layouts:
        return partitioning_of(index.stores[store], layouts[store])
    known = _PLANNED[index]
    if store not in known:
        known[store] = partitioning_of(index.stores[store], None)
    return known[store]


_PLANNED: PerPlan[dict[str, Partitioning]] = PerPlan(dict)


def _key(edge: Edge) -> str | None:
    return column_name(edge.key) if edge.kind == "group_by" and edge.key is not None else None


def _reach(index: RuleIndex, edge: Edge, rows: pl.DataFrame) -> Reach:
    """Where the windows of the probe behind `edge` reach, by row.

    A partner is not older than any arriving tuple by more than its own window, and not newer than an
    arriving tuple by more than that one's window.
    """
    rule = index.receivers[edge.id]
    assert isinstance(rule, ProbeRule)
    windows, reach_us = rule.window_of, rule.stored_window.reach_us
    assert reach_us is not None, "a sliced store has a retention, and no probe a wider window"
    columns = {name: column_name(index.time_column(name)) for name in rule.bound}
    times = {name: rows[column].cast(pl.Int64).to_numpy() for name, column in columns.items()}
    oldest = all_earlier(np.max(np.stack(list(times.values())), axis=0), reach_us)
    limits = [
        all_later(times[name], after) for name in rule.bound if (after := windows[name].reach_us) is not None
    ]
    return oldest, np.min(np.stack(limits), axis=0) if limits else None


def sent_columns(index: RuleIndex, edge: Edge) -> list[str]:
    """The columns of what travels along an edge."""
    position = (ARRIVAL, *((LATE,) if index.marks_late else ()))
    return [*edge_columns(edge), *position]
