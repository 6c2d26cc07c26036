"""The optimizer's front door: from queries to a checked physical graph, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log2
from time import perf_counter

from optimizer.estimate import estimate
from optimizer.formulate.branches import Planned, expanded, looked_into_for_ever
from optimizer.formulate.model import Retain, Translation, conditions_of
from optimizer.formulate.source_load import source_load
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query, derived_of
from optimizer.lower.grow import grow
from optimizer.lower.individual import together, translations_together
from optimizer.lower.probe_forest import Forest
from optimizer.lower.store_layouts import grow_with_copies, least
from optimizer.lower.to_graph import to_graph
from optimizer.methods.ilp.layout_bound import least_cost
from optimizer.partitioning.matrix import lay_out
from optimizer.partitioning.slicing import choose_slices
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.validate import validate
from optimizer.planner.components import QueryComponent, answers, answers_alone, side_by_side
from optimizer.planner.context import SOLVING_PHASES, PlanningContext, stage_name
from optimizer.planner.memory_price import Needs, PricedMemory, Within, plan_within
from optimizer.planner.plan_in_use import CompatibilityKey, Running
from optimizer.planner.separate_stores import all_separate, least_stored
from optimizer.planner.waiting import NOTHING, Waiting, with_branches
from optimizer.search.problem import Cost, Options, Solution, Status
from optimizer.statistics import (
    LayeredStatistics,
    StatisticsProvider,
    statistics_of_workload,
)

_BOUND_SHARE = 0.2
"""Of the time limit of planning, what a bound may take that is asked for afterwards."""


@dataclass(frozen=True, slots=True)
class Alone:
    """A query planned as if it were the only one."""

    query: str
    cost: Cost
    proven: bool
    """True if the cost is known to be the least possible."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan for all queries together, and what it was made from.

    Without slots, so that what is only asked for sometimes is computed then and kept. Plans are
    compared by identity; compare their graphs to see whether they do the same.
    """

    method: str
    solution: Solution
    graph: PhysicalGraph
    translation: Translation
    components: tuple[QueryComponent, ...]
    """Queries that share no stream with others, with their own answers."""
    context: PlanningContext
    seconds: float
    """Wall time of planning, all of it."""
    branches: tuple[Planned, ...] = ()
    """The queries that stand for branches of others."""
    waits: Waiting = NOTHING
    """What those add that wait."""
    memory: PricedMemory | None = None
    """What `Options.memory_limit` did to it; None without one, or by messages."""

    @property
    def cost(self) -> Cost:
        """In the unit of `Options.pricing`, with what any plan of the queries costs."""
        joins = with_overhead(self.solution.cost, self._overhead)
        return replace(
            joins, probe=joins.probe + self.waits.probe, storage=joins.storage + self.waits.storage
        )

    @cached_property
    def _overhead(self) -> float:
        return overhead(self.translation, self.options)

    @cached_property
    def messages(self) -> Cost:
        """What the plan costs by the literature's formulas."""
        if self.options.cost == "messages":
            return self.cost
        does = estimate(self.graph, self.context.with_defaults, self.context.horizon_s)
        return Cost(does.probe, does.stored, self.solution.cost.latency)

    @cached_property
    def bound(self) -> float | None:
        """Proven lower bound of `cost.total`; None if the method proves nothing.

        The method's own is one for plans that hash and broadcast. Where stores are laid out as grids or
        slices it is what no layout can undercut (`optimizer.methods.ilp.layout_bound`), which takes
        relaxations and is looser. A replay that plans again never asks for it; a topology's plan is recorded
        with it.
        """
        divides = self.method in ("ilp", "individual")
        proves = all(
            part.solution.bound is not None or (part.separate and divides) for part in self.components
        )
        if self.solution.bound is not None:
            # Sums in another order differ in their last bits.
            return min(self.solution.bound + self._overhead + self.waits.least, self.cost.total)
        if not proves:
            return None
        problems, stored = [], {}
        for place, part in enumerate(self.components):
            whole = self.context.translate(part.queries, part.subsumption)
            if part.separate:
                stored[place] = least_stored(whole, self.options)
                whole = self.context.translate(part.queries, part.subsumption, all_separate(whole))
            problems.append(whole.problem)
        found = least_cost(problems, self.options, _BOUND_SHARE * self.options.time_limit_s, stored)
        if found > self.solution.cost.total * (1 + 1e-9):
            # Queries leave what they share earlier than any program weighs: see `grow_with_copies`.
            found = sum(stored.values()) if stored else least(self.translation, self.options)
        return min(found + self._overhead + self.waits.least, self.cost.total)

    def by_messages(self) -> Plan:
        """The same plan, priced by the literature's formulas."""
        if self.options.cost == "messages":
            return self
        context = replace(self.context, options=replace(self.options, cost="messages"))
        solution = replace(self.solution, cost=self.messages, bound=None)
        return replace(self, solution=solution, context=context, waits=NOTHING)

    @property
    def gap(self) -> float | None:
        """Fraction of the cost that is not proven necessary; None without a bound."""
        return replace(self.solution, cost=self.cost, bound=self.bound).gap

    @cached_property
    def alone(self) -> tuple[Alone, ...]:
        """Each query planned alone, with what it reads; sorted by name.

        They are planned by the same method with the same options. It takes as many optimizations as there
        are queries, so re-planning never asks for it.
        """
        known = {part.queries[0].name: part.solution for part in self.components if len(part.queries) == 1}
        asked: dict[str, list[Query]] = {}
        for query in self.queries:
            asked.setdefault(self.names.get(query.name, query.name), []).append(query)
        found, priced = [], self.options.cost == "cores"
        for name in sorted(asked):
            answered = {name, *self._read_by(name)}
            parts = [query for other in sorted(answered) for query in asked[other]]
            held = [one for one in self.branches if one.query.name in answered]
            one = known.get(parts[0].name) if len(parts) == 1 and not held else None
            if one is None:
                forest, one = self.context.solve(parts)
            fixed = overhead(self.context.translate(parts), self.options) if priced else 0.0
            cost = with_overhead(one.cost, fixed)
            if held:
                more = with_branches(to_graph(forest, method=self.method), held, self.context)[1]
                cost = replace(cost, probe=cost.probe + more.probe, storage=cost.storage + more.storage)
            found.append(Alone(name, cost, one.status is Status.OPTIMAL))
        return tuple(found)

    def _read_by(self, name: str) -> set[str]:
        """The derived streams that a query is answered by, also behind others."""
        inputs = [
            item
            for query in self.queries
            if self.names.get(query.name, query.name) == name
            for item in query.inputs
        ]
        inputs += [
            item
            for one in self.branches
            if one.query.name == name
            for absence in one.branch.absences
            for item in absence.inputs
        ]
        found = {item.stream for item in inputs} & {stream.name for stream in self.catalog.derived}
        return found.union(*map(self._read_by, found))

    @property
    def individual_cost(self) -> float:
        """Total cost if every query had a topology of its own.

        That answers what the query reads, too.
        """
        inner = {stream.name for stream in self.catalog.derived}
        return sum(alone.cost.total for alone in self.alone if alone.query not in inner)

    @property
    def queries(self) -> tuple[Query, ...]:
        return tuple(terms.query for terms in self.translation.queries)

    @property
    def names(self) -> dict[str, str]:
        """By the name of a conjunctive query that stands for a branch: whose branch it is."""
        return {one.conjunctive.name: one.query.name for one in self.branches}

    @property
    def status(self) -> Status:
        return self.solution.status

    @property
    def catalog(self) -> Catalog:
        return self.context.catalog

    @property
    def statistics(self) -> StatisticsProvider:
        return self.context.known

    @property
    def options(self) -> Options:
        return self.context.options

    @property
    def retain(self) -> Retain:
        return self.context.retain

    @property
    def tasks(self) -> int:
        return self.context.tasks

    @property
    def running(self) -> Running:
        """This plan as the one in use, for planning after it."""
        return Running.of(self.context, self.components, self.graph)


