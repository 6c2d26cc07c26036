"""What other methods would make of a stored plan's queries: the receipt beside its cost."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings

from backend.catalog.language import parse_versions
from backend.streams.queries import load_catalog, selectivities
from backend.topologies.models import Plan as PlanRecord
from backend.topologies.planning import DRAFT_SECONDS, read_known, registered_statistics
from optimizer.catalog import Catalog
from optimizer.graph import ProbeRule
from optimizer.plan import plan
from optimizer.problem import Options
from optimizer.query import Query
from optimizer.statistics import LayeredStatistics

COMPARED = ("greedy", "individual")


@dataclass(frozen=True, slots=True)
class Alternative:
    method: str
    cost: dict[str, float]
    """By kind, as `optimizer.problem.Cost`."""
    stores: int
    steps: int
    """Probes of one tuple of every stream."""
    depth: int
    """Levels, that is Spark stages."""
    seconds: float
    graph: dict[str, Any]
    """`optimizer/physical_graph.schema.json`."""


def alternatives_of(record: PlanRecord) -> tuple[Alternative, ...]:
    """The queries of a plan under each of `COMPARED`, with the measurements that the plan was made from."""
    catalog = load_catalog()
    versions = list(record.versions.select_related("query").order_by("query__name"))
    parsed = parse_versions(versions, catalog)
    queries = tuple(parsed[version.pk] for version in versions)
    return tuple(_alternative(queries, catalog, selectivities(), record.known, method) for method in COMPARED)


@lru_cache(maxsize=32)
def _alternative(
    queries: tuple[Query, ...],
    catalog: Catalog,
    estimates: tuple[tuple[str, float], ...],
    measured: str,
    method: str,
) -> Alternative:
    registered = registered_statistics(catalog, estimates)
    known = read_known(measured)
    made = plan(
        queries,
        catalog,
        registered if known is None else LayeredStatistics((known.measured, registered)),
        method,
        Options(time_limit_s=DRAFT_SECONDS),
        "everything",
        tasks=int(settings.MILLRACE_PARALLELISM),
    )
    cost = made.solution.cost
    return Alternative(
        method=method,
        cost={**asdict(cost), "total": cost.total},
        stores=len(made.graph.stores),
        steps=sum(isinstance(rule, ProbeRule) for rule in made.graph.rules),
        depth=made.graph.depth,
        seconds=made.seconds,
        graph=json.loads(made.graph.to_json()),
    )
