"""The baseline: every query planned and paid for by itself, nothing shared."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from optimizer.algebra.errors import Infeasible, hardest
from optimizer.methods.solution.assemble import empty, store_order
from optimizer.search.problem import (
    Cost,
    JoinQuery,
    Method,
    Options,
    ProbeOrder,
    Problem,
    Solution,
    Status,
    Store,
)


def restrict(problem: Problem, queries: tuple[JoinQuery, ...]) -> Problem:
    """The part of a problem that some of its queries are about."""
    relations = {r for q in queries for r in q.relations}
    predicates = {p for q in queries for p in q.predicates}
    return replace(
        problem,
        relations=tuple(r for r in problem.relations if r.id in relations),
        predicates=tuple(p for p in problem.predicates if p.id in predicates),
        queries=queries,
    )


class Individual:
    """Each query's own best plan; the cost is the sum over the queries.

    The orders can be run together: where two queries materialize the same result, its store
    is fed once. Their cost nevertheless counts every query by itself, stores included.
    """

    name = "individual"

    def __init__(self, alone: Method) -> None:
        self._alone = alone

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """Every query's own plan; see `Method.solve`. The running plan plays no role."""
        begun = perf_counter()
        queries = sorted((q for q in problem.queries if len(q.relations) > 1), key=lambda q: q.id)
        if not queries:
            return empty(self.name)
        share = replace(options, time_limit_s=options.time_limit_s / len(queries))
        built = perf_counter()
        parts, refused = [], []
        for query in queries:
            try:
                parts.append(self._alone.solve(restrict(problem, (query,)), share))
            except Infeasible as error:
                refused.append(error)
        if refused:
            worst = hardest(refused)
            name = None if worst.method is None else self.name
            raise Infeasible(worst.constraint, worst.limit, worst.needed, name)
        bounds = [part.bound for part in parts if part.bound is not None]
        orders, stores = _union(parts)
        return Solution(
            method=self.name,
            status=Status.OPTIMAL if all(p.status is Status.OPTIMAL for p in parts) else Status.FEASIBLE,
            orders=orders,
            stores=stores,
            cost=Cost(
                sum(part.cost.probe for part in parts),
                sum(part.cost.storage for part in parts),
                sum(part.cost.latency for part in parts),
            ),
            bound=sum(bounds) if len(bounds) == len(parts) else None,
            build_seconds=built - begun + sum(part.build_seconds for part in parts),
            solve_seconds=sum(part.solve_seconds for part in parts),
        )


def _union(parts: list[Solution]) -> tuple[tuple[ProbeOrder, ...], tuple[Store, ...]]:
    """All parts' orders and stores; every MIR is fed by the first part that has it.

    An order that feeds an MIR feeds all of its copies, whichever part asked for them.
    """
    stores = tuple(sorted({store for part in parts for store in part.stores}, key=store_order))
    copies: dict[tuple[frozenset[str], frozenset[str]], list[Store]] = {}
    for store in stores:
        copies.setdefault((store.relations, store.predicates), []).append(store)
    fed: set[tuple[frozenset[str], frozenset[str], str]] = set()
    orders: list[ProbeOrder] = []
    for part in parts:
        for order in part.orders:
            feeds: tuple[Store, ...] = ()
            if order.feeds:
                key = (order.feeds[0].relations, order.feeds[0].predicates)
                if (*key, order.start) not in fed:
                    fed.add((*key, order.start))
                    feeds = tuple(copies[key])
            if feeds or order.queries:
                orders.append(replace(order, feeds=feeds))
    return tuple(orders), stores
