"""Advice on a draft's windows, and what it would keep in a topology."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.live.queries import live_state
from backend.planning import drafting
from backend.planning.drafting import Outlook
from backend.planning.explanation import compared_with, registered
from backend.topologies.models import Topology
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import PhysicalGraph

_FEWEST_TUPLES = 100
"""Bytes per tuple are measured in stores with at least so many tuples: files have a fixed part."""


def outlook(
    account: User | AnonymousUser,
    caller: Caller,
    query: Query,
    sql: str,
    catalog: Catalog,
    topology: str | None,
) -> Outlook:
    """What the query would add to a topology's state, and advice to make it cheaper.

    Raises `Infeasible`.
    """
    compared = compared_with(account, query, topology)
    measured = {} if compared is None else _measured(compared[0])
    others = None if compared is None else compared[1]
    return pool.plan_join(
        caller, len(query.inputs), drafting.outlook, query, sql, registered(catalog), others, measured
    )


def _measured(topology: Topology) -> dict[str, float]:
    """Bytes per stored tuple, by stream, as the running job's base stores take them."""
    batch = live_state(topology).batch
    plan = topology.active_plan
    if batch is None or plan is None:
        return {}
    totals: dict[str, tuple[int, int]] = {}
    for store in at_once(PhysicalGraph.from_json(plan.graph, plan.plan_id)).stores:
        metrics = batch.stores.get(store.id)
        if store.is_base and metrics is not None:
            size, tuples = totals.get(store.inputs[0].stream, (0, 0))
            totals[store.inputs[0].stream] = size + metrics.bytes, tuples + metrics.tuples
    return {stream: size / tuples for stream, (size, tuples) in totals.items() if tuples >= _FEWEST_TUPLES}
