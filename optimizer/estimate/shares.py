"""What each query pays for: its own steps and a part of shared ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optimizer.estimate.loads import loads
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.usage import Users, users_of
from optimizer.search.problem import Options
from optimizer.statistics.provider import StatisticsProvider


@dataclass(frozen=True, slots=True)
class Shares:
    """A plan's cost by part and by query, in the unit of `Options.pricing`."""

    elements: dict[str, float]
    """By rule that receives tuples, and by store."""
    streams: dict[str, float]
    """Reading each stream."""
    answers: dict[str, float]
    """Writing each query's results."""
    queries: dict[str, float]
    """What falls on each query."""
    common: float
    """What falls on none: batches as such, and stores that no query needs yet."""

    @property
    def total(self) -> float:
        return sum(self.queries[name] for name in sorted(self.queries)) + self.common


def shares(
    graph: PhysicalGraph, statistics: StatisticsProvider, options: Options, horizon_s: float = 3600.0
) -> Shares:
    """Split a plan's cost among its queries.

    Each step, store and stream is split evenly among those that need it.

    Parts have costs of their own that do not depend on who needs them, so an even split of each is the
    Shapley value: the mean of what a query adds, over all orders in which queries could have come.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> made = plan([parse_query(text, name, catalog) for name in ("one", "two")], catalog)
    >>> found = shares(made.graph, made.statistics, made.options)
    >>> found.queries["one"] == found.queries["two"]
    True

    Args:
        graph: a valid graph; its own estimates are not looked at.
        statistics: as for `estimate`.

    Source: Shapley, A value for n-person games (1953); its axiom of additivity.
    """
    does, pricing, users = loads(graph, statistics, horizon_s), options.pricing, users_of(graph)
    elements = {rule: sum(pricing.step(load)) for rule, load in does.steps.items()}
    for store, load in does.copies.items():
        work, memory = pricing.copy(load)
        elements[store] = work + pricing.memory * memory
    streams = {name: pricing.source(load) for name, load in does.reading.items()}
    answers = {name: pricing.source(load) for name, load in does.answering.items()}
    queries, common = dict(answers), pricing.batches
    for cost, sharing in _parts(users, elements, streams):
        if not sharing:
            common += cost
        for name in sorted(sharing):
            queries[name] += cost / len(sharing)
    return Shares(elements, streams, answers, queries, common)


def _parts(
    users: Users, elements: dict[str, float], streams: dict[str, float]
) -> Iterable[tuple[float, frozenset[str]]]:
    """The cost of everything that can be shared, with the queries that need it."""
    yield from ((cost, users.streams[name]) for name, cost in streams.items())
    yield from ((cost, users.of(name)) for name, cost in elements.items())
