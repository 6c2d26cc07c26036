"""How many tuples a store will hold, as an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from optimizer.adaptation import LearntStatistics
from optimizer.estimate import estimate
from optimizer.explain.forecast import AtEnd
from optimizer.logical.catalog import Catalog
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import GraphStore
from optimizer.planner.plan import Plan
from optimizer.statistics import DefaultStatistics, Interval, LayeredStatistics
from optimizer.statistics.observation.evidence import DECLARED

RUN_SHARE = 1 / 8
"""Tuples leave a store in runs that span at most this share of its retention (`jobs.storage.partition`)."""
RESULTS_SHARE = 1 / 3
"""Runs of results are written anew once a quarter of them has expired (`jobs.storage.partition`)."""


def kept_beyond(store: GraphStore, catalog: Catalog) -> float:
    """The share of its windows that a store may hold on top, 0 if it forgets nothing.

    The watermark stays behind the newest tuple by the streams' lateness, and a run stays as long as a
    part of it is needed: 15 s of lateness and windows of 60 s make 15 / 60 + 1 / 8 = 0.375. A result of two
    such inputs lives for 30 s on average, which makes 15 / 30 + 1 / 3 = 0.833.
    """
    retentions = [window.reach_us for window in store.retention if window.reach_us is not None]
    if not retentions or min(retentions) <= 0:
        return 0.0
    latest = max(catalog[one.stream].lateness for one in store.inputs) / timedelta(microseconds=1)
    life = min(retentions) / len(retentions)
    return latest / life + (RUN_SHARE if store.is_base else RESULTS_SHARE)


def widened(held: Interval, beyond: float) -> Interval:
    """What lies in the windows, with what is kept beyond them at the high end."""
    return Interval(held.low, held.expected, held.high * (1.0 + beyond))


def held_by_store(plan: Plan, learnt: LearntStatistics | None = None) -> dict[str, Interval]:
    """Tuples that every store of a plan holds once its windows are full, by its id.

    Args:
        learnt: what the plan was made from, if anything was learnt: its rates may be any epoch's.
    """
    seen = () if learnt is None else (learnt.measured.ahead,)
    known = LayeredStatistics((*seen, plan.statistics, DefaultStatistics()))
    low, expected, high = (
        estimate(plan.graph, AtEnd(known, end, DECLARED), plan.context.horizon_s).stores
        for end in ("low", "expected", "high")
    )
    return {
        store.id: widened(
            Interval(low[store.id], expected[store.id], high[store.id]), kept_beyond(store, plan.catalog)
        )
        for store in at_once(plan.graph).stores
    }


def total(stores: Iterable[str], held: Mapping[str, Interval]) -> Interval:
    """The interval of several stores together.

    The ends add up, because one cause (a rate) moves several of them.
    """
    found = [held[store] for store in stores]
    return Interval(
        sum(one.low for one in found), sum(one.expected for one in found), sum(one.high for one in found)
    )
