"""The layouts under which a batch's tasks look for stored tuples."""

from __future__ import annotations

from jobs.partitioning.layout import StoreLayout, partitioning_of
from jobs.partitioning.slices import Held
from jobs.recovery.manifest import Manifest, StoreState, StreamState
from optimizer.physical.graph import PhysicalGraph


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
        state = StoreState() if previous is None else previous.stores.get(store.id, StoreState())
        layout: StoreLayout | None = state.layout
        if layout is None:
            layout = partitioning_of(store, None).first_layout()
        elif previous is not None:
            newest_us = previous.streams.get(store.inputs[0].stream, StreamState()).max_event_time_us
            epoch_begins = batch % epoch_batches == 0
            held = Held(previous.runs, state.inserted, newest_us, previous.watermark_us, epoch_begins)
            layout = layout.continued(store, held)
        if layout is not None:
            layouts[store.id] = layout
    return layouts
