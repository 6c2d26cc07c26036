"""The layouts under which a batch's tasks look for stored tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jobs.partitioning.layout import Layouts, StoreLayout
from jobs.partitioning.rescaling import Spread
from jobs.partitioning.slices import Layout, Segment, _planned_us, first_layout
from jobs.plan.event_time import LAST_US
from jobs.recovery.manifest import Manifest, StoreState
from jobs.storage.run import RunRef
from optimizer.physical.graph import GraphStore, PhysicalGraph, Slices


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


LEAST_CHANGE = 0.1
"""Widths that differ by less are the same: arrivals are never quite even."""

MOST_CHANGE = 8.0
"""By what factor, at most, slices are wider or narrower than the plan has them."""


def continued(
    store: GraphStore, layout: Layout, state: StoreState, previous: Manifest, epoch_begins: bool
) -> Layout:
    """The layout of the next batch.

    It is looked at again when an epoch begins or the plan asks for another width: then it has the width
    that fits the newest arrivals, for event times that are still to come.

    Args:
        state: of the store.
        previous: the manifest that the batch starts from.
    """
    if not epoch_begins and layout.planned_us == _planned_us(store):
        return layout
    stream = previous.streams.get(store.inputs[0].stream)
    newest = None if stream is None else stream.max_event_time_us
    if newest is None:
        return layout
    planned = _planned_us(store)
    width = planned
    assert isinstance(store.partitioning, Slices)
    if store.partitioning.smoothed:
        held = [run for run in previous.runs if run.store == store.id]
        width = _smoothed_us(planned, layout, state.inserted, newest, held)
    segments = _without_expired(layout.segments, store, previous.watermark_us)
    last = segments[-1]
    # Behind the end of time there is nothing to come.
    if last.since_us <= newest < LAST_US and abs(width - last.width_us) > LEAST_CHANGE * last.width_us:
        first = last.first + (newest - last.since_us) // last.width_us + 1
        segments = (*segments, Segment(newest + 1, width, first))
    return Layout(segments, planned, state.inserted, newest)


def _smoothed_us(planned: int, layout: Layout, inserted: int, newest_us: int, held: Sequence[RunRef]) -> int:
    """The width at which a slice now gets as many tuples as planned.

    That is as many as the planned width holds on average.

    What is stored per second of its event time, beside what arrived per second since the last look; where one
    of the two is not known yet, the width that was planned.
    """
    if layout.counted_until_us is None or not held:
        return planned
    elapsed, arrived = newest_us - layout.counted_until_us, inserted - layout.counted
    oldest = min(run.min_times_us[0] for run in held)
    span, rows = max(run.max_times_us[0] for run in held) - oldest, sum(run.rows for run in held)
    if elapsed <= 0 or arrived <= 0 or span <= 0:
        return planned
    factor = (rows / span) / (arrived / elapsed)
    return min(LAST_US, max(1, round(planned * min(MOST_CHANGE, max(1.0 / MOST_CHANGE, factor)))))


def _without_expired(
    segments: tuple[Segment, ...], store: GraphStore, watermark_us: int | None
) -> tuple[Segment, ...]:
    """The segments of event times that may still be stored or asked for.

    Tuples leave in whole runs, late ones may be joined with whatever is still there: twice the retention is
    kept.
    """
    retention = store.retention[0].reach_us
    if watermark_us is None or retention is None:
        return segments
    ended = sum(later.since_us <= watermark_us - 2 * retention for later in segments[1:])
    return segments[ended:]
