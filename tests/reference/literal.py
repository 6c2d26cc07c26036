"""The integer program of dissertation section 7.1 as it is printed, and brute force: oracles.

Sets      sigma: decorated probe orders, one partitioning candidate per visited store, of
          every query and every materializable intermediate result;
          pi: decorated prefixes, shared by all orders that begin with them.
Variables x_sigma: the order is installed; y_pi: the prefix's last step is taken;
          z_mp: a copy of a store is installed (with store costs).

    min  sum StepCost(pi) y_pi + sum s_mp z_mp
    (7.1)  sum of x over the candidates of (q, r) = 1
    (MIR)  for sigma that uses m and each r in m: x_sigma <= sum of x over the orders of (m, r)
    (7.2)  -PCost(sigma) x_sigma + sum of StepCost(pi) y_pi over sigma's prefixes >= 0
    (z)    x_sigma <= z_mp for every decorated store that sigma visits

The row (MIR) is corrected: as printed, every candidate order of m would be installed. Its
relaxation is useless (costs are paid fractionally), so this only serves small instances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import inf, prod

from optimizer.methods.ilp.program import Answer, Program
from optimizer.methods.ilp.solvers import solve_program
from optimizer.search.problem import Options, Problem
from optimizer.search.state_graph import StateGraph

ORDER_LIMIT = 100_000
"""Decorated probe orders beyond which the literal program is refused."""
COMBINATION_LIMIT = 3_000_000
"""Plans beyond which brute force is refused."""

Decorated = tuple[tuple[int, int], ...]
"""Arcs with the number of the receiving store's partitioning."""


@dataclass(frozen=True, slots=True)
class LiteralProgram:
    program: Program
    orders: int
    """Decorated probe orders, over all targets and starts."""
    steps: int
    """Decorated prefixes."""


def decorated_orders(graph: StateGraph, target: int, start: int) -> Iterator[Decorated]:
    """All probe orders of a target and start, under all partitioning candidates (Algorithm 4)."""
    for path in all_paths(graph, target, start):
        counts = [range(len(graph.sites[graph.store[arc]].partitionings)) for arc in path]
        for choice in product(*counts):
            yield tuple(zip(path, choice, strict=True))


def all_paths(graph: StateGraph, target: int, start: int) -> list[tuple[int, ...]]:
    """All undecorated probe orders of a target and start, as arcs."""
    arcs_from: dict[int, list[int]] = {}
    for arc in graph.routes(target, start):
        arcs_from.setdefault(graph.source[arc], []).append(arc)

    def extend(state: int) -> Iterator[tuple[int, ...]]:
        if state == target:
            yield ()
            return
        for arc in arcs_from.get(state, ()):
            for rest in extend(graph.target[arc]):
                yield (arc, *rest)

    return list(extend(graph.states_of_start(start)))


def literal_program(graph: StateGraph) -> LiteralProgram:
    """Build the program. Raises `ValueError` if there are more than `ORDER_LIMIT` orders."""
    program = Program()
    x: dict[tuple[int, int], dict[Decorated, int]] = {}
    y: dict[Decorated, int] = {}
    z: dict[tuple[int, int], int] = {}
    count = 0
    for index in sorted(graph.sites):
        columns = []
        for p, weight in enumerate(graph.sites[index].weights):
            z[index, p] = program.add_column(weight, integer=True, name=f"z{index}.{p}")
            columns.append(z[index, p])
        if graph.states[index].size == 1:
            program.add_row(columns, [1.0] * len(columns), 1.0, inf)
        if graph.options.single_copy:
            program.add_row(columns, [1.0] * len(columns), -inf, 1.0)
    for target in sorted(graph.targets):
        found = graph.targets[target]
        for member, start in enumerate(found.state.members):
            orders = x.setdefault((target, start), {})
            hop = found.latency[member]
            for order in decorated_orders(graph, target, start):
                count += 1
                if count > ORDER_LIMIT:
                    raise ValueError(f"more than {ORDER_LIMIT} decorated probe orders; use method ilp")
                latency = hop * len(order) if found.queries else 0.0
                orders[order] = program.add_column(latency, integer=True, name=f"x{count}")
            if found.queries:
                program.add_row(list(orders.values()), [1.0] * len(orders), 1.0, 1.0)
    for orders in x.values():
        for order, column in orders.items():
            _add_order(graph, program, (x, y, z), order, column)
    return LiteralProgram(program, count, len(y))