def overhead(translation: Translation, options: Options) -> float:
    """What every plan costs: batches as such, reading streams, writing results."""
    pricing = options.pricing
    return pricing.batches + pricing.source(source_load(translation))


def with_overhead(cost: Cost, more: float) -> Cost:
    """The cost with more of its work."""
    return replace(cost, probe=cost.probe + more)


def slice_stores(plan: Plan) -> Plan:
    """Cut stores into slices of event time where that spreads probes' work better."""
    unbounded = looked_into_for_ever(plan.branches, plan.catalog)
    graph, solution = choose_slices(plan.graph, plan.solution, plan.options, plan.context.batch_s, unbounded)
    return replace(plan, graph=graph, solution=solution)


def lay_out_grids(plan: Plan) -> Plan:
    """Lay stores out as grids of tasks where that sends fewer tuples."""
    graph, solution = lay_out(plan.graph, plan.solution, plan.statistics, plan.options)
    return replace(plan, graph=graph, solution=solution)


LAYOUT_PHASES: tuple[Callable[[Plan], Plan], ...] = (slice_stores, lay_out_grids)
"""What is done with the plan of all components, behind `SOLVING_PHASES` of each, in order."""
STAGES = (*map(stage_name, SOLVING_PHASES), *map(stage_name, LAYOUT_PHASES))
"""The phases after which a plan can be looked at."""


