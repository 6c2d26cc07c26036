"""Plan drafts from texts and statistics alone, in worker processes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache

from pydantic import TypeAdapter

from backend.catalog.parsing import VersionText, parse_texts
from backend.forecasts.intervals import kept_beyond, widened
from optimizer.adaptation import LearntStatistics
from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Expression
from optimizer.algebra.types import ColumnType
from optimizer.estimate import Estimated, Shares, estimate, shares
from optimizer.explain import explain as explain_plan
from optimizer.explain import marginal_cost, to_text
from optimizer.explain.advice import Advice, advise
from optimizer.explain.forecast import AddedStore, added_state
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query, registered_inputs
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.planner.plan import Plan, plan
from optimizer.planner.settings import Method, PlannerSettings
from optimizer.search.problem import BATCH_S
from optimizer.sql import parse_predicate
from optimizer.statistics import (
    DefaultStatistics,
    LayeredStatistics,
    StatisticsProvider,
    statistics_of_workload,
)
from optimizer.statistics.defaults import default_selectivity
from optimizer.statistics.interval import Interval
from optimizer.statistics.workload import SelectivityEstimate

LEARNT: TypeAdapter[LearntStatistics] = TypeAdapter(LearntStatistics)
DRAFT_METHOD = "greedy"
"""Answers at once: an explanation is read while somebody types."""
DRAFT_SECONDS = 1.0
"""The solver's time limit."""


@dataclass(frozen=True, slots=True)
class Registered:
    """What plans are made from, besides queries."""

    catalog: Catalog
    estimates: tuple[tuple[str, float], ...]
    """Known selectivities, by predicate over stream names."""
    tasks: int
    """Of streams that set none."""

    @property
    def statistics(self) -> StatisticsProvider:
        return registered_statistics(self.catalog, self.estimates)


@dataclass(frozen=True, slots=True)
class Planning:
    """How a topology's plans are chosen."""

    planner: PlannerSettings = field(default_factory=PlannerSettings)
    memory_limit: int | None = None
    """Bytes of its stores that may be in memory."""
    batch_s: float = BATCH_S
    """Seconds between its batches."""


@dataclass(frozen=True, slots=True)
class Others:
    """The queries that a topology answers besides a draft."""

    topology: str
    keys: tuple[int, ...]
    """Of their versions, in the order in which they are planned."""
    versions: Mapping[int, VersionText]
    """Of these, and of all that they read."""
    planning: Planning


def registered_statistics(catalog: Catalog, estimates: tuple[tuple[str, float], ...]) -> StatisticsProvider:
    """Declared rates, and selectivities but of streams that are gone."""
    selectivities = []
    for predicate, value in estimates:
        try:
            selectivities.append(SelectivityEstimate(parse_predicate(predicate, catalog), value))
        except InputError:
            continue
    return statistics_of_workload(catalog, selectivities)


def read_learnt(document: str) -> LearntStatistics | None:
    """Statistics as `Topology.learnt` and `Plan.learnt` keep them, or None."""
    return LEARNT.validate_json(document) if document else None


def plan_quickly(
    queries: Sequence[Query],
    catalog: Catalog,
    statistics: StatisticsProvider,
    texts: Mapping[str, str],
    tasks: int,
    planning: Planning,
) -> Plan:
    """A plan made in the time that a user waits; `texts` has the queries' SQL by name."""
    planner = planning.planner
    method = DRAFT_METHOD if planner.method == "ilp" else planner.method
    options = planner.options(
        time_limit_s=DRAFT_SECONDS, memory_limit=planning.memory_limit, batch_s=planning.batch_s
    )
    return plan(queries, catalog, statistics, method, options, "everything", tasks=tasks, texts=texts)


@lru_cache(maxsize=32)
def _base(queries: tuple[Query, ...], registered: Registered, planning: Planning) -> Plan:
    """The plan that one more query is compared with, the same while it is being typed."""
    return plan_quickly(queries, registered.catalog, registered.statistics, {}, registered.tasks, planning)


def _compared(others: Others, registered: Registered) -> Plan:
    parsed = parse_texts(others.versions, registered.catalog)
    return _base(tuple(parsed[key] for key in others.keys), registered, others.planning)


