"""Tell of running groups what a batch changed, and all rows when a job starts."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from jobs.driver.batch_totals import Gathered
from jobs.plan.index import index_of
from jobs.protocol import TABLE_ROWS
from jobs.recovery.manifest import Manifest
from jobs.sinks.redis_table import TableChanges
from jobs.storage.partition import state_root
from jobs.worker.running import current_rows
from optimizer.physical.graph import PhysicalGraph

_MOST_STATES = 20 * TABLE_ROWS
"""Rows of a store from which a table is written anew; of more the pages go on with what they have."""


def table_changes(manifest: Manifest, gathered: Gathered) -> Mapping[str, TableChanges]:
    """By query with running groups, what a committed batch changed."""
    found: dict[str, TableChanges] = {}
    for name, query in manifest.queries.items():
        made = gathered.queries[name].results
        if query.key is not None and query.table_from is not None and made:
            parts = tuple(tail.table for tail in gathered.tails.get(name, ()))
            before = query.table_changes - made
            found[name] = TableChanges(parts, query.key, query.table_from, before, query.table_changes)
    return found


def tables_of(graph: PhysicalGraph, last: Manifest, state: str) -> Mapping[str, TableChanges]:
    """By query with running groups, the table as the last commit has it."""
    index, root, runs = index_of(graph), state_root(state), last.runs_by_store()
    found: dict[str, TableChanges] = {}
    for hold in graph.holds:
        query, own = last.queries.get(hold.query), runs.get(hold.store, ())
        if not hold.is_running or query is None or query.key is None or query.table_from is None:
            continue
        if sum(run.rows for run in own) > _MOST_STATES:
            continue
        rows = current_rows(index, hold, [root.read(run, keep=False) for run in own])
        parts = () if rows is None else (rows.to_arrow(compat_level=pl.CompatLevel.oldest()),)
        changes = query.table_changes
        found[hold.query] = TableChanges(parts, query.key, query.table_from, changes, changes, is_all=True)
    return found
