"""What a graph's steps and stores do, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from optimizer.algebra.expression import Column, Expression, columns_of
from optimizer.algebra.types import ColumnType
from optimizer.estimate.flow import Flow, estimate
from optimizer.physical.fanout import fanout
from optimizer.physical.graph import Edge, GraphStore, PhysicalGraph
from optimizer.physical.rules import (
    AggregateRule,
    Emit,
    ProbeRule,
    Rule,
    SettleRule,
    SourceRule,
    StoreRule,
    received_on,
)
from optimizer.search.pricing import COMPACTED, CopyLoad, Pricing, SourceLoad, StepLoad
from optimizer.search.problem import Options
from optimizer.search.widths import POSITION_BYTES, TEXT_BYTES, width
from optimizer.statistics.provider import StatisticsProvider


@dataclass(frozen=True, slots=True)
class Loads:
    """What the elements of a graph do, as a `Pricing` wants to know it."""

    steps: dict[str, StepLoad]
    """By rule that receives tuples and is no store's."""
    copies: dict[str, CopyLoad]
    """By store."""
    source: SourceLoad
    reading: dict[str, SourceLoad]
    """What of `source` each stream is, with all that its filters let pass."""
    answering: dict[str, SourceLoad]
    """What of `source` each query's results are."""

    def cost(self, pricing: Pricing) -> float:
        """The graph's total cost in the pricing's unit."""
        return self.work(pricing) + pricing.memory * self.memory(pricing)

    def work(self, pricing: Pricing) -> float:
        """What the graph does, in the pricing's unit."""
        steps = sum(sum(pricing.step(load)) for load in self.steps.values())
        return pricing.source(self.source) + steps + sum(pricing.copy(c)[0] for c in self.copies.values())

    def memory(self, pricing: Pricing) -> float:
        """What the graph keeps, in the pricing's amounts of memory."""
        return sum(pricing.copy(load)[1] for load in self.copies.values())


def loads(
    graph: PhysicalGraph,
    statistics: StatisticsProvider,
    horizon_s: float = 3600.0,
    text_bytes: float = TEXT_BYTES,
) -> Loads:
    """What the graph's steps and stores do under given statistics.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> from optimizer.statistics import statistics_of_workload
    >>> known = statistics_of_workload(catalog)
    >>> found = loads(plan([query], catalog, known).graph, known)
    >>> len(found.copies), found.source.streams, found.source.results
    (2, (10.0, 10.0), 2.0)

    Args:
        text_bytes: mean length of texts.
    """
    return _Loading(Flow(graph, statistics, horizon_s), text_bytes).loads()


def cost_of(
    graph: PhysicalGraph, statistics: StatisticsProvider, options: Options, horizon_s: float = 3600.0
) -> float:
    """What a graph costs under given statistics, as `Options.pricing` says.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> from optimizer.statistics import statistics_of_workload
    >>> known = statistics_of_workload(catalog)
    >>> cost_of(plan([query], catalog, known).graph, known, Options(cost="messages"))
    40.0
    """
    if options.cost == "cores":
        return loads(graph, statistics, horizon_s).cost(options.pricing)
    return estimate(graph, statistics, horizon_s).cost(options.probe_weight, options.storage_weight)


