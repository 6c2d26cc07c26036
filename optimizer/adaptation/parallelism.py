"""Choose how many tasks a stream's stores have, from the observed load.

In the cost model more tasks only ever cost more, because a probe whose key the sender does not
know reaches all of them (section 6.2). What they are for it does not know: a task has the time of
one batch for its share. So their number follows the load and not the cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil

from optimizer.logical.catalog import Catalog
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import PhysicalGraph

FULL_TASK_TUPLES = 20_000
"""What one task takes per batch before another one is worth its messages and runs: some 30 ms of work
at what `python -m tests.bench.engine` measures per tuple."""
_HALF = 0.5
"""Below this share of a full load in every task there are too many of them."""


@dataclass(frozen=True, slots=True)
class Resized:
    """A stream whose stores are to have another number of tasks."""

    stream: str
    before: int
    after: int
    tuples_per_batch: float
    """Stored and probing, copies not counted, in the busiest base store of the stream."""

    def __str__(self) -> str:
        return (
            f"stores of {self.stream} get {self.tuples_per_batch:,.0f} tuples per batch: "
            f"{self.after} instead of {self.before} {'task' if self.before == 1 else 'tasks'}"
        )


def tasks_by_stream(graph: PhysicalGraph) -> dict[str, int]:
    """The number of tasks of each stream's base stores, by the stream's name.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> tasks_by_stream(plan([query], with_tasks(catalog, {"r": 4})).graph)
    {'r': 4, 's': 1}
    """
    found = {store.inputs[0].stream: store.tasks for store in at_once(graph).stores if store.is_base}
    return dict(sorted(found.items()))


def loads(graph: PhysicalGraph, edges: Mapping[str, int], batches: int) -> dict[str, float]:
    """Tuples per batch, stored or probing, at each stream's busiest base store.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> graph = plan([query], catalog).graph
    >>> loads(graph, {edge.id: 800 for edge in graph.edges}, batches=4)
    {'r': 400.0, 's': 400.0}

    Args:
        graph: the plan under which they were counted.
        edges: tuples sent along each edge, before copies: every task of a store has its share of the
            join work, whether it was sent a share of the tuples or all of them.
        batches: over which they were counted; at least one.
    """
    received = {store.id: 0 for store in graph.stores}
    for edge in graph.edges:
        received[edge.target] += edges.get(edge.id, 0)
    found: dict[str, float] = {}
    for store in at_once(graph).stores:
        if store.is_base:
            stream = store.inputs[0].stream
            found[stream] = max(found.get(stream, 0.0), received[store.id] / batches)
    return dict(sorted(found.items()))


def resize(
    tasks: Mapping[str, int], found: Mapping[str, float], fixed: Iterable[str], most: int
) -> tuple[Resized, ...]:
    """The streams whose stores had too few or too many tasks, by name.

    The number stays as long as no task is more than full and not all are less than half full; else it
    becomes the nearest one for which that holds. A load has to double, or to halve, before the
    change that it caused is taken back, so one that fluctuates does not move state to and fro.

    Args:
        tasks: by stream, of the running plan.
        found: `loads`, of that plan or of the one before it.
        fixed: streams whose number of tasks a person has set.
        most: tasks that a store can have at all.

    >>> (changed,) = resize({"r": 1, "s": 1}, {"r": 70_000.0, "s": 1.0}, (), 8)
    >>> changed.stream, changed.after
    ('r', 4)
    """
    pinned = frozenset(fixed)
    changed = []
    for stream in sorted((tasks.keys() & found.keys()) - pinned):
        load, before = found[stream], tasks[stream]
        least = ceil(load / FULL_TASK_TUPLES)
        enough = ceil(load / (_HALF * FULL_TASK_TUPLES))
        after = max(1, min(max(before, least), enough, most))
        if after != before:
            changed.append(Resized(stream, before, after, load))
    return tuple(changed)


def with_tasks(catalog: Catalog, tasks: Mapping[str, int]) -> Catalog:
    """The catalog with these numbers of tasks for streams that set none themselves.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> [stream.parallelism for stream in with_tasks(catalog, {"r": 4}).streams]
    [4, None]
    """
    return Catalog(
        tuple(
            s if s.parallelism is not None else replace(s, parallelism=tasks.get(s.name))
            for s in catalog.streams
        ),
        catalog.functions,
    )