def _alone(query: Query, sql: str, registered: Registered, others: Others | None) -> Plan:
    """A plan for the query alone, as the topology that it would join plans."""
    planning = Planning() if others is None else others.planning
    texts = {query.name: sql}
    return plan_quickly([query], registered.catalog, registered.statistics, texts, registered.tasks, planning)


def explain(query: Query, sql: str, registered: Registered, others: Others | None) -> dict[str, object]:
    """How a query would be answered alone, and what it would add to a topology's plan.

    The document is the API's (docs/design/frontend-contract.md). Raises `Infeasible`.
    """
    made = _alone(query, sql, registered, others)
    explanation = explain_plan(made)
    return {
        "text": to_text(explanation),
        "cost": {**asdict(made.cost), "total": made.cost.total},
        "individual_cost": made.individual_cost,
        "method": explanation.method,
        "status": explanation.status,
        "bound": made.bound,
        "gap": explanation.gap,
        "graph": json.loads(made.graph.to_json()),
        "marginal": None if others is None else _marginal(query, others, registered),
    }


def _marginal(query: Query, others: Others, registered: Registered) -> dict[str, object]:
    """What the query adds to the topology."""
    added = marginal_cost(_compared(others, registered), query)
    streams = {source.stream for source in registered_inputs(query)}
    return {
        "topology": others.topology,
        "text": str(added),
        "reuse": added.reuse,
        "cost": {
            "probe": added.probe,
            "storage": added.storage,
            "latency": 0.0,
            "total": added.probe + added.storage,
        },
        "stores_new": len(added.new_stores),
        "stores_shared": len(streams - set(added.new_stores)),
        "probes_new": added.steps - added.reused_steps,
        "probes_shared": added.reused_steps,
        "probe_percent": None if added.probe_share is None else 100 * added.probe_share,
    }


_WIDTHS = {
    ColumnType.BIGINT: 8,
    ColumnType.INT: 4,
    ColumnType.DOUBLE: 8,
    ColumnType.STRING: 16,
    ColumnType.BOOLEAN: 1,
    ColumnType.TIMESTAMP: 8,
    ColumnType.DATE: 4,
    ColumnType.BINARY: 16,
    ColumnType.INTERVAL: 8,
    ColumnType.UUID: 44,
    ColumnType.TIME: 8,
}
"""Bytes of a value in an Arrow column; texts and binaries are taken to be short."""
_DECIMAL_BYTES = 16
_ARRIVAL_BYTES = 8
"""Of the ordinal that every stored tuple has beside its columns."""


@dataclass(frozen=True, slots=True)
class ForecastStore:
    added: AddedStore
    tuples: Interval
    """What lies in the windows, and at the high end what a store keeps beyond them."""
    bytes_per_tuple: float
    measured: bool
    """True if `bytes_per_tuple` is what running stores take, False if it follows from the types."""


@dataclass(frozen=True, slots=True)
class Outlook:
    topology: str | None
    """What the draft is compared with; None if no topology shares a stream with it."""
    stores: tuple[ForecastStore, ...]
    advice: tuple[Advice, ...]


def outlook(
    query: Query, sql: str, registered: Registered, others: Others | None, measured: Mapping[str, float]
) -> Outlook:
    """What the query would add to a topology's state, and advice to make it cheaper.

    Args:
        measured: bytes per stored tuple, by stream, where running stores tell them.

    Raises `Infeasible`.
    """
    alone = _alone(query, sql, registered, others)
    catalog = alone.catalog
    compared = None if others is None else _compared(others, registered)
    added = added_state(compared, alone)
    beyond = {
        tuple(source.stream for source in store.inputs): kept_beyond(store, catalog)
        for store in alone.graph.stores
    }
    waiting = {hold.stream.name: hold.stream.columns for hold in alone.graph.holds}
    widths = {
        name: _width(waiting.get(name) or catalog[name].columns) for one in added for name in one.streams
    }
    stores = tuple(
        ForecastStore(
            one,
            widened(one.tuples, beyond.get(one.streams, 0.0)),
            sum(measured.get(stream, widths[stream]) for stream in one.streams),
            all(stream in measured for stream in one.streams),
        )
        for one in added
    )
    if compared is None or others is None:
        return Outlook(None, stores, ())
    return Outlook(others.topology, stores, advise(compared, query))


