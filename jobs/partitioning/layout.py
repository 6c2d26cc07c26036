"""Where a batch's tasks look for stored tuples, beyond what the plan says.

Most stores lie as their plan has it. One that is cut into slices has boundaries that move (`slices`), and one
whose number of tasks has changed has tuples under the older number too (`spread`). Every task of a batch must
use the same layouts. The driver derives them from the last manifest, so a batch that is worked on again has
the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from jobs.partitioning.rescaling import Spread
from jobs.partitioning.slices import Layout, continued, first_layout
from optimizer.physical.graph import GraphStore, PhysicalGraph, Slices

if TYPE_CHECKING:
    from jobs.recovery.manifest import Manifest, StoreState

StoreLayout: TypeAlias = Layout | Spread
Layouts: TypeAlias = Mapping[str, StoreLayout]
"""By the store's id. A store that is not in it has the slices, or the tasks, of its plan."""
NO_LAYOUTS: Layouts = {}


def slices_of(store: GraphStore, layouts: Layouts) -> Layout:
    """The slices of a sliced store."""
    known = layouts.get(store.id)
    return known if isinstance(known, Layout) else first_layout(store)


def spread_of(store: GraphStore, layouts: Layouts) -> Spread:
    """The older numbers of tasks under which a store's tuples lie."""
    known = layouts.get(store.id)
    return known if isinstance(known, Spread) else Spread()


def spread_stores(layouts: Layouts) -> frozenset[str]:
    """The stores whose tuples lie under several numbers of tasks."""
    return frozenset(store for store, layout in layouts.items() if isinstance(layout, Spread))


def layouts_of(
    graph: PhysicalGraph, previous: Manifest | None, batch: int, epoch_batches: int
) -> dict[str, StoreLayout]:
    """The layouts under which a batch is worked on, by the store's id.

    Slices are looked at again at the first batch of an epoch, and when the plan asks for another width;
    numbers of tasks are forgotten at the first batch that begins without a tuple of theirs.

    Args:
        previous: the manifest that the batch starts from.
        batch: its number.
        epoch_batches: batches of an epoch.
    """
    layouts: dict[str, StoreLayout] = {}
    for store in graph.stores:
        state = previous.stores.get(store.id) if previous is not None else None
        layout = None if state is None else state.layout
        if isinstance(store.partitioning, Slices):
            if previous is None or state is None or not isinstance(layout, Layout):
                layouts[store.id] = first_layout(store)
            else:
                epoch_begins = batch % epoch_batches == 0
                layouts[store.id] = continued(store, layout, state, previous, epoch_begins)
        elif previous is not None and isinstance(layout, Spread):
            living = layout.living([run for run in previous.runs if run.store == store.id])
            if living.older:
                layouts[store.id] = living
    return layouts


def with_layouts(stores: Mapping[str, StoreState], layouts: Layouts) -> dict[str, StoreState]:
    """The stores' states with the layouts under which a batch was worked on."""
    return {store: replace(state, layout=layouts.get(store)) for store, state in stores.items()}
