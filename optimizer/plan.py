"""The optimizer's front door: queries in, a checked physical graph with its reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from optimizer.catalog import Catalog
from optimizer.graph import PhysicalGraph
from optimizer.problem import Cost, Options, Solution, Status
from optimizer.query import Query
from optimizer.setting import Setting, share
from optimizer.statistics import LayeredStatistics, StatisticsProvider, statistics_of_workload
from optimizer.translate import Retain, Translation, conditions_of, to_graph
from optimizer.translate.individual import together
from optimizer.validate import validate


@dataclass(frozen=True, slots=True)
class Alone:
    """A query planned as if it were the only one."""

    query: str
    cost: Cost
    proven: bool
    """True if the cost is known to be the least possible."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for all queries together, and what it was made from."""

    method: str
    solution: Solution
    graph: PhysicalGraph
    translation: Translation
    alone: tuple[Alone, ...]
    """Each query planned alone with the same method and options, sorted by name."""
    catalog: Catalog
    statistics: StatisticsProvider
    options: Options
    retain: Retain
    tasks: int
    seconds: float
    """Wall time of planning, all of it."""

    @property
    def cost(self) -> Cost:
        return self.solution.cost

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
    running: Plan | None = None,
    texts: Mapping[str, str] | None = None,
) -> Plan:
    """Plan all queries together and return the physical graph that answers them.

    >>> from optimizer.sql import parse_query
    >>> from optimizer.stream import Stream
    >>> from optimizer.types import ColumnType
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
        retain: see `optimizer.translate.to_graph`.
        tasks: N of streams that set no parallelism of their own.
        horizon_s: seconds over which an unbounded window is taken to hold tuples.
        running: the plan in use, as a warm start.
        texts: SQL by query name, to be shown with the graph.

    Raises:
        ValueError: two queries have the same name.
        KeyError: there is no such method, or a query reads a stream that the catalog lacks.
        optimizer.errors.Infeasible: the options admit no plan.
    """
    began = perf_counter()
    options = options or Options()
    if len({query.name for query in queries}) != len(queries):
        raise ValueError("query names repeat")
    declared = statistics_of_workload(catalog)
    known = declared if statistics is None else LayeredStatistics((statistics, declared))
    setting = Setting(catalog, known, method, options, retain, tasks, horizon_s)
    alone = {query.name: setting.solve([query]) for query in sorted(queries, key=lambda q: q.name)}
    if method == "individual":
        # Nothing is shared, not even stores: every query's topology stands beside the others.
        translation = setting.translate(queries)
        solution = _side_by_side([solution for _, solution in alone.values()])
        graph = together(
            [to_graph(forest, method=method, texts=texts, salt=name) for name, (forest, _) in alone.items()],
            method,
        )
    else:
        if len(alone) == 1:
            ((forest, solution),) = alone.values()
        else:
            forest, solution = share(setting, queries, running.solution if running else None)
        translation = forest.translation
        graph = to_graph(forest, method=method, texts=texts)
    validate(graph, {terms.query.name: conditions_of(terms) for terms in translation.queries})
    return Plan(
        method=method,
        solution=solution,
        graph=graph,
        translation=translation,
        alone=tuple(Alone(name, own.cost, own.status is Status.OPTIMAL) for name, (_, own) in alone.items()),
        catalog=catalog,
        statistics=known,
        options=options,
        retain=retain,
        tasks=tasks,
        seconds=perf_counter() - began,
    )


def _side_by_side(solutions: Sequence[Solution]) -> Solution:
    """Independent solutions as one: everything adds up."""
    proven = all(s.status is Status.OPTIMAL for s in solutions)
    bounds = [s.bound for s in solutions if s.bound is not None]
    return Solution(
        method="individual",
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        orders=tuple(order for s in solutions for order in s.orders),
        stores=tuple(store for s in solutions for store in s.stores),
        cost=Cost(
            probe=sum(s.cost.probe for s in solutions),
            storage=sum(s.cost.storage for s in solutions),
            latency=sum(s.cost.latency for s in solutions),
        ),
        bound=sum(bounds) if len(bounds) == len(solutions) else None,
        build_seconds=sum(s.build_seconds for s in solutions),
        solve_seconds=sum(s.solve_seconds for s in solutions),
    )
