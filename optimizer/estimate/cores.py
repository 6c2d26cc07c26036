"""The processor time that a plan's steps and stores are expected to take."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.estimate.loads import loads
from optimizer.physical.graph import PhysicalGraph
from optimizer.search.coefficients import Coefficients
from optimizer.search.pricing import CORES, Processor
from optimizer.statistics.provider import StatisticsProvider


@dataclass(frozen=True, slots=True)
class ExpectedCores:
    """Processor seconds per second of event time."""

    elements: dict[str, float]
    """By rule that receives tuples and stores none, and by store."""
    total: float
    """With what every plan of the queries takes: batches as such, reading, writing results."""


def expected_cores(
    graph: PhysicalGraph,
    statistics: StatisticsProvider,
    coefficients: Coefficients,
    batch_s: float,
    horizon_s: float = 3600.0,
) -> ExpectedCores:
    """What a graph takes under given statistics, whatever its plan was chosen by.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> from optimizer.statistics import statistics_of_workload
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> known = statistics_of_workload(catalog)
    >>> graph = plan([parse_query(text, "q", catalog)], catalog, known).graph
    >>> each = expected_cores(graph, known, Coefficients(batch=1000.0, step=500.0), batch_s=0.5)
    >>> round(each.total - sum(each.elements.values()), 6)
    0.002

    Args:
        coefficients: as `python -m jobs calibrate` measures them.
        batch_s: seconds of event time that one batch spans, above 0.
        horizon_s: seconds over which an unbounded window holds tuples.
    """
    pricing, does = Processor(coefficients, batch_s, 0.0), loads(graph, statistics, horizon_s)
    steps = {rule: CORES * sum(pricing.step(load)) for rule, load in does.steps.items()}
    stores = {store: CORES * pricing.copy(load)[0] for store, load in does.copies.items()}
    return ExpectedCores(steps | stores, CORES * (does.work(pricing) + pricing.batches))
