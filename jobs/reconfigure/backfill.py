"""Backfill a new plan's intermediate results from existing base stores.

A probe sees exactly the stored tuples with a smaller arrival number, so running the trees that
feed an intermediate result over the stored tuples, with all base stores complete, yields
what it would hold had the plan been in use from the start. Tuples go through in order of arrival,
a bounded number at once, because intermediate results may be probed to make further ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from jobs.expressions.predicate_order import passing
from jobs.join.index_columns import limit_of
from jobs.partitioning.layout import Layouts
from jobs.partitioning.rescaling import in_first_copy, rescaling_of
from jobs.partitioning.router import send
from jobs.plan.index import RuleIndex, index_of
from jobs.plan.tuples import ARRIVAL, EVERY_TASK, LATE, Message
from jobs.reconfigure.coverage import Kept, kept_filters
from jobs.recovery.checkpoint import Checkpoint
from jobs.storage.partition import PartitionState, state_root
from jobs.storage.run import RunRef
from jobs.worker.level import work
from optimizer.algebra.expression import Expression, rename_inputs
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, Rule, SourceRule, StoreRule

_TUPLES_AT_ONCE = 400_000
"""Stored tuples that one step of a rebuild sends; bounds memory."""
_NUMBERS = 900_000_000_000
"""Batch numbers under which rebuilt runs are filed, far from those of real batches."""


def rebuild(
    checkpoint: Checkpoint,
    graph: PhysicalGraph,
    stored: Mapping[str, Sequence[RunRef]],
    wanted: Sequence[str],
    batch: int,
    layouts: Layouts,
    share_bytes: int | None = None,
) -> dict[str, tuple[RunRef, ...]]:
    """The runs of the intermediate stores `wanted`, from the runs of all other stores.

    `batch` is the first batch that will use them, `layouts` are those of the stored runs, `share_bytes`
    what may be in memory of the stores at one moment: one partition is worked on after the other.
    """
    feeding = feeding_part(graph, frozenset(wanted))
    index = index_of(feeding)
    # The feeding part has no rules that fill base stores.
    kept = {store: Kept.by(condition) for store, condition in kept_filters(at_once(graph)).items()}
    runs: dict[str, tuple[RunRef, ...]] = {store: tuple(held) for store, held in stored.items()}
    tasks = max(max(rescaling_of(layouts.get(store.id)).counts(store)) for store in graph.stores)
    limit = limit_of(index_of(graph), share_bytes)
    made: dict[str, list[RunRef]] = {store: [] for store in wanted}
    for step, (low, high) in enumerate(_steps(graph, stored)):
        messages = _start(checkpoint, index, stored, kept, low, high, layouts, limit is not None)
        number = _NUMBERS + batch * 1000 + step
        states = [
            PartitionState(checkpoint.state, partition, number, runs, limit=limit, merges=False)
            for partition in range(tasks)
        ]
        for level in range(1, feeding.depth + 1):
            later: list[Message] = []
            for partition, state in enumerate(states):
                here = [m for m in messages if m.partition in (partition, EVERY_TASK)]
                due = [m for m in here if index.edges[m.edge].level == level]
                worked = work(feeding, level, state, due, None, layouts=layouts)
                later.extend(worked.messages)
                for run in worked.added:
                    made[run.store].append(run)
            messages = [m for m in messages if index.edges[m.edge].level > level] + later
        runs |= {store: tuple(done) for store, done in made.items()}
    return {store: tuple(done) for store, done in made.items()}


def feeding_part(graph: PhysicalGraph, wanted: frozenset[str]) -> PhysicalGraph:
    """The rules and edges, but emits, that lead to the store rules of `wanted`."""
    graph = at_once(graph)
    origins = {edge.id: edge.origin for edge in graph.edges}
    rules = {rule.id: rule for rule in graph.rules}
    edges: set[str] = set()
    used: set[str] = set()
    for rule in graph.rules:
        if not isinstance(rule, StoreRule) or rule.store not in wanted:
            continue
        used.add(rule.id)
        edge: str | None = rule.edge
        while edge is not None:
            edges.add(edge)
            sender = rules[origins[edge]]
            used.add(sender.id)
            edge = sender.edge if isinstance(sender, ProbeRule) else None
    kept: list[Rule] = []
    for rule in graph.rules:
        if rule.id not in used:
            continue
        if isinstance(rule, StoreRule):
            kept.append(rule)
        else:
            kept.append(replace(rule, out=tuple(out for out in rule.out if out in edges), emits=()))
    return replace(
        graph, edges=tuple(e for e in graph.edges if e.id in edges), rules=tuple(kept), estimates=()
    )


def _steps(graph: PhysicalGraph, stored: Mapping[str, Sequence[RunRef]]) -> list[tuple[int, int]]:
    """Ranges of arrival numbers with a bounded number of stored tuples each.

    From inclusive to exclusive, ascending, and bounded as far as runs can tell.
    """
    base = {store.id for store in graph.stores if store.is_base}
    spans = sorted(
        (r.min_arrival, r.max_arrival, r.rows) for s, held in stored.items() if s in base for r in held
    )
    if not spans:
        return []
    bounds = [spans[0][0]]
    rows = 0
    for low, _, more in spans:
        if rows >= _TUPLES_AT_ONCE and low > bounds[-1]:
            bounds.append(low)
            rows = 0
        rows += more
    bounds.append(max(high for _, high, _ in spans) + 1)
    return list(itertools.pairwise(bounds))


def _start(
    checkpoint: Checkpoint,
    index: RuleIndex,
    stored: Mapping[str, Sequence[RunRef]],
    kept: Mapping[str, Kept],
    low: int,
    high: int,
    layouts: Layouts,
    bounded: bool,
) -> list[Message]:
    """What the sources would have sent of a range of arrivals."""
    root = state_root(checkpoint.state)
    messages: list[Message] = []
    asked: dict[str, list[tuple[SourceRule, Expression | None]]] = {}
    for stream, rules in sorted(index.sources.items()):
        there = [
            store
            for store in index.graph.stores
            if store.is_base and store.inputs[0].stream == stream and store.id in stored
        ]
        for rule in rules if there else ():
            passes = Kept.by(rule.filter and rename_inputs(rule.filter, {rule.input: stream}))
            held = next((one for one in there if kept[one.id].covers(passes)), there[0])
            # A store with these tuples alone need not keep what the filter reads.
            condition = None if passes.covers(kept[held.id]) else rule.filter
            asked.setdefault(held.id, []).append((rule, condition))
    for held in (store for store in index.graph.stores if store.id in asked):
        parts = [
            root.read(run, keep=not bounded).filter(pl.col(ARRIVAL).is_between(low, high, closed="left"))
            for run in stored[held.id]
            if in_first_copy(held, run.partition) and run.min_arrival < high and run.max_arrival >= low
        ]
        if not parts:
            continue
        frame = pl.concat(parts, how="diagonal")
        own = held.inputs[0].input
        for rule, condition in asked[held.id]:
            rows = frame.rename({f"{own}.{name}": f"{rule.input}.{name}" for name in held.inputs[0].columns})
            if index.marks_late and LATE not in rows.columns:
                rows = rows.with_columns(pl.lit(False).alias(LATE))
            if condition is not None:
                rows = passing(condition, rows)
            if rows.height:
                messages.extend(send(index, rule.out, rows, layouts=layouts))
    return messages
