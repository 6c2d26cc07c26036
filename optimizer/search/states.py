"""States, stores and targets: the nodes of the state graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from optimizer.search.problem import Attribute


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A sub-query: relations with the predicates of some query on them."""

    index: int
    relations: int
    predicates: int
    members: tuple[int, ...]
    volume: float
    """`CostModel.volume`; divided by a start's window it is a rate."""

    @property
    def size(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True, eq=False)
class StoreSite:
    """A relation that may be stored, with its candidate partitionings (Figure 6.7)."""

    state: State
    partitionings: tuple[Attribute | None, ...]
    tasks: int
    tuples: float
    """Estimated stored tuples of one copy."""
    weights: tuple[float, ...]
    """Objective per installed copy of each partitioning; what runs already may be discounted."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A sub-query that probe orders produce: a query's result or an MIR."""

    state: State
    queries: tuple[str, ...]
    """Queries that it answers; empty for an MIR only."""
    latency: tuple[float, ...]
    """Objective per hop, per member: latency weight times that start's share of the results."""


Step: TypeAlias = tuple[int, int, int, int, int]
"""An arc, its source state, store and target state, and what its sender knows (`StateGraph.known`)."""
