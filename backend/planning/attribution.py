"""What the parts of a stored plan cost, and what of it falls on each query."""

from __future__ import annotations

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.planning import drafting
from backend.planning.explanation import planning_of, registered
from backend.streams.queries import load_catalog
from backend.topologies.models import Plan
from optimizer.estimate import Shares


def costs_of(caller: Caller, record: Plan) -> Shares:
    """By the statistics that the plan was made from, in the unit of its topology's planner."""
    planning = planning_of(record.topology)
    return pool.plan(
        caller, drafting.cost_shares, record.graph, registered(load_catalog()), record.learnt, planning
    )
