"""What a draft would keep in a topology, and which other windows would fit better there."""

from __future__ import annotations

from dataclasses import dataclass

from backend.forecasts.intervals import kept_beyond, widened
from backend.live.queries import live_state
from backend.streams.queries import selectivities
from backend.topologies.models import Topology
from backend.topologies.planning import compared_with, plan_quickly, registered_statistics
from optimizer.catalog import Catalog
from optimizer.explain.advice import Advice, advise
from optimizer.explain.forecast import AddedStore, added_state
from optimizer.graph import PhysicalGraph
from optimizer.query import Query
from optimizer.statistics import Interval
from optimizer.stream import Stream
from optimizer.types import ColumnType

_WIDTHS = {
    ColumnType.BIGINT: 8,
    ColumnType.INT: 4,
    ColumnType.DOUBLE: 8,
    ColumnType.STRING: 16,
    ColumnType.BOOLEAN: 1,
    ColumnType.TIMESTAMP: 8,
    ColumnType.DATE: 4,
    ColumnType.BINARY: 16,
}
"""Bytes of a value in an Arrow column; texts and binaries are taken to be short."""
_ARRIVAL_BYTES = 8
_FEWEST = 100
"""Bytes per tuple are measured in stores with at least so many tuples: files have a fixed part."""


@dataclass(frozen=True, slots=True)
class ForecastStore:
    added: AddedStore
    tuples: Interval
    """What lies in the windows, and at the high end what a store keeps beyond them."""
    bytes_per_tuple: float
    measured: bool
    """True if `bytes_per_tuple` is what running stores take, False if it follows from the types."""


@dataclass(frozen=True, slots=True)
class Outlook:
    topology: str | None
    """What the draft is compared with; None if no topology shares a stream with it."""
    stores: tuple[ForecastStore, ...]
    advice: tuple[Advice, ...]


def outlook(query: Query, sql: str, catalog: Catalog, topology: str | None) -> Outlook:
    """What the query would add to the state of a topology, and advice that would make it cheaper.

    Raises `Infeasible`.
    """
    statistics = registered_statistics(catalog, selectivities())
    alone = plan_quickly([query], catalog, statistics, {query.name: sql})
    compared = compared_with(query, catalog, topology)
    added = added_state(None if compared is None else compared[1], alone)
    measured = {} if compared is None else _measured(compared[0])
    beyond = {
        tuple(source.stream for source in store.inputs): kept_beyond(store, catalog)
        for store in alone.graph.stores
    }
    stores = tuple(
        ForecastStore(
            one,
            widened(one.tuples, beyond.get(one.streams, 0.0)),
            sum(measured.get(stream, _width(catalog[stream])) for stream in one.streams),
            all(stream in measured for stream in one.streams),
        )
        for one in added
    )
    if compared is None:
        return Outlook(None, stores, ())
    return Outlook(compared[0].name, stores, advise(compared[1], query))


def _width(stream: Stream) -> float:
    return _ARRIVAL_BYTES + sum(_WIDTHS[kind] for _, kind in stream.columns)


def _measured(topology: Topology) -> dict[str, float]:
    """Bytes per stored tuple, by stream, as the running job's base stores take them."""
    batch = live_state(topology).batch
    plan = topology.active_plan
    if batch is None or plan is None:
        return {}
    totals: dict[str, tuple[int, int]] = {}
    for store in PhysicalGraph.from_json(plan.graph, plan.plan_id).stores:
        metrics = batch.stores.get(store.id)
        if store.is_base and metrics is not None:
            size, tuples = totals.get(store.inputs[0].stream, (0, 0))
            totals[store.inputs[0].stream] = size + metrics.bytes, tuples + metrics.tuples
    return {stream: size / tuples for stream, (size, tuples) in totals.items() if tuples >= _FEWEST}