def _add_order(
    graph: StateGraph,
    program: Program,
    variables: tuple[
        dict[tuple[int, int], dict[Decorated, int]], dict[Decorated, int], dict[tuple[int, int], int]
    ],
    order: Decorated,
    column: int,
) -> None:
    x, y, z = variables
    columns, costs = [], []
    for length in range(1, len(order) + 1):
        prefix = order[:length]
        arc, p = prefix[-1]
        store = graph.store[arc]
        cost = graph.cost[arc] if graph.known[arc] >> p & 1 else graph.broadcast_cost(arc)
        if prefix not in y:
            y[prefix] = program.add_column(cost, integer=True, name=f"y{len(y)}")
        columns.append(y[prefix])
        costs.append(cost)
        program.at_most_sum(column, [z[store, p]])
        if graph.states[store].size > 1:
            for member in graph.states[store].members:
                program.at_most_sum(column, list(x[store, member].values()))
    program.add_row([column, *columns], [-sum(costs), *costs], 0.0, inf)


def solve_literal(problem: Problem, options: Options) -> tuple[Answer, LiteralProgram]:
    """The literal program's answer; its objective is the plan's total cost, storage included."""
    graph = StateGraph(problem, options)
    literal = literal_program(graph)
    answer = solve_program(literal.program, options.solver, options.time_limit_s, seed=options.seed)
    return answer, literal


def brute_force(problem: Problem, options: Options) -> float:
    """The smallest total cost, by trying every set of MIRs and every path of every target.

    Raises `ValueError` beyond `COMBINATION_LIMIT` combinations.
    """
    graph = StateGraph(problem, options)
    keys = [(t, start) for t in graph.required for start in graph.states[t].members]
    paths = {
        (t, start): all_paths(graph, t, start)
        for t in sorted(graph.targets)
        for start in graph.states[t].members
    }
    best = inf
    tried = 0
    mirs = graph.mir_sites
    for kept in chain.from_iterable(combinations(mirs, n) for n in range(len(mirs) + 1)):
        allowed = set(kept)
        feeding = [(m, start) for m in kept for start in graph.states[m].members]
        wanted = list(dict.fromkeys([*keys, *feeding]))
        choices = [
            [
                path
                for path in paths[key]
                if all(graph.states[s].size == 1 or s in allowed for s in (graph.store[arc] for arc in path))
            ]
            for key in wanted
        ]
        tried += prod(len(c) for c in choices)
        if tried > COMBINATION_LIMIT:
            raise ValueError(f"more than {COMBINATION_LIMIT} plans; use method ilp")
        for picks in product(*choices):
            best = min(best, _cost(graph, wanted, picks, kept))
    return best


def _cost(
    graph: StateGraph,
    keys: list[tuple[int, int]],
    picks: tuple[tuple[int, ...], ...],
    kept: tuple[int, ...],
) -> float:
    arcs_into: dict[int, list[int]] = {site: [] for site in (*graph.base_sites, *kept)}
    for arc in sorted(set(chain.from_iterable(picks))):
        arcs_into[graph.store[arc]].append(arc)
    total = 0.0
    for (target, start), path in zip(keys, picks, strict=True):
        found = graph.targets[target]
        if found.queries:
            total += found.latency[found.state.members.index(start)] * len(path)
    for site, arcs in arcs_into.items():
        total += _cheapest_copies(graph, site, arcs)
    return total


def _cheapest_copies(graph: StateGraph, index: int, arcs: list[int]) -> float:
    site = graph.sites[index]
    count = len(site.partitionings)
    most = 1 if graph.options.single_copy else count
    best = inf
    for size in range(1, most + 1):
        for copies in combinations(range(count), size):
            cost = sum(site.weights[p] for p in copies)
            for arc in arcs:
                known = any(graph.known[arc] >> p & 1 for p in copies)
                cost += graph.cost[arc] if known else graph.broadcast_cost(arc)
            best = min(best, cost)
    return best
