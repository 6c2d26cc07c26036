"""A stored plan's queries under other methods: the receipt beside its cost."""

from __future__ import annotations

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.catalog.language import texts_of
from backend.planning import drafting
from backend.planning.drafting import Alternative, Others
from backend.planning.explanation import planning_of, registered
from backend.streams.queries import load_catalog
from backend.topologies.models import Plan as PlanRecord
from optimizer.planner.settings import Method

COMPARED: tuple[Method, ...] = ("greedy", "individual")


def alternatives_of(caller: Caller, record: PlanRecord) -> tuple[Alternative, ...]:
    """A plan's queries under each method of `COMPARED`, with its own measurements."""
    keys = tuple(record.versions.order_by("query__name").values_list("pk", flat=True))
    others = Others(record.topology.name, keys, texts_of(keys), planning_of(record.topology))
    return pool.plan(
        caller, drafting.alternatives, others, registered(load_catalog()), record.learnt, COMPARED
    )
