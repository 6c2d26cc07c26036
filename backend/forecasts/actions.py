"""Keeping what was forecast, and looking what it came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction

from backend.forecasts.intervals import held_by_store, total
from backend.forecasts.models import Forecast, ForecastStore
from backend.live.queries import live_state
from backend.live.state import StoresPoint
from backend.topologies.models import Plan as PlanRecord
from backend.topologies.models import Topology, TopologyQuery
from jobs.protocol import BatchCompleted
from optimizer.adaptation import LearntStatistics
from optimizer.logical.catalog import Catalog
from optimizer.physical.graph import GraphStore, PhysicalGraph
from optimizer.physical.usage import users_of
from optimizer.planner.plan import Plan

AVERAGED_BATCHES = 30
"""Batches with full windows over which stores are averaged, as far as the topology's live state keeps them:
streams have lulls and peaks."""


def keep_forecasts(
    topology: Topology,
    record: PlanRecord,
    deployed: Iterable[TopologyQuery],
    made: Plan,
    learnt: LearntStatistics | None,
    now: datetime,
) -> None:
    """Remember what the plan's stores are forecast to hold, for each of these queries.

    A query that needs no store has no forecast, nor has one with a store that forgets nothing: its
    windows are never full. An earlier forecast of the query that is still open is overtaken, unless it is of
    the same version and stores: what these will hold is no other plan's doing.
    """
    users = users_of(made.graph).stores
    held = held_by_store(made, learnt)
    stores = {store.id: store for store in made.graph.stores}
    found = Forecast.objects.filter(topology=topology, state=Forecast.State.OPEN)
    waiting = {one.query_id: one for one in found}
    for one in deployed:
        name = one.version.query.name
        # What waits for its deadline is not forecast.
        needed = [store for store in held if name in users.get(store, frozenset())]
        before = waiting.get(one.query_id)
        if (
            before is not None
            and before.version == one.version.number
            and _foretold(before) == {store: stores[store] for store in needed}
        ):
            continue
        Forecast.objects.filter(query=one.query_id, state=Forecast.State.OPEN).update(
            state=Forecast.State.OVERTAKEN, judged_at=now
        )
        longest = _full_after(needed, stores, made.catalog)
        if longest is None:
            continue
        interval = total(needed, held)
        with transaction.atomic():
            forecast = Forecast.objects.create(
                query_id=one.query_id,
                topology=topology,
                version=one.version.number,
                plan_id=record.plan_id,
                made_at=now,
                low=interval.low,
                expected=interval.expected,
                high=interval.high,
                full_after_ms=longest / timedelta(milliseconds=1),
            )
            ForecastStore.objects.bulk_create(
                ForecastStore(forecast=forecast, store=store) for store in needed
            )


def _foretold(forecast: Forecast) -> dict[str, GraphStore | None]:
    """The stores that a forecast is about, by id, as its plan has them."""
    planned = _stores(forecast, forecast.plan_id)
    return {store: planned.get(store) for store in forecast.stores.values_list("store", flat=True)}


def _full_after(needed: Sequence[str], stores: dict[str, GraphStore], catalog: Catalog) -> timedelta | None:
    """Event time until stores evict as fast as they fill; None if they never do."""
    longest: timedelta | None = None
    for store in needed:
        for source, retention in zip(stores[store].inputs, stores[store].retention, strict=True):
            if retention.reach_us is None:
                return None
            needs = timedelta(microseconds=retention.reach_us) + catalog[source.stream].lateness
            longest = needs if longest is None else max(longest, needs)
    return longest


def judge(now: datetime) -> int:
    """Compare open forecasts whose windows are full with stores; returns how many."""
    judged = 0
    for topology in Topology.objects.filter(forecasts__state=Forecast.State.OPEN).distinct():
        live = live_state(topology)
        if live.batch is None:
            continue
        for forecast in Forecast.objects.filter(topology=topology, state=Forecast.State.OPEN):
            judged += _judge(forecast, live.batch, live.store_history, now)
    return judged


def _judge(forecast: Forecast, batch: BatchCompleted, history: Sequence[StoresPoint], now: datetime) -> int:
    planned = _stores(forecast, forecast.plan_id)
    stores = list(forecast.stores.values_list("store", flat=True))
    running = planned if batch.plan_id == forecast.plan_id else _stores(forecast, batch.plan_id)
    reached = _reached([planned[store] for store in stores], batch)
    row = Forecast.objects.filter(pk=forecast.pk, state=Forecast.State.OPEN)
    if any(running.get(store) != planned[store] or store not in batch.stores for store in stores):
        # The plan may still be on its way to the job; once it ran, another one has taken its place.
        if forecast.began_at is not None:
            row.update(state=Forecast.State.OVERTAKEN, judged_at=now)
        return 0
    if reached is None:
        return 0
    if forecast.began_at is None:
        row.update(began_at=reached)
        return 0
    if forecast.full_batch is None:
        if reached - forecast.began_at >= timedelta(milliseconds=forecast.full_after_ms):
            row.update(full_batch=batch.batch)
        return 0
    if batch.batch < forecast.full_batch + AVERAGED_BATCHES:
        return 0
    totals = [
        sum(point.stores[store].tuples for store in stores)
        for point in history
        if point.batch >= forecast.full_batch and all(store in point.stores for store in stores)
    ]
    observed = round(sum(totals) / len(totals))
    held = forecast.low <= observed <= forecast.high
    return row.update(
        state=Forecast.State.HELD if held else Forecast.State.MISSED, observed=observed, judged_at=now
    )


def _stores(forecast: Forecast, plan_id: str) -> dict[str, GraphStore]:
    """The stores of a plan, by id; none if the plan is not known."""
    plan = PlanRecord.objects.filter(topology=forecast.topology_id, plan_id=plan_id).first()
    if plan is None:
        return {}
    return {store.id: store for store in PhysicalGraph.from_json(plan.graph, plan_id).stores}


def _reached(stores: Iterable[GraphStore], batch: BatchCompleted) -> datetime | None:
    """How far event time has come in all of the stores' streams; None if one is empty."""
    moments = []
    for name in {one.stream for store in stores for one in store.inputs}:
        metrics = batch.streams.get(name)
        if metrics is None or metrics.max_event_time is None:
            return None
        moments.append(metrics.max_event_time)
    return min(moments, default=None)
