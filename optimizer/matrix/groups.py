"""Rows and columns of running grids, changed by what their tasks received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.graph import GraphStore, PhysicalGraph
from optimizer.matrix.layout import rows_of, with_groups
from optimizer.matrix.policy import Controller
from optimizer.matrix.shape import Arrangement

EAGERNESS = 0.5
"""A shape takes hold two epochs behind the one whose counts it was chosen for. One side may grow by a third
against the other meanwhile, 1.5 times 4/3 being 2, and the load stays below 1.25 times the best."""


@dataclass(frozen=True, slots=True)
class Cardinality:
    """What a stream's store received: tuples to keep, with what keeping them costs, and to probe with."""

    stored: float
    probing: float


@dataclass(frozen=True, slots=True)
class Regrouped:
    """A store whose tasks are arranged in another way."""

    store: str
    """Its id in the plan until then."""
    stream: str
    before: Arrangement
    after: Arrangement
    received: Cardinality

    def __str__(self) -> str:
        return (
            f"the store of {self.stream} got {self.received.stored:,.0f} to keep and "
            f"{self.received.probing:,.0f} to probe with: {self.after} tasks instead of {self.before}"
        )


def grids_by_stream(graph: PhysicalGraph) -> dict[str, GraphStore]:
    """Base stores of several tasks whose tuples lie at random, in one copy or more, by stream."""
    found = {
        store.inputs[0].stream: store
        for store in graph.stores
        if store.is_base and store.tasks > 1 and rows_of(store) is not None
    }
    return dict(sorted(found.items()))


def regroup(graph: PhysicalGraph, history: Mapping[str, Sequence[Cardinality]]) -> tuple[Regrouped, ...]:
    """The stores whose shape Algorithm 2 changes, by stream.

    The policy is run over all epochs anew, so that it decides alike in whichever process it does.

    Args:
        graph: the running plan.
        history: by stream, at the end of every epoch so far what counts then (`Controller.observe`).
    """
    changed = []
    for stream, store in grids_by_stream(graph).items():
        seen = [c for c in history.get(stream, ()) if c.stored > 0 or c.probing > 0]
        rows = rows_of(store)
        if not seen or rows is None:
            continue
        controller = Controller.start(store.tasks, seen[0].stored, seen[0].probing, EAGERNESS)
        for moment in seen[1:]:
            controller = controller.observe(moment.stored, moment.probing)
        after = controller.arrangement
        if after.rows != rows:
            before = Arrangement.of(store.tasks, rows)
            changed.append(Regrouped(store.id, stream, before, after, seen[-1]))
    return tuple(changed)


def keep_groups(candidate: PhysicalGraph, running: PhysicalGraph) -> PhysicalGraph:
    """The candidate with the shapes that the running plan's stores have.

    Whether a store is a grid is for the optimizer to say; of which shape a running one is, for
    `regroup`: by estimates it would change to and fro.
    """
    held = grids_by_stream(running)
    chosen = {}
    for stream, store in grids_by_stream(candidate).items():
        same = held.get(stream)
        if same is not None and same.tasks == store.tasks and same.id != store.id:
            chosen[store.id] = tuple(grid.rows for grid in same.grids)
    return with_groups(candidate, chosen)
