"""The planning problem and its solution, which every method reads and returns.

A `Problem` knows rates, windows, selectivities and task counts, but neither SQL nor
columns; a `Solution` says which stores exist and which way new tuples take through them.
`optimizer.translate` turns queries into problems and solutions into physical graphs, so
methods can be compared, tested and benchmarked on plain numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, TypeAlias

from optimizer.search.coefficients import COEFFICIENTS, Coefficients
from optimizer.search.pricing import CORES, Messages, Pricing, Processor

GridUse: TypeAlias = Literal["cost", "off", "always"]
CostUnit: TypeAlias = Literal["cores", "messages"]
BATCH_S = 0.5
"""Seconds that a batch spans where nothing is known: a topology's default trigger."""
MEMORY_PRICE = 0.05
"""Cores that a gigabyte of state is worth where the operator sets no limit: a core is sold with some 4 GB,
of which state may have a part and the rest is caches, messages and processes."""


@dataclass(frozen=True, slots=True, order=True)
class Attribute:
    """A column of a relation, which a store can be partitioned on."""

    relation: str
    name: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A base input: a stream with its filter and window (identity includes both)."""

    id: str
    kept_in: str
    """The base store that keeps its tuples; relations that share one have the same."""
    tuples_per_second: float
    """After the filter."""
    window_s: float | None
    """None is unbounded; sizes are then taken over `Problem.horizon_s`."""
    tasks: int = 1
    """N: tasks over which the base store is spread."""
    bytes: float = 0.0
    """Of one tuple, as far as anything reads it."""


@dataclass(frozen=True, slots=True)
class JoinPredicate:
    """A predicate over two or more relations."""

    id: str
    relations: frozenset[str]
    selectivity: float
    equality: tuple[Attribute, Attribute] | None = None
    """The two sides when it is `attribute = attribute`; only these partition stores."""
    pair_cost: float = 0.0
    """Cost of evaluating it for one combination, in probe tuples: see `optimizer.udf.pair_cost`."""


@dataclass(frozen=True, slots=True)
class JoinQuery:
    id: str
    relations: frozenset[str]
    predicates: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column, and until when combinations of tuples have to carry it."""

    relation: str
    name: str
    bytes: float
    predicates: frozenset[str]
    """Those that read it: carried until they are checked."""
    queries: frozenset[str]
    """Those whose results, or checks of results, read it: carried to the end."""
    is_event_time: bool = False
    """Windows read it, as long as there is anything to join."""


@dataclass(frozen=True, slots=True)
class Problem:
    relations: tuple[Relation, ...]
    predicates: tuple[JoinPredicate, ...]
    queries: tuple[JoinQuery, ...]
    horizon_s: float = 3600.0
    sizes: Mapping[frozenset[str], float] = field(default_factory=dict)
    """Stored tuples by relation set, where they are known better than by rate * window."""
    stored_rates: Mapping[str, float] = field(default_factory=dict)
    """Tuples per second that one copy of a base store takes in, by its name, where it is more than its
    relations' rates say or less than their sum: several relations may share a store."""
    read: tuple[ReadColumn, ...] = ()
    """What queries read; without it a combination carries all `Relation.bytes`."""
    task_tuples: float | None = None
    """Stored tuples that one task holds at most: a materialized result gets as many tasks as it needs. Base
    stores have theirs from `Relation.tasks`. None gives a result as many as its most parallel relation."""


@dataclass(frozen=True, slots=True)
class Store:
    """An installed copy of a base relation or a materialized intermediate result."""

    relations: frozenset[str]
    predicates: frozenset[str]
    partitioning: Attribute | None
    """None spreads tuples at random."""
    tasks: int
    tuples: float
    """Estimated stored tuples."""

    @property
    def is_base(self) -> bool:
        return len(self.relations) == 1


@dataclass(frozen=True, slots=True)
class ProbeStep:
    store: Store
    broadcast: bool
    """True if the sender does not know the receiver's partitioning attribute (chi = N)."""
    tuples_per_second: float
    """What is sent, before copies: the tuples that started here and reached this step."""
    predicates: frozenset[str]
    """Applied by the step itself: those between what is sent and what is found."""

    @property
    def cost(self) -> float:
        """Tuples per second on the wire: chi times what is sent."""
        return self.tuples_per_second * (self.store.tasks if self.broadcast else 1)


@dataclass(frozen=True, slots=True)
class ProbeOrder:
    """How new tuples of `start` become results of `queries`, or of the MIR `feeds`.

    Steps are in order; two orders of one start with equal prefixes share them at run time.
    """

    start: str
    steps: tuple[ProbeStep, ...]
    queries: tuple[str, ...]
    feeds: tuple[Store, ...]
    """All installed copies of the MIR that this order produces; empty if it answers queries only."""


