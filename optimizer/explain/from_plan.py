"""A plan to its explanation."""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.algebra.expression import Call, Column
from optimizer.algebra.render import to_sql
from optimizer.algebra.types import ColumnType
from optimizer.estimate import Loads, loads
from optimizer.explain.alternatives import alternatives, apart
from optimizer.explain.document import (
    CostByKind,
    CostInCores,
    ExplainedQuery,
    ExplainedStep,
    ExplainedStore,
    ExplainedTree,
    Explanation,
    Seconds,
)
from optimizer.explain.forecast import forecast, robustness
from optimizer.explain.limits import limits, narrowed
from optimizer.explain.stores import other_partitionings, without_results
from optimizer.logical.canonical_inputs import sort_key
from optimizer.logical.retention import derived_retentions
from optimizer.physical.graph import Edge, GraphStore, Grid, Grids, PhysicalGraph, Slices
from optimizer.physical.rules import Emit, Equality, ProbeRule, SourceRule, StoreRule
from optimizer.planner.plan import Plan
from optimizer.search.pricing import CORES


def explain(plan: Plan, *, second_best: bool = False) -> Explanation:
    """Explain a plan's cost by kind per store and step, and who shares each.

    What planning every query alone would cost stands beside it.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> explained = explain(plan([parse_query(text, "q", catalog)], catalog))
    >>> [store.label for store in explained.stores], [query.name for query in explained.queries]
    (['r[a]', 's[a]'], ['q'])

    Args:
        second_best: also search the best alternative of every decision, what limits cost, and how
            the plan does under other statistics: milliseconds for each order and store, up
            to a second for each limit and either end of the statistics.
    """
    return _Writer(plan).explanation(second_best)


