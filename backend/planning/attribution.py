"""What the parts of a stored plan cost, and each query's share."""

from __future__ import annotations

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.planning import drafting
from backend.planning.explanation import planning_of, registered
from backend.streams.queries import load_catalog
from backend.topologies.models import Plan
from optimizer.estimate import Shares


def costs_of(caller: Caller, record: Plan) -> Shares:
    """Price a plan by its own statistics, in its planner's unit."""
    planning = planning_of(record.topology)
    return pool.plan(
        caller, drafting.cost_shares, record.graph, registered(load_catalog()), record.learnt, planning
    )