def plan(
    queries: Sequence[Query],
    catalog: Catalog,
    statistics: StatisticsProvider | None = None,
    method: str = "ilp",
    options: Options | None = None,
    retain: Retain = "needed",
    *,
    tasks: int = 1,
    horizon_s: float = 3600.0,
    batch_s: float = 0.0,
    running: Running | None = None,
    texts: Mapping[str, str] | None = None,
    stage: str | None = None,
) -> Plan:
    """Plan all queries together and return the physical graph that answers them.

    >>> from optimizer.sql import parse_query
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.algebra.types import ColumnType
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog((Stream("r", columns, "at"), Stream("s", columns, "at")))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> q = parse_query(text, "q", catalog)
    >>> made = plan([q], catalog, method="flat")
    >>> len(made.graph.stores), made.graph.depth
    (2, 1)

    Args:
        queries: with distinct names; none gives an empty graph.
        catalog: the streams; their declared rates are used where `statistics` knows none.
        method: a name in `optimizer.methods.METHODS`.
        options: weights, budgets and limits; the product's defaults if None.
        retain: see `optimizer.lower.to_graph`.
        tasks: N of streams that set no parallelism of their own.
        horizon_s: seconds over which an unbounded window is taken to hold tuples.
        batch_s: seconds of event time that one batch spans, for the choice of time slices; 0 if unknown.
        running: the plan in use: a warm start, left only for a gain above `Options.stay_discount`.
            Ignored if it was made by another method or under other options.
        texts: SQL by query name, to be shown with the graph.
        stage: a name in `STAGES`: the plan as it is after that phase, to look at; None runs all of them.

    Raises:
        ValueError: two queries have the same name.
        KeyError: there is no such method or stage, or a query reads a stream that the catalog lacks.
        optimizer.algebra.errors.Infeasible: the options admit no plan.
    """
    options = options or Options()
    if batch_s > 0 and options.cost == "cores":
        # In coarse steps: a plan in use is one under other options as soon as these differ.
        options = replace(options, batch_s=2 ** (round(4 * log2(batch_s)) / 4))
    if len({query.name for query in queries}) != len(queries):
        raise ValueError("query names repeat")
    catalog = catalog.beside(queries)
    queries = (*queries, *(one.query for one in derived_of(queries)))
    queries, branches = expanded(queries, catalog)
    if stage is not None and stage not in STAGES:
        raise KeyError(stage)
    declared = statistics_of_workload(catalog)
    known = declared if statistics is None else LayeredStatistics((statistics, declared))
    context = PlanningContext(
        catalog, known, method, options, retain, tasks, horizon_s, batch_s=batch_s, texts=texts or {}
    )

    def make(price: Within | None = None) -> Plan:
        asked = context if price is None else replace(context, options=priced(options, price))
        return _planned(asked, queries, branches, running, stage)

    if options.memory_limit is None or options.cost != "cores":
        return make()
    began = perf_counter()
    made, budget = plan_within(options.memory_limit, options.batch_s, make, _needs)
    return replace(made, memory=budget, seconds=perf_counter() - began)


