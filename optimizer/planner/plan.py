"""The optimizer's front door: queries in, a checked physical graph with its reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

from optimizer.algebra.errors import Infeasible, hardest
from optimizer.formulate.model import Retain, Translation, conditions_of
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.lower.individual import together, translations_together
from optimizer.lower.store_layouts import grow_settled, least
from optimizer.lower.to_graph import to_graph
from optimizer.methods.ilp.layout_bound import least_cost
from optimizer.partitioning.matrix import lay_out
from optimizer.partitioning.slicing import choose_slices
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.validate import validate
from optimizer.planner.components import Part, answers, side_by_side
from optimizer.planner.context import Setting
from optimizer.planner.plan_in_use import Frame, Running
from optimizer.search.problem import Cost, Options, Solution, Status
from optimizer.statistics import LayeredStatistics, StatisticsProvider, statistics_of_workload

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
    parts: tuple[Part, ...]
    """Queries that share no stream with others, with their own answers."""
    setting: Setting
    seconds: float
    """Wall time of planning, all of it."""

    @property
    def cost(self) -> Cost:
        return self.solution.cost

    @cached_property
    def bound(self) -> float | None:
        """Proven lower bound of `cost.total`; None if the method proves nothing.

        The method's own is one for plans that hash and broadcast. Where stores are laid out as grids or
        slices it is what no layout can undercut (`optimizer.methods.ilp.layout_bound`), which takes
        relaxations and is looser. A replay that plans again never asks for it; a topology's plan is recorded
        with it.
        """
        proves = all(part.solution.bound is not None for part in self.parts)
        if self.solution.bound is not None or not proves:
            return self.solution.bound
        problems = [self.setting.translate(part.queries, part.widening).problem for part in self.parts]
        found = least_cost(problems, self.options, _BOUND_SHARE * self.options.time_limit_s)
        if found > self.cost.total * (1 + 1e-9):
            # Queries leave what they share earlier than any program weighs: see `grow_settled`.
            found = least(self.translation, self.options)
        return min(found, self.cost.total)

    @property
    def gap(self) -> float | None:
        """Fraction of the cost that is not proven necessary; None without a bound."""
        return replace(self.solution, bound=self.bound).gap

    @cached_property
    def alone(self) -> tuple[Alone, ...]:
        """Each query planned alone with the same method and options, sorted by name.

        It takes as many optimizations as there are queries, so re-planning never asks for it.
        """
        known = {part.queries[0].name: part.solution for part in self.parts if len(part.queries) == 1}
        found = []
        for query in sorted(self.queries, key=lambda q: q.name):
            own = known.get(query.name) or self.setting.solve([query])[1]
            found.append(Alone(query.name, own.cost, own.status is Status.OPTIMAL))
        return tuple(found)

    @property
    def individual_cost(self) -> float:
        """Total cost if every query had a topology of its own."""
        return sum(alone.cost.total for alone in self.alone)

    @property
    def queries(self) -> tuple[Query, ...]:
        return tuple(terms.query for terms in self.translation.queries)

    @property
    def status(self) -> Status:
        return self.solution.status

    @property
    def catalog(self) -> Catalog:
        return self.setting.catalog

    @property
    def statistics(self) -> StatisticsProvider:
        return self.setting.known

    @property
    def options(self) -> Options:
        return self.setting.options

    @property
    def retain(self) -> Retain:
        return self.setting.retain

    @property
    def tasks(self) -> int:
        return self.setting.tasks

    @property
    def running(self) -> Running:
        """This plan as the one in use, for planning after it."""
        return Running.of(self.setting, self.parts, self.graph)


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

    Raises:
        ValueError: two queries have the same name.
        KeyError: there is no such method, or a query reads a stream that the catalog lacks.
        optimizer.algebra.errors.Infeasible: the options admit no plan.
    """
    began = perf_counter()
    options = options or Options()
    if len({query.name for query in queries}) != len(queries):
        raise ValueError("query names repeat")
    declared = statistics_of_workload(catalog)
    known = declared if statistics is None else LayeredStatistics((statistics, declared))
    setting = Setting(catalog, known, method, options, retain, tasks, horizon_s)
    before: tuple[Part, ...] = ()
    if running is not None and running.frame == Frame.of(setting):
        before = running.parts
        setting = replace(setting, copies=running.copies)
    if method == "individual":
        parts, translation, solution, graph = _individual(setting, queries, before, texts)
    else:
        parts = answers(setting, queries, before)
        translation = translations_together([setting.translate(p.queries, p.widening) for p in parts])
        found = side_by_side([part.solution for part in parts], method)
        forest, solution = grow_settled(found, translation, options, setting.copies)
        graph = to_graph(forest, method=method, texts=texts)
    graph, solution = choose_slices(graph, solution, options, batch_s)
    graph, solution = lay_out(graph, solution, known, options)
    validate(graph, {terms.query.name: conditions_of(terms) for terms in translation.queries})
    setting = replace(setting, copies={})
    return Plan(method, solution, graph, translation, parts, setting, perf_counter() - began)


def _individual(
    setting: Setting, queries: Sequence[Query], before: Sequence[Part], texts: Mapping[str, str] | None
) -> tuple[tuple[Part, ...], Translation, Solution, PhysicalGraph]:
    """Nothing is shared, not even stores: every query's topology stands beside the others."""
    running = {part.queries[0].name: part for part in before}
    budgets = _budgets(setting, queries)
    parts, translations, graphs, refused = [], [], [], []
    for query in sorted(queries, key=lambda q: q.name):
        same = running.get(query.name)
        options = replace(setting.options, storage_budget=budgets.get(query.name))
        own = replace(setting, options=options)
        # Under a budget the shares differ from plan to plan, so nothing is taken over.
        known = [same] if same is not None and not budgets else []
        try:
            (part,) = answers(own, [query], known)
        except Infeasible as error:
            refused.append(error)
            continue
        # Names of inputs too are each query's own: a self-join may count its occurrences differently.
        translation = setting.translate([query], part.widening)
        forest, _ = grow_settled(part.solution, translation, setting.options, setting.copies)
        graphs.append(to_graph(forest, method=setting.method, texts=texts, salt=query.name))
        parts.append(part)
        translations.append(translation)
    if refused:
        raise hardest(refused)
    solution = side_by_side([part.solution for part in parts], setting.method)
    graph = together(graphs, setting.method)
    return tuple(parts), translations_together(translations), solution, graph


def _budgets(setting: Setting, queries: Sequence[Query]) -> dict[str, float]:
    """A storage budget shared out to topologies that share no store, by what each needs at least."""
    budget = setting.options.storage_budget
    if budget is None:
        return {}
    least = {q.name: sum(size for _, size in setting.translate([q]).stored) for q in queries}
    needed = sum(least[name] for name in sorted(least))
    if needed > budget * (1 + 1e-9):
        raise Infeasible("storage_budget", budget, needed)
    return {name: one * budget / needed if needed else budget for name, one in least.items()}
