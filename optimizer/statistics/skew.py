"""How unevenly hashing a column spreads a store's tuples over its tasks."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from optimizer.algebra.expression import Column
from optimizer.physical.graph import GraphStore
from optimizer.statistics.provider import StatisticsProvider


@runtime_checkable
class SkewProvider(Protocol):
    """What a `StatisticsProvider` may know besides."""

    def top_share(self, stream: str, column: str) -> float | None:
        """The share of a column's most frequent value in a stream; None if unknown."""
        ...


def top_share(statistics: StatisticsProvider, stream: str, column: str) -> float | None:
    """What is known of a column's most frequent value: None where nothing is."""
    return statistics.top_share(stream, column) if isinstance(statistics, SkewProvider) else None


def hash_skew(store: GraphStore, statistics: StatisticsProvider) -> float:
    """The largest task's share of a store's tuples over the mean share; 1 is even.

    The task of the most frequent value has all its tuples and an N-th of the others: with a top share f
    it has N*f + (1 - f) times the mean. Other values are taken to spread evenly. 1 for a store that is not
    partitioned by a column, and where the top share is not known.
    """
    if not isinstance(store.partitioning, Column):
        return 1.0
    column = store.partitioning
    stream = next(stored.stream for stored in store.inputs if stored.input == column.input)
    share = top_share(statistics, stream, column.name)
    return 1.0 if share is None else 1.0 + share * (store.tasks - 1)