def _width(columns: Iterable[tuple[str, ColumnType]]) -> float:
    return _ARRIVAL_BYTES + sum(_WIDTHS.get(kind, _DECIMAL_BYTES) for _, kind in columns)


@dataclass(frozen=True, slots=True)
class Alternative:
    method: str
    cost: dict[str, float]
    """By kind, as `optimizer.search.problem.Cost`."""
    stores: int
    steps: int
    """Probes of one tuple of every stream."""
    depth: int
    """Levels, that is Spark stages."""
    seconds: float
    graph: dict[str, object]
    """`optimizer/physical_graph.schema.json`."""


def alternatives(
    others: Others, registered: Registered, measured: str, methods: Sequence[Method]
) -> tuple[Alternative, ...]:
    """A topology's queries under each method, by what its plan was made from."""
    parsed = parse_texts(others.versions, registered.catalog)
    queries = tuple(parsed[key] for key in others.keys)
    planners = (replace(others.planning.planner, method=method) for method in methods)
    ways = (replace(others.planning, planner=planner) for planner in planners)
    return tuple(_alternative(queries, registered, measured, way) for way in ways)


@lru_cache(maxsize=32)
def _alternative(
    queries: tuple[Query, ...], registered: Registered, measured: str, planning: Planning
) -> Alternative:
    statistics = _measured(registered, measured)
    made = plan_quickly(queries, registered.catalog, statistics, {}, registered.tasks, planning)
    cost = made.cost
    return Alternative(
        method=planning.planner.method,
        cost={**asdict(cost), "total": cost.total},
        stores=len(made.graph.stores),
        steps=sum(isinstance(rule, ProbeRule) for rule in made.graph.rules),
        depth=made.graph.depth,
        seconds=made.seconds,
        graph=json.loads(made.graph.to_json()),
    )


def _measured(registered: Registered, measured: str) -> StatisticsProvider:
    """What was learnt, and below it what is declared."""
    learnt, below = read_learnt(measured), registered.statistics
    return below if learnt is None else LayeredStatistics((learnt.measured, below))


def cost_shares(graph: str, registered: Registered, measured: str, planning: Planning) -> Shares:
    """Price a plan's parts, and each query's share, by its own statistics."""
    statistics = LayeredStatistics((_measured(registered, measured), DefaultStatistics()))
    options = planning.planner.options(memory_limit=planning.memory_limit)
    return shares(PhysicalGraph.from_json(graph), statistics, options)


@dataclass(frozen=True, slots=True)
class LeastStatistics:
    """The low end of every default statistic.

    What is not declared is held in the query's favour.
    """

    def rate(self, stream: str) -> Interval:
        return Interval.exactly(DefaultStatistics().rate(stream).low)

    def selectivity(self, predicate: Expression) -> Interval:
        return Interval.exactly(default_selectivity(predicate).low)


def estimates(
    keys: Sequence[int], versions: Mapping[int, VersionText], registered: Registered, learnt: str
) -> list[Estimated]:
    """What each of the queries alone is expected to do, in their order.

    `learnt` is what a topology has measured (`Topology.learnt`); it goes before what is declared, and
    that before the least that is plausible.
    """
    parsed = parse_texts(versions, registered.catalog)
    asked = [(parsed[key], versions[key].sql) for key in keys]
    return estimates_of(asked, registered, learnt)


def estimates_of(
    queries: Sequence[tuple[Query, str]], registered: Registered, learnt: str = ""
) -> list[Estimated]:
    """The same of queries beside their texts."""
    measured = read_learnt(learnt)
    below = (registered.statistics, LeastStatistics())
    statistics = LayeredStatistics(below if measured is None else (measured.measured, *below))
    return [_estimated(query, sql, registered, statistics) for query, sql in queries]


def _estimated(query: Query, sql: str, registered: Registered, statistics: StatisticsProvider) -> Estimated:
    texts = {query.name: sql}
    made = plan_quickly([query], registered.catalog, statistics, texts, registered.tasks, Planning())
    return estimate(made.graph, statistics)
