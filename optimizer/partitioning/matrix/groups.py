"""Rows and columns of running grids, changed by what their tasks receive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optimizer.partitioning.matrix.layout import rows_of, with_groups
from optimizer.partitioning.matrix.policy import Controller
from optimizer.partitioning.matrix.shape import Arrangement
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import GraphStore, PhysicalGraph

EAGERNESS = 0.5
"""A batch's shape is chosen for what it is expected to bring. Where that is exact, the load is at most 8/7 of
the best one. It is below 1.25 times it as long as what was expected of either side is at most an eighth more
or less than what comes: the ratio of both is wrong by a factor of 9/7 then, and 1.5 times that is less than
2."""


@dataclass(frozen=True, slots=True)
class Cardinality:
    """What a stream's store received to keep or to probe with, and what keeping costs."""

    stored: float
    probing: float


def grids_by_stream(graph: PhysicalGraph) -> dict[str, GraphStore]:
    """Base stores whose copies' tuples lie at random in several tasks, by stream."""
    found = {
        store.inputs[0].stream: store
        for store in at_once(graph).stores
        if store.is_base and store.tasks > 1 and rows_of(store) is not None
    }
    return dict(sorted(found.items()))


def rows_for(
    graph: PhysicalGraph, controllers: Mapping[str, Controller], expected: Mapping[str, Cardinality]
) -> dict[str, tuple[int, ...]]:
    """The shapes that Algorithm 2 chooses for a batch, as `with_groups` takes them.

    Args:
        graph: the plan of the batch, in whatever shapes.
        controllers: by stream, as `followed` returns them; none before the first batch.
        expected: by stream of a grid, what will count at the end of the batch.

    Returns:
        Rows by store, of the stores that `graph` has in another shape.
    """
    chosen = {}
    for stream, store in grids_by_stream(graph).items():
        controller = _controller(store, controllers.get(stream))
        seen = expected[stream]
        if seen.stored > 0 or seen.probing > 0:
            controller = controller.observe(seen.stored, seen.probing)
        rows = controller.arrangement.rows
        if rows != _arrangement(store).rows:
            chosen[store.id] = rows
    return chosen


def followed(
    graph: PhysicalGraph, controllers: Mapping[str, Controller], seen: Mapping[str, Cardinality]
) -> dict[str, Controller]:
    """The policies behind a batch, by stream.

    Args:
        graph: the plan under which it ran, in the shapes that it had.
        controllers: before it.
        seen: by stream of a grid, what counts at its end.
    """
    after = dict(controllers)
    for stream, store in grids_by_stream(graph).items():
        counted = seen[stream]
        controller = _controller(store, controllers.get(stream))
        if counted.stored > 0 or counted.probing > 0:
            controller = controller.follow(_arrangement(store), counted.stored, counted.probing)
        after[stream] = controller
    return after


def keep_groups(candidate: PhysicalGraph, running: PhysicalGraph) -> PhysicalGraph:
    """The candidate with the shapes that the running plan's stores have.

    Whether a store is a grid is for the optimizer to say; of which shape a running one is, for
    the policy: by estimates it would change to and fro.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> from optimizer.adaptation import with_tasks
    >>> graph = plan([query], with_tasks(catalog, {"r": 4})).graph
    >>> of_r = graph.stores[0].id
    >>> running, candidate = with_groups(graph, {of_r: (2,)}), with_groups(graph, {of_r: (4,)})
    >>> keep_groups(candidate, running) == running
    True
    """
    held = grids_by_stream(running)
    chosen = {}
    for stream, store in grids_by_stream(candidate).items():
        same = held.get(stream)
        if same is not None and same.tasks == store.tasks and same.id != store.id:
            chosen[store.id] = tuple(grid.rows for grid in same.grids)
    return with_groups(candidate, chosen)


def _arrangement(store: GraphStore) -> Arrangement:
    return Arrangement.of(store.tasks, tuple(grid.rows for grid in store.grids))


def _controller(store: GraphStore, known: Controller | None) -> Controller:
    """The policy of a store.

    If there was none for so many tasks, it is one that looks at the next batch.
    """
    if known is not None and known.arrangement.tasks == store.tasks:
        return known
    return Controller(_arrangement(store), 0.0, 0.0, EAGERNESS)
