"""Grid shapes that follow what their stores receive, decided before each batch.

Algorithm 2 of Squall's paper looks at every tuple. Here tuples come in batches, and what counts is where a
batch ends: its shapes are chosen for what is stored and what it is about to bring. They are no part of
what is decided about plans ahead of time, they are laid over the plan that holds for the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.recovery.batch_history import BatchLine
from jobs.shapes.cardinalities import Cardinalities, Counted
from optimizer.partitioning.matrix.groups import followed, rows_for
from optimizer.partitioning.matrix.policy import Controller
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class ShapesKnown:
    """All that `Shapes` knows, for a checkpoint."""

    counted: Counted = field(default_factory=Counted)
    controllers: dict[str, Controller] = field(default_factory=dict)
    """By stream."""


class Shapes:
    """The policies of all grids of a topology.

    What they decide depends on the batches that were added and on the next one's tuples alone, so a topology
    that is killed and continued has the same shapes.

    Arguments: what keeping a tuple for a second costs, in probe tuples; what was known before.
    """

    def __init__(self, storage_weight: float, known: ShapesKnown | None = None) -> None:
        known = known or ShapesKnown()
        self._cardinalities = Cardinalities(storage_weight, known.counted)
        self._controllers = dict(known.controllers)

    @property
    def known(self) -> ShapesKnown:
        return ShapesKnown(self._cardinalities.counted, self._controllers)

    def weigh_storage(self, weight: float) -> None:
        """From now on keeping a tuple for a second costs so many probe tuples."""
        self._cardinalities.storage_weight = weight

    def add(self, line: BatchLine, graph: PhysicalGraph) -> None:
        """Take note of a committed batch, and of the plan under which it ran."""
        seen = self._cardinalities.add(line, graph)
        self._controllers = followed(graph, self._controllers, seen)

    def chosen(self, graph: PhysicalGraph, tuples: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """By store, grids' rows for the next batch where the plan has others.

        Args:
            graph: the plan that holds for it.
            tuples: by stream, how many it brings.
        """
        return rows_for(graph, self._controllers, self._cardinalities.expected(graph, tuples))
