"""Samples of streams, for selectivities that no probe order observes (7.2.1).

A sample is taken from the base stores' runs when an epoch ends: at most a fixed number of tuples per
stream, spread evenly over the epoch. That is all of a slow stream and a small part of a fast one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from jobs.partitioning.rescaling import in_first_copy
from jobs.plan.tuples import ARRIVAL, ARRIVALS_PER_TASK
from jobs.storage.run import RunRef, StateRoot
from optimizer.algebra.expression import Column, Expression, columns_of
from optimizer.logical.stream import MOST_TASKS
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, SourceRule

ROWS = 2000
"""Tuples per stream; pairs of two samples stay below its square."""
MOST_BYTES = 1_000_000
"""Of one stream's sample in memory: tuples with long texts are fewer."""


def sample_streams(
    graph: PhysicalGraph,
    runs: Mapping[str, Sequence[RunRef]],
    root: StateRoot,
    first_batch: int,
    columns: Mapping[str, frozenset[str]] | None = None,
) -> dict[str, pl.DataFrame]:
    """The tuples that arrived from `first_batch` on, thinned out, by stream.

    Args:
        graph: the plan whose stores hold them.
        runs: by store, behind the epoch's last batch.
        columns: by stream, those to take; all that are stored if None.

    Returns:
        Frames with the streams' own column names; none for a stream that brought nothing.
    """
    first = first_batch * MOST_TASKS * ARRIVALS_PER_TASK
    found: dict[str, pl.DataFrame] = {}
    for store in at_once(graph).stores:
        stored = store.inputs[0]
        if not store.is_base or stored.stream in found:
            continue
        wanted = None if columns is None else columns.get(stored.stream, frozenset())
        names = {
            f"{stored.input}.{name}": name for name in stored.columns if wanted is None or name in wanted
        }
        mine = [
            run
            for run in runs.get(store.id, ())
            if run.max_arrival >= first and in_first_copy(store, run.partition)
        ]
        step = max(1, -(-sum(run.rows for run in mine) // ROWS))
        parts = []
        for run in mine:
            frame = root.read(run).filter(pl.col(ARRIVAL) >= first)
            # A column that the store got later is missing in older runs.
            parts.append(frame.select([c for c in names if c in frame.columns]).gather_every(step))
        if parts and names:
            together = pl.concat(parts, how="diagonal")
            together = together.rename({name: names[name] for name in together.columns})
            found[stored.stream] = together.gather_every(1 + int(together.estimated_size()) // MOST_BYTES)
    return found


def predicate_columns(graph: PhysicalGraph) -> dict[str, frozenset[str]]:
    """By stream, the columns that some filter or predicate of the plan reads."""
    graph = at_once(graph)
    streams = {stored.input: stored.stream for store in graph.stores for stored in store.inputs}
    streams |= {rule.input: rule.stream for rule in graph.rules if isinstance(rule, SourceRule)}
    for rule in graph.rules:
        if isinstance(rule, ProbeRule):
            streams |= {tree: streams[held] for held, tree in rule.renames}
    found: dict[str, set[str]] = {}
    for column in _columns(graph):
        found.setdefault(streams[column.input], set()).add(column.name)
    return {stream: frozenset(found[stream]) for stream in sorted(found)}


def _columns(graph: PhysicalGraph) -> Iterator[Column]:
    for rule in graph.rules:
        conditions: list[Expression] = []
        if isinstance(rule, SourceRule) and rule.filter is not None:
            conditions.append(rule.filter)
        if isinstance(rule, ProbeRule):
            conditions += [side for e in rule.equalities for side in (e.probe, e.stored)]
            conditions += rule.predicates
        if isinstance(rule, SourceRule | ProbeRule):
            conditions += [residual for emit in rule.emits for residual in emit.residuals]
        for condition in conditions:
            yield from columns_of(condition)
