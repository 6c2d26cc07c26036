"""What waiting costs: holds, looks for partners, groups, longer retentions.

Methods choose among plans of the joins. What waits behind these is written into the plan's graph afterwards
(`optimizer.lower.holds`), in an order that needs no choice; here it gets its price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from optimizer.algebra.expression import inputs_of
from optimizer.estimate import estimate, loads
from optimizer.formulate.branches import Planned
from optimizer.lower.holds import with_holds
from optimizer.physical.at_once import at_once
from optimizer.physical.fanout import fanout
from optimizer.physical.graph import Estimate, PhysicalGraph
from optimizer.physical.rules import AggregateRule, ProbeRule, SettleRule
from optimizer.physical.validate_holds import validate_holds
from optimizer.planner.context import PlanningContext
from optimizer.planner.lags import with_lags
from optimizer.search.pricing import StepLoad
from optimizer.search.problem import Options
from optimizer.statistics import StatisticsProvider


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a plan costs more than its joins, in the unit of `Options.pricing`."""

    probe: float = 0.0
    """Work."""
    storage: float = 0.0
    """Memory, priced."""
    written: float = 0.0
    """Part of the work: reading further streams, and writing results when they are final instead of what is
    found at once."""
    least: float = 0.0
    """Of both, what every plan of the same queries costs more: holds, stores of streams that nothing joins,
    looks for partners at their best partitionings, and what finishes results."""


NOTHING = Waiting()
"""Of queries whose results leave at once."""


def waiting(
    joins: PhysicalGraph,
    graph: PhysicalGraph,
    statistics: StatisticsProvider,
    options: Options,
    horizon_s: float,
) -> Waiting:
    """Price what a graph has beyond its joins.

    Args:
        joins: the graph before anything waited in it.
        graph: the same one with holds.
        statistics: with every rate.
        options: how costs are counted.
        horizon_s: seconds over which an unbounded window is taken to hold tuples.
    """
    looking = looks(graph)
    # What waits is a stream of its own, too.
    joined = {stream.name for stream in joins.streams}
    alone = sorted(s.id for s in graph.stores if joined.isdisjoint(one.stream for one in s.inputs))
    if options.cost == "messages":
        before, after = (estimate(one, statistics, horizon_s) for one in (joins, graph))
        waits = sum(after.stores[store] for store in alone)
        return Waiting(
            probe=options.probe_weight * (after.probe - before.probe),
            storage=options.storage_weight * (after.stored - before.stored),
            least=options.probe_weight * sum(after.edges[look.edge] for look, _ in looking)
            + options.storage_weight * waits,
        )
    pricing = options.pricing
    old, new = (loads(one, statistics, horizon_s) for one in (joins, graph))
    ends = [rule.id for rule in graph.rules if isinstance(rule, SettleRule | AggregateRule)]
    kept = [pricing.copy(new.copies[store]) for store in alone]
    written = pricing.source(new.source) - pricing.source(old.source)
    finished = sum(sum(pricing.step(new.steps[end])) for end in ends)
    return Waiting(
        probe=new.work(pricing) - old.work(pricing),
        storage=pricing.memory * (new.memory(pricing) - old.memory(pricing)),
        written=written,
        least=written
        + finished
        + sum(sum(pricing.step(_at_best(look, new.steps[look.id], copies))) for look, copies in looking)
        + sum(work + pricing.memory * amount for work, amount in kept),
    )


def looks(graph: PhysicalGraph) -> list[tuple[ProbeRule, float]]:
    """Steps that look for partners of what waited, with the tasks per tuple."""
    arriving = {rule.id for rule in at_once(graph).rules}
    edges, stores = {edge.id: edge for edge in graph.edges}, {store.id: store for store in graph.stores}
    return [
        (rule, fanout(edges[rule.edge], stores[rule.store], rule))
        for rule in graph.rules
        if isinstance(rule, ProbeRule) and rule.id not in arriving
    ]


def _at_best(rule: ProbeRule, load: StepLoad, copies: float) -> StepLoad:
    """The load of a look where one task knows all, and stores nothing else."""
    stored = rule.renames[0][1]
    has_filters = any(inputs_of(predicate) == {stored} for predicate in rule.predicates)
    return load._replace(
        arriving=load.arriving / copies,
        equal=load.equal * copies,
        inserted=0.0 if has_filters else load.inserted,
    )


def with_estimates(graph: PhysicalGraph, statistics: StatisticsProvider, horizon_s: float) -> PhysicalGraph:
    """The graph with what is expected of its holds and of the steps behind them.

    Of groups only their state is: how many there are is learnt from nothing.
    """
    if not graph.holds:
        return graph
    before = at_once(graph)
    there = {element.id for element in (*before.edges, *before.rules, *before.stores)}
    groups = {hold.name for hold in graph.holds if hold.groups is not None}
    expected = estimate(graph, statistics, horizon_s)
    untold = {
        rule.id
        for rule in graph.rules
        if rule.kind == "store" or (rule.kind in ("due", "aggregate") and rule.hold in groups)
    }
    told = [
        *(
            Estimate(rule.id, tuples_per_second=expected.rules[rule.id])
            for rule in graph.rules
            if rule.id not in there | untold
        ),
        *(
            Estimate(edge.id, tuples_per_second=expected.edges[edge.id])
            for edge in graph.edges
            if edge.id not in there and edge.origin not in untold
        ),
        *(
            Estimate(store.id, tuples=expected.stores[store.id])
            for store in graph.stores
            if store.id not in there
        ),
    ]
    return replace(graph, estimates=(*graph.estimates, *told))


def with_branches(
    joins: PhysicalGraph, branches: Sequence[Planned], context: PlanningContext
) -> tuple[PhysicalGraph, Waiting]:
    """The graph of joins with what waits behind them, and what that costs."""
    if not branches:
        return joins, NOTHING
    written = with_holds(
        joins,
        branches,
        context.catalog,
        retain=context.retain,
        tasks=context.tasks,
        texts=context.texts,
    )
    written = with_lags(written)
    validate_holds(written)
    known = context.with_defaults
    more = waiting(joins, written, known, context.options, context.horizon_s)
    return with_estimates(written, known, context.horizon_s), more
