"""Where a batch's tasks look for stored tuples, beyond what the plan says.

Most stores lie as their plan has it. One that is cut into slices has boundaries that move (`slices`), and one
whose number of tasks has changed has tuples under the older number too (`rescaling`). Every task of a batch
must use the same layouts. The driver derives them from the last manifest, so a batch that is worked on again
has the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from jobs.partitioning.at_random import AtRandom
from jobs.partitioning.by_key import ByKey
from jobs.partitioning.in_grids import InGrids
from jobs.partitioning.in_slices import InSlices
from jobs.partitioning.rescaling import Rescaling, rescaling_of
from jobs.partitioning.slices import Layout, first_layout
from jobs.partitioning.strategy import Partitioning
from optimizer.physical.graph import GraphStore, Grid, Grids, Slices

StoreLayout: TypeAlias = Layout | Rescaling
Layouts: TypeAlias = Mapping[str, StoreLayout]
"""By the store's id. A store that is not in it has the slices, or the tasks, of its plan."""
NO_LAYOUTS: Layouts = {}


def partitioning_of(store: GraphStore, layout: StoreLayout | None) -> Partitioning:
    """How a store's tuples lie under a layout; None for that of its plan."""
    counts = rescaling_of(layout).counts(store)
    match store.partitioning:
        case Grid() | Grids():
            return InGrids(store.grids)
        case Slices():
            return InSlices(layout if isinstance(layout, Layout) else first_layout(store), store.tasks)
        case None:
            return AtRandom(counts)
        case _:
            return ByKey(counts)


def rescaled_stores(layouts: Layouts) -> frozenset[str]:
    """The stores whose tuples lie under several numbers of tasks."""
    return frozenset(store for store, layout in layouts.items() if isinstance(layout, Rescaling))
