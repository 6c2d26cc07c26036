"""Tell of running groups what a batch changed, and all rows when a job starts."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pyarrow as pa

from jobs.driver.batch_totals import Gathered
from jobs.plan.index import index_of
from jobs.protocol import TABLE_ROWS
from jobs.recovery.manifest import Manifest
from jobs.sinks.connector import TableChanges
from jobs.sinks.outbox import keyed_table
from jobs.sinks.parquet import declared
from jobs.storage.partition import state_root
from jobs.worker.running import current_rows
from optimizer.physical.graph import GraphQuery, PhysicalGraph

_MOST_STATES = 20 * TABLE_ROWS
"""Rows of a store from which a table is written anew; of more pages and sinks go on with what they have."""


def table_changes(manifest: Manifest, gathered: Gathered) -> Mapping[str, TableChanges]:
    """By query with running groups, what a committed batch changed.

    Of groups that begin with it also that nothing is there.
    """
    found: dict[str, TableChanges] = {}
    for name, query in manifest.queries.items():
        made, keyed = gathered.queries[name].results, keyed_table(query)
        if keyed is not None and (made or keyed.begin == manifest.batch):
            parts = tuple(tail.table for tail in gathered.tails.get(name, ()))
            since_us = query.complete_since_us
            found[name] = TableChanges(parts, keyed, keyed.changes - made, counted_from_us=since_us)
    return found


def tables_of(graph: PhysicalGraph, last: Manifest, state: str) -> Mapping[str, TableChanges]:
    """By query with running groups, the table as the last commit has it."""
    index, root, runs = index_of(graph), state_root(state), last.runs_by_store()
    found: dict[str, TableChanges] = {}
    for hold in graph.holds:
        query, own = last.queries.get(hold.query), runs.get(hold.store, ())
        keyed = None if query is None or not hold.is_running else keyed_table(query)
        if query is None or keyed is None or sum(run.rows for run in own) > _MOST_STATES:
            continue
        rows = current_rows(index, hold, [root.read(run, keep=False) for run in own])
        parts = () if rows is None else (_as_in_files(rows, index.queries[hold.query]),)
        since_us = query.complete_since_us
        found[hold.query] = TableChanges(parts, keyed, keyed.changes, is_all=True, counted_from_us=since_us)
    return found


def _as_in_files(rows: pl.DataFrame, query: GraphQuery) -> pa.Table:
    return declared(rows.to_arrow(compat_level=pl.CompatLevel.oldest()), query.outputs)