class Status(StrEnum):
    OPTIMAL = "optimal"
    """Proven: the gap is closed."""
    FEASIBLE = "feasible"
    """An answer with a bound, or without one for heuristics; not proven optimal."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost by kind: probe, storage and latency.

    Probe: tuples per second sent. Storage: weighted stored tuples of installed copies. Latency: weighted
    expected hops.
    """

    probe: float
    storage: float
    latency: float

    @property
    def total(self) -> float:
        return self.probe + self.storage + self.latency


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller asks of a method.

    Defaults are the product's, but for `cost`: `optimizer.planner.settings` says what the product plans by.
    """

    mirs: bool = True
    single_copy: bool = False
    """At most one installed partitioning per store (V2 of OPTIMIZER.md)."""
    probe_weight: float = 1.0
    storage_weight: float = 1.0
    """Cost of one stored tuple, in probe tuples per second (V3); 0 makes copies free (V1)."""
    latency_weight: float = 0.0
    storage_budget: float | None = None
    """Upper bound on stored tuples over all installed copies."""
    task_capacity: float | None = None
    """Upper bound on tuples per second received by one task of a store."""
    task_tuples: float | None = None
    """Stored tuples that one task holds: every store gets as many tasks as it needs. None leaves the number
    of tasks to streams and `tasks`."""
    tree: str = "cheapest"
    """Strategy of the method `tree`: a name in `optimizer.methods.trees.tree.STRATEGIES`."""
    tree_bounds: tuple[float, float] | None = None
    """L and U of Algorithm 3 of the dissertation: tuples sent within the longest window, tuples stored."""
    time_limit_s: float = 10.0
    solver: str = "highs"
    relative_gap: float = 0.0
    seed: int = 0
    cost: CostUnit = field(default="messages", repr=False)
    """What is minimized: processor time and memory, or the literature's tuples sent and stored."""
    coefficients: Coefficients = field(default=COEFFICIENTS, repr=False)
    """Of processor time, as measured on the machine."""
    batch_s: float = field(default=BATCH_S, repr=False)
    """Seconds that one batch spans.

    Replays are known by the representation, which leaves these out: what runs keeps its plan."""
    grids: GridUse = "cost"
    """Whether stores are laid out as grids: where that costs least, never, or all of them somehow, for
    tests (`optimizer.partitioning.matrix`)."""
    memory_limit: float | None = field(default=None, repr=False)
    """Bytes of state that may be in memory, where the cost is by cores: memory has the price then at which a
    plan fits (`optimizer.planner.memory_price`). It may differ from one start of a job to the next."""
    memory_price: float | None = field(default=None, repr=False)
    """Cores per GB that a plan within a memory limit was chosen by; None: `storage_weight` has it."""
    stay_discount: float = 0.02
    """Fraction taken off the cost of what the running plan has already while methods choose, so
    that a switch must earn its price; reported costs are without it."""

    @property
    def pricing(self) -> Pricing:
        """The objective that these options ask for."""
        if self.cost == "messages":
            return Messages(self.probe_weight, self.storage_weight)
        price = self.storage_weight * MEMORY_PRICE if self.memory_price is None else self.memory_price
        return Processor(self.coefficients, self.batch_s, price / CORES / 1e9)


@dataclass(frozen=True, slots=True)
class Solution:
    method: str
    status: Status
    orders: tuple[ProbeOrder, ...]
    stores: tuple[Store, ...]
    cost: Cost
    bound: float | None
    """Proven lower bound of `cost.total`; None if the method proves nothing."""
    build_seconds: float
    solve_seconds: float

    @property
    def answered(self) -> frozenset[str]:
        """The queries that its orders answer."""
        return frozenset(query for order in self.orders for query in order.queries)

    @property
    def gap(self) -> float | None:
        """Fraction of the cost that is not proven necessary."""
        if self.bound is None:
            return None
        if self.cost.total <= 0:
            return 0.0
        return max(0.0, (self.cost.total - self.bound) / self.cost.total)


class Method(Protocol):
    """A way of solving a `Problem`.

    Instances are registered in `optimizer.methods.METHODS`.
    """

    name: str

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """A complete plan: every query answered from each of its relations, every MIR fed.

        `running` is the plan in use, if any: a warm start. Raises `optimizer.algebra.errors.Infeasible`
        naming the constraint that fails and the smallest budget that works.
        """
        ...
