"""Hash, broadcast or matrix: the layout of every store, by cost.

Given the probe orders, what a store's layout costs depends on no other store, so each is chosen by
itself. The orders are those that a method found for hashing and broadcasting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from optimizer.algebra.expression import Column
from optimizer.partitioning.matrix.layout import copies_sent, rows_of, with_groups
from optimizer.partitioning.matrix.shape import Arrangement, best_arrangement, shapes
from optimizer.physical.graph import GraphStore, PhysicalGraph
from optimizer.physical.rules import ProbeRule, StoreRule
from optimizer.physical.task_grid import decompose
from optimizer.search.problem import Cost, Options, Solution, Status
from optimizer.statistics.provider import StatisticsProvider
from optimizer.statistics.skew import hash_skew

_GAIN = 1e-9
"""Relative: less is rounding, and leaves the plan as it is."""


def lay_out(
    graph: PhysicalGraph, solution: Solution, statistics: StatisticsProvider, options: Options
) -> tuple[PhysicalGraph, Solution]:
    """The graph with each store in its cheapest layout, and the solution at that cost.

    With N tasks, i tuples per second to store, p to probe with, p_k of them with a known key, t tuples
    held, and the skew s of `statistics.skew.hash_skew`, in probe tuples per second:

        hash        w_p * (s * (i + p_k) + N * (p - p_k)) + w_s * t
        broadcast   w_p * (i + N * p) + w_s * t
        m rows      w_p * (m * i + N / m * p) + w_s * m * t
        grids       w_p * (sum(N_g / N * m_g) * i + sum(N_g / m_g) * p) + w_s * sum(N_g / N * m_g) * t

    A matrix is (N/m, m); broadcast is that of one row. Grids are of sizes N_g, the powers of two that add up
    to N; of a power of two there is one. The reported cost is what is sent and stored, without s: skew makes
    one task late, not more tuples.

    A plan that a storage budget or a task's capacity limits stays as it is: the method has kept them
    with the layouts that it knows.

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
    >>> made = plan([query], catalog, known)
    >>> lay_out(made.graph, made.solution, known, Options(grids="off"))[0] is made.graph
    True

    Args:
        graph: with estimates, as `to_graph` writes it.
        solution: at the cost of `graph`.
        statistics: may know the share of a column's most frequent value.
        options: `grids` says whether to choose by cost, never, or always, for tests.
    """
    limited = options.storage_budget is not None or options.task_capacity is not None
    if options.grids == "off" or (limited and options.grids == "cost"):
        return graph, solution
    chosen = _drawn(graph, options) if options.grids == "always" else _cheapest(graph, statistics, options)
    made = with_groups(graph, chosen)
    return made, _at_cost_of(solution, graph, made, options)


@dataclass(frozen=True, slots=True)
class StoreRates:
    """What a store is expected to do.

    Tuples per second are before copies, and tuples are in one copy.
    """

    stored: float
    routed: float
    """Probing with a known key."""
    unrouted: float
    held: float


def store_rates(graph: PhysicalGraph) -> dict[str, StoreRates]:
    """The estimates of a graph, by store."""
    rates = {one.id: one.tuples_per_second or 0.0 for one in graph.estimates}
    tuples = {one.id: one.tuples or 0.0 for one in graph.estimates}
    store_edges = {rule.edge for rule in graph.rules if isinstance(rule, StoreRule)}
    found = {s.id: StoreRates(0.0, 0.0, 0.0, tuples.get(s.id, 0.0) / s.copies) for s in graph.stores}
    for edge in graph.edges:
        known, rate = found[edge.target], rates.get(edge.id, 0.0)
        if edge.id in store_edges:
            found[edge.target] = replace(known, stored=known.stored + rate)
        elif edge.kind in ("all", "grid"):
            found[edge.target] = replace(known, unrouted=known.unrouted + rate)
        else:
            found[edge.target] = replace(known, routed=known.routed + rate)
    return found


def _cheapest(
    graph: PhysicalGraph, statistics: StatisticsProvider, options: Options
) -> dict[str, tuple[int, ...]]:
    rates = store_rates(graph)
    chosen = {}
    for store in graph.stores:
        if store.tasks > 1 and _can_be_grid(store):
            rows = _cheapest_rows(store, rates[store.id], hash_skew(store, statistics), options)
            if rows is not None and rows != rows_of(store):
                chosen[store.id] = rows
    return chosen


def _cheapest_rows(
    store: GraphStore, does: StoreRates, skew: float, options: Options
) -> tuple[int, ...] | None:
    """Rows of the cheapest grid or grids; None if the store's own layout is as cheap."""
    sending, storing = options.pricing.weights
    copy = sending * does.stored + storing * does.held
    probes = sending * (does.routed + does.unrouted)
    best = best_arrangement(store.tasks, copy, probes)
    held = rows_of(store)
    if held is not None:
        as_is = Arrangement.of(store.tasks, held).load(copy, probes)
    else:
        sent = skew * (does.stored + does.routed) + store.tasks * does.unrouted
        as_is = sending * sent + storing * does.held
    return best.rows if best.load(copy, probes) < as_is * (1 - _GAIN) else None


def _drawn(graph: PhysicalGraph, options: Options) -> dict[str, tuple[int, ...]]:
    """Some grid, or grids, for every store that can be one, whatever it costs."""
    chosen = {}
    for store in graph.stores:
        drawn = _any(store.tasks, Random(f"{options.seed} {store.label}")).rows
        if _can_be_grid(store) and rows_of(store) != drawn:
            chosen[store.id] = drawn
    return chosen


def _any(tasks: int, chance: Random) -> Arrangement:
    single = Arrangement((chance.choice(shapes(tasks)),))
    parts = decompose(tasks)
    if len(parts) == 1 or chance.random() < 0.4:
        return single
    return Arrangement(tuple(chance.choice(shapes(part)) for part in parts))


def _can_be_grid(store: GraphStore) -> bool:
    """True if a column's hash or chance, not time slices, places tuples."""
    return rows_of(store) is not None or isinstance(store.partitioning, Column)


def _at_cost_of(
    solution: Solution, before: PhysicalGraph, after: PhysicalGraph, options: Options
) -> Solution:
    if after is before:
        return solution
    (sent, stored), (sends, stores) = _sent_and_stored(before), _sent_and_stored(after)
    sending, storing = options.pricing.weights
    cost = Cost(
        solution.cost.probe + sending * (sends - sent),
        solution.cost.storage + storing * (stores - stored),
        solution.cost.latency,
    )
    # The method's bound is one for plans that hash and broadcast.
    return replace(solution, cost=cost, bound=None, status=Status.FEASIBLE)


def _sent_and_stored(graph: PhysicalGraph) -> tuple[float, float]:
    """Tuples per second sent in order to probe, and tuples held, copies counted."""
    copies, probes = copies_sent(graph), {r.edge for r in graph.rules if isinstance(r, ProbeRule)}
    rates: Mapping[str, float] = {one.id: one.tuples_per_second or 0.0 for one in graph.estimates}
    held: Mapping[str, float] = {one.id: one.tuples or 0.0 for one in graph.estimates}
    sent = sum(rates.get(e.id, 0.0) * copies[e.id] for e in graph.edges if e.id in probes)
    return sent, sum(held.get(store.id, 0.0) for store in graph.stores)
