"""An explanation of a plan as a typed, serializable document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from optimizer.explain.alternatives import Alternative, Apart
from optimizer.explain.forecast import Robustness, StateForecast
from optimizer.explain.limits import Limit
from optimizer.explain.stores import OtherPartitioning, WithoutResult
from optimizer.logical.retention import Retention
from optimizer.logical.window import Window
from optimizer.physical.graph import GraphFunction
from optimizer.planner.memory_price import PricedMemory


@dataclass(frozen=True, slots=True)
class CostByKind:
    """Probe: tuples per second sent. Storage and latency: weighted into the same unit."""

    probe: float
    storage: float
    latency: float
    total: float


@dataclass(frozen=True, slots=True)
class CostInCores:
    """What a plan is expected to take."""

    cores: float
    """Processor seconds per second."""
    gb: float
    """Of state."""
    latency_ms: float
    """From a tuple's arrival to its results: half a batch's span, and the work on a batch by all tasks."""
    total: float
    """In cores: memory and hops at their prices."""


@dataclass(frozen=True, slots=True)
class Seconds:
    build: float
    solve: float
    total: float
    """All of planning: parsing and the queries' costs alone excluded, the plan's check included."""


@dataclass(frozen=True, slots=True)
class ExplainedStore:
    id: str
    label: str
    relation: tuple[str, ...]
    """Canonical inputs; two or more for a materialized intermediate result."""
    partitioning: str | None
    tasks: int
    tuples: float
    """Expected content."""
    storage_cost: float
    retention: Annotated[tuple[Window, ...], Field(alias="retention_us")]
    probe_cost: float
    """Of all steps that probe it."""
    queries: tuple[str, ...]
    """Those that need it."""


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """A probe and what follows it."""

    id: str
    store: str
    label: str
    level: int
    routing: str
    """`by column`, or `to all N tasks`."""
    conditions: tuple[str, ...]
    arriving_tuples_per_second: float
    leaving_tuples_per_second: float
    probe_cost: float
    queries: tuple[str, ...]
    """All queries that need this step."""
    emits: tuple[str, ...]
    """Queries that are answered here."""
    feeds: tuple[str, ...]
    """Stores of materialized results that are fed from here."""
    steps: tuple[ExplainedStep, ...]


@dataclass(frozen=True, slots=True)
class ExplainedTree:
    """What new tuples of one input go through."""

    id: str
    start: str
    stream: str
    filter: str | None
    tuples_per_second: float
    queries: tuple[str, ...]
    emits: tuple[str, ...]
    stores: tuple[str, ...]
    """Base stores that keep these tuples."""
    steps: tuple[ExplainedStep, ...]


@dataclass(frozen=True, slots=True)
class ExplainedQuery:
    name: str
    inputs: tuple[tuple[str, str], ...]
    """(alias, canonical input)."""
    alone_cost: float
    alone_proven: bool
    shares_steps: int
    """Steps of its trees that other queries need too."""
    steps: int
    kept: tuple[Retention, ...]
    """Aliases whose tuples are kept for less than their windows."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """All costs are in the unit of `cost.total`."""

    method: str
    status: str
    cost: CostByKind | CostInCores
    individual_cost: float
    bound: float | None
    gap: float | None
    seconds: Seconds
    queries: tuple[ExplainedQuery, ...]
    stores: tuple[ExplainedStore, ...]
    trees: tuple[ExplainedTree, ...]
    alternatives: tuple[Alternative, ...]
    """Second-best orders; this and the next four are empty unless asked for."""
    without_results: tuple[WithoutResult, ...]
    other_partitionings: tuple[OtherPartitioning, ...]
    limits: tuple[Limit, ...]
    """Options that keep queries from sharing more."""
    robustness: Robustness | None
    """None also if nothing is uncertain."""
    apart: tuple[Apart, ...]
    """What keeps queries from sharing."""
    state: StateForecast
    functions: tuple[GraphFunction, ...]
    """The user functions that the queries call, with what a row costs."""
    narrowed: tuple[str, ...]
    """Queries with more sub-joins than are searched: only those on sequences that keep results small were
    looked at, so a cheaper plan may exist."""
    messages: CostByKind | None = None
    """Beside a cost in cores: that of the literature."""
    memory: PricedMemory | None = None
    """What a memory limit does to the plan; None without one."""