def _planned(
    context: PlanningContext,
    queries: Sequence[Query],
    branches: tuple[Planned, ...],
    running: Running | None,
    stage: str | None,
) -> Plan:
    began = perf_counter()
    context = replace(context, translated={})
    before: tuple[QueryComponent, ...] = ()
    if running is not None and running.key == CompatibilityKey.of(context):
        before = running.components
        context = replace(context, copies=running.copies)
    if context.method == "individual":
        made = lower_apart(context, answers_alone(context, queries, before, stage), stage)
    else:
        made = lower_together(context, answers(context, queries, before, stage), stage)
    made = replace(made, branches=branches)
    behind = STAGES if stage is None else STAGES[: STAGES.index(stage) + 1]
    for phase in LAYOUT_PHASES:
        if stage_name(phase) in behind:
            made = phase(made)
    validate(made.graph, {terms.query.name: conditions_of(terms) for terms in made.translation.queries})
    graph, waits = with_branches(made.graph, branches, context)
    return replace(
        made,
        graph=graph,
        context=replace(context, copies={}, translated=None),
        seconds=perf_counter() - began,
        waits=waits,
    )


def priced(options: Options, within: Within) -> Options:
    """The options of one try to fit a memory limit."""
    return replace(options, memory_price=within.price, time_limit_s=within.share * options.time_limit_s)


def _needs(made: Plan) -> Needs:
    pricing = made.options.pricing
    return Needs(pricing.unit * made.cost.probe, made.cost.storage / pricing.memory)


def lower_together(
    context: PlanningContext, components: tuple[QueryComponent, ...], stage: str | None
) -> Plan:
    """Write the answers of components as one graph that shares stores."""
    translation = translations_together(
        [context.translate(c.queries, c.subsumption, c.separate) for c in components]
    )
    found = side_by_side([component.solution for component in components], context.method)
    forest, solution = _grown(context, found, translation, stage)
    graph = to_graph(forest, method=context.method, texts=context.texts)
    return Plan(context.method, solution, graph, translation, components, context, 0.0)


def lower_apart(context: PlanningContext, components: tuple[QueryComponent, ...], stage: str | None) -> Plan:
    """Write the answers of single queries as graphs side by side that share no store."""
    translations, graphs = [], []
    for component in components:
        (query,) = component.queries
        # Names of inputs too are each query's own: a self-join may count its occurrences differently.
        translation = context.translate([query], component.subsumption, component.separate)
        forest, _ = _grown(context, component.solution, translation, stage)
        graphs.append(to_graph(forest, method=context.method, texts=context.texts, salt=query.name))
        translations.append(translation)
    solution = side_by_side([component.solution for component in components], context.method)
    graph, translation = together(graphs, context.method), translations_together(translations)
    return Plan(context.method, solution, graph, translation, components, context, 0.0)


def _grown(
    context: PlanningContext, solution: Solution, translation: Translation, stage: str | None
) -> tuple[Forest, Solution]:
    if stage == STAGES[0]:
        # Copies are not chosen yet: every relation's store is as the method has it.
        decided = frozenset(relation.kept_in for relation in translation.problem.relations)
        return grow(solution, translation, decided=decided), solution
    return grow_with_copies(solution, translation, context.options, context.copies)
