"""Tell of a batch by the ids of the deployed plan, whatever shapes its grids had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from jobs.protocol import BatchCompleted
from jobs.recovery.manifest import BatchCounts
from optimizer.physical.graph import PhysicalGraph

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AsPlanned:
    """A deployed plan, some of whose stores had other shapes in a batch.

    Edges and rules have the same ids in both; two copies of a stream's store may have become one, and are
    told of alike.
    """

    graph: PhysicalGraph
    stores: Mapping[str, str]
    """By store of `graph`, its id in the batch's plan."""
    rows: Mapping[str, tuple[int, ...]]
    """By store of `graph` that was a grid of another shape, the rows of each of its grids."""

    def batch(self, event: BatchCompleted) -> BatchCompleted:
        """The event with the stores of the deployed plan."""
        shapes = {store: list(rows) for store, rows in self.rows.items()}
        return event.model_copy(update={"stores": self._by_store(event.stores), "shapes": shapes})

    def counts(self, counts: BatchCounts) -> BatchCounts:
        """The counts by the stores of the deployed plan."""
        elements = {
            of: used for of, used in counts.element_cpu_us.items() if of not in self.stores.values()
        } | self._by_store(counts.element_cpu_us)
        return replace(
            counts,
            held=self._by_store(counts.held),
            fullest=self._by_store(counts.fullest),
            fullest_held=self._by_store(counts.fullest_held),
            element_cpu_us=dict(sorted(elements.items())),
        )

    def _by_store(self, told: Mapping[str, T]) -> dict[str, T]:
        return {store: told[laid] for store, laid in self.stores.items() if laid in told}
