"""Grid shapes that follow what their stores receive, decided before each batch.

Algorithm 2 of Squall's paper looks at every tuple. Here tuples come in batches, and what counts is where a
batch ends: its shapes are chosen for what is stored and what it is about to bring. They are no part of
what is decided about plans ahead of time, they are laid over the plan that holds for the batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.adaptation.cardinalities import Cardinalities
from jobs.recovery.batch_history import BatchLine
from optimizer.partitioning.matrix.groups import followed, rows_for
from optimizer.partitioning.matrix.policy import Controller
from optimizer.physical.graph import PhysicalGraph


class Shapes:
    """The policies of all grids of a replay.

    What they decide depends on the batches that were added and on the next one's tuples alone, so a replay
    that is killed and continued has the same shapes.

    Arguments: what keeping a tuple for a second costs, in probe tuples.
    """

    def __init__(self, storage_weight: float) -> None:
        self._cardinalities = Cardinalities(storage_weight)
        self._controllers: dict[str, Controller] = {}

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