@dataclass(slots=True)
class _Loading:
    flow: Flow
    text_bytes: float
    edges: dict[str, Edge] = field(init=False)
    types: dict[tuple[str, str], ColumnType] = field(init=False)

    def __post_init__(self) -> None:
        graph = self.flow.graph
        self.edges = {edge.id: edge for edge in graph.edges}
        streams = (*graph.streams, *(hold.stream for hold in graph.holds))
        self.types = {(s.name, name): kind for s in streams for name, kind in s.columns}

    def loads(self) -> Loads:
        rules, copies = self.flow.graph.rules, self.flow.graph.stores
        steps = {rule.id: self._step(rule) for rule in rules if isinstance(rule, ProbeRule)}
        ends = {r.id: self._end(r) for r in rules if isinstance(r, SettleRule | AggregateRule)}
        reading = {stream.name: self._reading(stream.name) for stream in self.flow.graph.streams}
        answering = {query.name: self._answering(query.name) for query in self.flow.graph.queries}
        parts = [*reading.values(), *answering.values()]
        source = SourceLoad(
            streams=tuple(rate for part in parts for rate in part.streams),
            sources=tuple(rate for part in parts for rate in part.sources),
            read_bytes=sum(part.read_bytes for part in parts),
            results=sum(part.results for part in parts),
            result_bytes=sum(part.result_bytes for part in parts),
            leaves=tuple(rate for part in parts for rate in part.leaves),
        )
        kept = {store.id: self._copy(store) for store in copies}
        return Loads(steps | ends, kept, source, reading, answering)

    def _reading(self, stream: str) -> SourceLoad:
        rules = [r for r in self.flow.graph.rules if isinstance(r, SourceRule) and r.stream == stream]
        rate = self.flow.rate(stream)
        return SourceLoad(
            streams=(rate,),
            sources=tuple(self.flow.produced(rule.id) for rule in rules),
            read_bytes=rate * max((self._made_bytes(rule) for rule in rules), default=0.0),
            results=0.0,
            result_bytes=0.0,
            leaves=(),
        )

    def _answering(self, query: str) -> SourceLoad:
        leaves = [
            (self.flow.produced(rule.id), self._made_bytes(rule))
            for rule in self.flow.graph.rules
            for leaf in self._results(rule)
            if leaf.query == query
        ]
        return SourceLoad(
            streams=(),
            sources=(),
            read_bytes=0.0,
            results=sum(rate for rate, _ in leaves),
            result_bytes=sum(rate * size for rate, size in leaves),
            leaves=tuple(rate for rate, _ in leaves),
        )

    def _copy(self, store: GraphStore) -> CopyLoad:
        return CopyLoad(
            tuples=self.flow.held(store.id),
            inserted=self.flow.stored_rate(store.id) * store.copies,
            bytes=self._bytes_of(
                Column(one.input, name, self.types[one.stream, name])
                for one in store.inputs
                for name in one.columns
            ),
            tasks=store.tasks,
            is_base=store.is_base,
        )

    def _step(self, rule: ProbeRule) -> StepLoad:
        flow, edge = self.flow, self.edges[rule.edge]
        store = flow.stores[rule.store]
        inserted = flow.stored_rate(store.id)
        if store.is_base:
            held_s = flow.asked_s(rule)
        else:
            held_s = COMPACTED * flow.in_one_copy(store.id) / inserted if inserted > 0 else 0.0
        equalities = [equality.condition for equality in rule.equalities]
        # Without keys pairs are found along the most selective condition, or all are formed.
        selecting: list[Expression] = [*equalities] or list(rule.predicates)
        shares = [flow.share_in(condition, rule) for condition in selecting]
        copies = fanout(edge, store, rule)
        return StepLoad(
            arriving=flow.produced(edge.origin) * copies,
            made=flow.produced(rule.id),
            equal=(prod(shares) if equalities else min(shares, default=1.0)) / copies,
            evaluated=flow.evaluation(rule),
            inserted=inserted,
            held_s=held_s,
            tasks=store.tasks,
            checks=bool(rule.predicates),
            arriving_bytes=self._bytes_of(edge.columns),
            made_bytes=self._made_bytes(rule),
        )

    def _end(self, rule: SettleRule | AggregateRule) -> StepLoad:
        """What a rule does that finishes what waited: it meets no stored tuples."""
        arriving = [(self.edges[e], self.flow.produced(self.edges[e].origin)) for e in received_on(rule)]
        total = sum(rate for _, rate in arriving)
        size = sum(rate * self._bytes_of(edge.columns) for edge, rate in arriving)
        return StepLoad(
            arriving=total,
            made=self.flow.produced(rule.id),
            equal=0.0,
            evaluated=0.0,
            inserted=0.0,
            held_s=0.0,
            tasks=self.flow.stores[self.edges[rule.edge].target].tasks,
            checks=any(leaf.residuals for leaf in rule.emits),
            arriving_bytes=size / total if total > 0 else 0.0,
            made_bytes=self._made_bytes(rule),
        )

    def _results(self, rule: Rule) -> list[Emit]:
        """The leaves that answer a query at once; others only keep what waits."""
        if isinstance(rule, StoreRule):
            return []
        return [leaf for leaf in rule.emits if leaf.query not in self.flow.holds]

    def _made_bytes(self, rule: Rule) -> float:
        if isinstance(rule, StoreRule):
            return 0.0
        sent = {column for edge in rule.out for column in self.edges[edge].columns}
        for leaf in rule.emits:
            sent |= {column for _, value in leaf.outputs for column in columns_of(value)}
        return self._bytes_of(sent)

    def _bytes_of(self, columns: Iterable[Column]) -> float:
        return POSITION_BYTES + sum(width(column.type, self.text_bytes) for column in columns)
