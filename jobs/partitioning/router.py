"""From a table of tuples to messages: projection, placement, splitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import polars as pl

from jobs.partitioning.hashing import grid_parts, split, spread_tasks
from jobs.partitioning.layout import NO_LAYOUTS, Layouts, spread_of, spread_stores
from jobs.partitioning.rescaling import asked_tasks
from jobs.partitioning.slice_routing import send_to_slices
from jobs.plan.index import RuleIndex, edge_columns
from jobs.plan.tuples import ARRIVAL, EVERY_TASK, LATE, Message, column_name
from jobs.storage.key_hash import hash_tasks
from optimizer.algebra.expression import Column
from optimizer.physical.graph import Edge
from optimizer.physical.task_grid import TaskGrid

_Grids = tuple[tuple[TaskGrid, ...], bool]
"""A store's grids, and whether they are probed."""
_Way: TypeAlias = tuple[str, Column | None, tuple[int, ...], _Grids | None, bool, bool]
"""What edges that place tuples alike have in common: kind, key, numbers of tasks, grids, whether NULL
is left out, whether tuples stay in their task."""


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
    hashed or moved. A probe of a store whose number of tasks has changed is sent to the task of its key
    under each number of which tuples are left, once to each task; what all tasks are to have, to all tasks
    under the largest.

    `frame` has the columns of all the edges, named `input.column`, and the position columns.
    Edges that place tuples alike share one split and its bodies, which have the columns of all of them:
    a message may have more columns than its edge. Along a `group_by` edge that only leads to
    probes a NULL key is not sent, because it equals nothing.
    """
    messages: list[Message] = []
    splits: dict[_Way, list[Edge]] = {}
    staying = index.staying_under(spread_stores(layouts))
    for edge_id in edge_ids:
        edge = index.edges[edge_id]
        if edge.kind == "slices":
            wanted = sent_columns(index, edge)
            for to, part in send_to_slices(index, edge, frame, layouts):
                messages.append(Message(edge.id, to, part[wanted]))
            continue
        store = index.stores[edge.target]
        only_probes = edge.id not in index.store_edges
        counts = spread_of(store, layouts).counts(store) if only_probes else (store.tasks,)
        key = edge.key if edge.kind == "group_by" else None
        # Only where there are NULLs do such edges carry other tuples than the rest.
        drop_nulls = only_probes and key is not None and frame[column_name(key)].null_count() > 0
        stays = edge_id in staying
        # In grids, tuples that probe go elsewhere than those to keep.
        grids = (store.grids, only_probes) if edge.kind == "grid" else None
        splits.setdefault((edge.kind, key, counts, grids, drop_nulls, stays), []).append(edge)
    for (kind, key, counts, grids, drop_nulls, stays), edges in splits.items():
        tasks = counts[0]
        wanted = list(dict.fromkeys(name for edge in edges for name in sent_columns(index, edge)))
        rows = frame
        if key is not None and drop_nulls:
            rows = rows.filter(pl.col(column_name(key)).is_not_null())
        if grids is not None:
            for targets, part in grid_parts(rows[wanted], rows[ARRIVAL], grids[0], probing=grids[1]):
                messages.extend(Message(edge.id, target, part) for edge in edges for target in targets)
            continue
        if kind == "all":
            if rows.height:
                body = rows[wanted]
                everyone = (EVERY_TASK,) if len(counts) == 1 else range(max(counts))
                messages.extend(Message(edge.id, target, body) for edge in edges for target in everyone)
            continue
        if len(counts) > 1 and key is not None:
            asking, placed = asked_tasks(rows[column_name(key)], counts)
            parts = split(rows[wanted][asking], placed, max(counts))
        elif tasks == 1:
            parts = [(0, rows)] if rows.height else []
        elif stays and task is not None:
            parts = [(task, rows)] if rows.height else []
        else:
            placed = (
                hash_tasks(rows[column_name(key)], tasks)
                if key is not None
                else spread_tasks(rows[ARRIVAL], tasks)
            )
            parts = split(rows[wanted], placed, tasks)
        for target, part in parts:
            body = part[wanted]
            messages.extend(Message(edge.id, target, body) for edge in edges)
    return messages


def sent_columns(index: RuleIndex, edge: Edge) -> list[str]:
    """The columns of what travels along an edge."""
    position = (ARRIVAL, *((LATE,) if index.marks_late else ()))
    return [*edge_columns(edge), *position]