class _Writer:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        graph: PhysicalGraph = plan.graph
        self.edges = {edge.id: edge for edge in graph.edges}
        self.stores = {store.id: store for store in graph.stores}
        self.probes = {rule.edge: rule for rule in graph.rules if isinstance(rule, ProbeRule)}
        self.keeps = {rule.edge: rule for rule in graph.rules if isinstance(rule, StoreRule)}
        self.estimates = {estimate.id: estimate for estimate in graph.estimates}
        self.pricing = plan.options.pricing
        self.loads: Loads | None = None
        if plan.options.cost == "cores":
            self.loads = loads(graph, plan.context.with_defaults, plan.context.horizon_s)
        self.users: dict[str, frozenset[str]] = {}
        self.by_store: dict[str, list[ProbeRule]] = {}
        for rule in self.probes.values():
            self.by_store.setdefault(rule.store, []).append(rule)

    def explanation(self, second_best: bool) -> Explanation:
        plan, solution, unit = self.plan, self.plan.solution, self.pricing.unit
        bound, messages = plan.bound, plan.messages
        told = CostByKind(messages.probe, messages.storage, messages.latency, messages.total)
        sources = [rule for rule in plan.graph.rules if isinstance(rule, SourceRule)]
        return Explanation(
            method=plan.method,
            status=str(solution.status.value),
            cost=told if self.loads is None else self._in_cores(),
            individual_cost=unit * plan.individual_cost,
            bound=None if bound is None else unit * bound,
            gap=plan.gap,
            seconds=Seconds(solution.build_seconds, solution.solve_seconds, plan.seconds),
            queries=self._queries(),
            stores=tuple(self._store(identity) for identity in self.stores),
            trees=tuple(self._tree(rule) for rule in sources),
            alternatives=alternatives(plan) if second_best else (),
            without_results=without_results(plan) if second_best else (),
            other_partitionings=other_partitionings(plan) if second_best else (),
            limits=limits(plan) if second_best else (),
            robustness=robustness(plan) if second_best else None,
            apart=() if plan.method == "individual" else apart(plan),
            state=forecast(plan),
            functions=plan.graph.functions,
            narrowed=narrowed(plan.translation.problem, plan.options.mirs and plan.method != "flat"),
            messages=None if self.loads is None else told,
            memory=plan.memory,
        )

    def _in_cores(self) -> CostInCores:
        cost, options = self.plan.cost, self.plan.options
        cores = CORES * cost.probe
        price = CORES * self.pricing.memory
        held = sum(self._copy(store)[1] for store in self.stores)
        gb = CORES * cost.storage / price / 1e9 if price > 0 else held / 1e9
        tasks = max((store.tasks for store in self.stores.values()), default=1)
        latency_ms = 1000 * options.batch_s * (0.5 + cores / tasks)
        return CostInCores(cores, gb, latency_ms, CORES * cost.total)

    def _copy(self, identity: str) -> tuple[float, float]:
        """Work and memory of a store."""
        assert self.loads is not None
        return self.pricing.copy(self.loads.copies[identity])

    def _rate(self, identity: str) -> float:
        estimate = self.estimates.get(identity)
        return 0.0 if estimate is None or estimate.tuples_per_second is None else estimate.tuples_per_second

    def _cost(self, identity: str) -> float:
        """What the probes along an edge cost."""
        if self.loads is not None:
            return CORES * sum(self.pricing.step(self.loads.steps[self.probes[identity].id]))
        estimate = self.estimates.get(identity)
        return 0.0 if estimate is None or estimate.cost is None else estimate.cost

    def needed_by(self, rule: SourceRule | ProbeRule) -> frozenset[str]:
        """Queries answered here, behind here, or from a result that is fed from here."""
        if rule.id not in self.users:
            found = set(self._answered(rule.emits))
            for edge in rule.out:
                if edge in self.probes:
                    found |= self.needed_by(self.probes[edge])
                elif not self.stores[self.edges[edge].target].is_base:
                    found |= self.users_of(self.edges[edge].target)
            self.users[rule.id] = frozenset(found)
        return self.users[rule.id]

    def users_of(self, store: str) -> frozenset[str]:
        waiting = {hold.query for hold in self.plan.graph.holds if hold.store == store}
        return frozenset(waiting.union(*(self.needed_by(rule) for rule in self.by_store.get(store, ()))))

    def _answered(self, emits: Iterable[Emit]) -> tuple[str, ...]:
        """The queries that leaves answer, at once or after a wait."""
        held = {hold.name: hold.query for hold in self.plan.graph.holds}
        return tuple(held.get(emit.query, emit.query) for emit in emits)

    def _store(self, identity: str) -> ExplainedStore:
        store = self.stores[identity]
        estimate = self.estimates.get(identity)
        tuples = 0.0 if estimate is None or estimate.tuples is None else estimate.tuples
        return ExplainedStore(
            id=identity,
            label=store.label,
            relation=tuple(item.input for item in store.inputs),
            partitioning=_partitioning(store),
            tasks=store.tasks,
            tuples=tuples,
            storage_cost=self._storage_cost(identity, tuples),
            retention=store.retention,
            probe_cost=sum(self._cost(rule.edge) for rule in self.by_store.get(identity, ())),
            queries=tuple(sorted(self.users_of(identity))),
        )

    def _storage_cost(self, identity: str, tuples: float) -> float:
        if self.loads is None:
            return tuples * self.plan.options.storage_weight
        work, memory = self._copy(identity)
        return CORES * (work + self.pricing.memory * memory)

    def _tree(self, rule: SourceRule) -> ExplainedTree:
        return ExplainedTree(
            id=rule.id,
            start=rule.input,
            stream=rule.stream,
            filter=None if rule.filter is None else to_sql(rule.filter),
            tuples_per_second=self._rate(rule.id),
            queries=tuple(sorted(self.needed_by(rule))),
            emits=self._answered(rule.emits),
            stores=self._kept(rule.out),
            steps=self._steps(rule.out),
        )

    def _kept(self, out: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(self.keeps[edge].store for edge in out if edge in self.keeps))

    def _steps(self, out: tuple[str, ...]) -> tuple[ExplainedStep, ...]:
        steps = [self._step(self.probes[edge], self.edges[edge]) for edge in out if edge in self.probes]
        return tuple(sorted(steps, key=lambda step: (step.level, step.label, step.id)))

    def _step(self, rule: ProbeRule, edge: Edge) -> ExplainedStep:
        store = self.stores[rule.store]
        key = (
            f"by {edge.key.input}.{edge.key.name}" if edge.key is not None else f"to all {store.tasks} tasks"
        )
        conditions = [_equality(equality) for equality in rule.equalities]
        conditions += [to_sql(predicate) for predicate in rule.predicates]
        return ExplainedStep(
            id=rule.id,
            store=store.id,
            label=store.label,
            level=edge.level,
            routing=key,
            conditions=tuple(conditions),
            arriving_tuples_per_second=self._rate(edge.id),
            leaving_tuples_per_second=self._rate(rule.id),
            probe_cost=self._cost(edge.id),
            queries=tuple(sorted(self.needed_by(rule))),
            emits=self._answered(rule.emits),
            feeds=self._kept(rule.out),
            steps=self._steps(rule.out),
        )

    def _queries(self) -> tuple[ExplainedQuery, ...]:
        explained = []
        asked = {query.name: query for query in self.plan.queries}
        for alone in self.plan.alone:
            query = next(q for q in self.plan.graph.queries if q.name == alone.query)
            steps = [self.needed_by(rule) for rule in self.probes.values()]
            mine = [users for users in steps if alone.query in users]
            explained.append(
                ExplainedQuery(
                    name=alone.query,
                    inputs=tuple((item.alias, item.input) for item in query.inputs),
                    alone_cost=self.pricing.unit * alone.cost.total,
                    alone_proven=alone.proven,
                    shares_steps=sum(len(users) > 1 for users in mine),
                    steps=len(mine),
                    kept=derived_retentions(asked[alone.query], self.plan.catalog)
                    if alone.query in asked
                    else (),
                )
            )
        return tuple(explained)


def _equality(equality: Equality) -> str:
    sides = sorted((equality.probe, equality.stored), key=sort_key)
    return to_sql(Call("eq", tuple(sides), ColumnType.BOOLEAN))


def _partitioning(store: GraphStore) -> str | None:
    match store.partitioning:
        case None:
            return None
        case Grid() | Grids():
            sizes = " + ".join(f"{grid.columns} x {grid.rows}" for grid in store.grids)
            return f"{'a grid' if len(store.grids) == 1 else 'grids'} of {sizes}"
        case Slices(count=count):
            return f"time in {count} slice{'' if count == 1 else 's'}"
        case Column() as column:
            return f"{column.input}.{column.name}"
