"""From a draft of numbered arcs to a `Solution` of named stores and probe orders."""

from __future__ import annotations

from optimizer.algebra.errors import Infeasible
from optimizer.methods.solution.costs import cost_of, task_loads
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.methods.solution.trials import Key
from optimizer.search.cost_model import CostModel
from optimizer.search.problem import (
    Cost,
    Options,
    ProbeOrder,
    ProbeStep,
    Problem,
    Solution,
    Status,
    Store,
)
from optimizer.search.state_graph import StateGraph


def tidy(draft: PartialPlan) -> None:
    """Make every start's paths one tree and drop what is unused, at no higher cost.

    Two paths of one start may reach the same state in different ways. Only one of them is
    kept: the state's tuples are the same whichever way they came.
    """
    graph = draft.graph
    while True:
        needed = _needed(draft)
        for mir in sorted(draft.mirs - needed):
            draft.drop_mir(mir)
        for key in sorted(draft.paths):
            if key[0] not in needed and not graph.targets[key[0]].queries:
                draft.set_path(key, None)
        parents: dict[int, dict[int, int]] = {}
        for key in sorted(draft.paths, key=lambda k: (-graph.states[k[0]].size, k)):
            into = parents.setdefault(key[1], {})
            for arc in draft.paths[key]:
                chosen = into.setdefault(graph.target[arc], arc)
                if arc != chosen and sending_cost(draft, arc) < sending_cost(draft, chosen):
                    into[graph.target[arc]] = arc
        changed = False
        for key in sorted(draft.paths):
            path = _walk_back(graph, parents[key[1]], key)
            if path != draft.paths[key]:
                draft.set_path(key, path)
                changed = True
        draft.choose_copies()
        if not changed and _needed(draft) == draft.mirs:
            return


def sending_cost(draft: PartialPlan, arc: int) -> float:
    """What an arc costs: a send if the sender knows an installed copy's task, else N."""
    graph = draft.graph
    known = graph.known[arc] & draft.copies.get(graph.store[arc], 0)
    return graph.cost[arc] if known else graph.broadcast_cost(arc)


def _walk_back(graph: StateGraph, into: dict[int, int], key: Key) -> tuple[int, ...]:
    path = []
    state, first = key[0], graph.states_of_start(key[1])
    while state != first:
        path.append(into[state])
        state = graph.source[into[state]]
    return tuple(reversed(path))


def _needed(draft: PartialPlan) -> set[int]:
    """MIRs that queries use, directly or through other MIRs."""
    graph = draft.graph
    needed: set[int] = set()
    pending = list(draft.targets)
    while pending:
        target = pending.pop()
        for start in graph.states[target].members:
            for arc in draft.paths[target, start]:
                store = graph.store[arc]
                if graph.states[store].size > 1 and store not in needed:
                    needed.add(store)
                    pending.append(store)
    return needed


def assemble(draft: PartialPlan, method: str, build_seconds: float, solve_seconds: float) -> Solution:
    """The solution of a draft, costed afresh from the problem, with nothing proven."""
    tidy(draft)
    if draft.graph.options.task_capacity is not None and not draft.assigned:
        draft.assign()
    orders, stores = parts(draft)
    problem, options = draft.graph.problem, draft.graph.options
    return Solution(
        method=method,
        status=Status.FEASIBLE,
        orders=orders,
        stores=stores,
        cost=cost_of(problem, options, orders, stores),
        bound=None,
        build_seconds=build_seconds,
        solve_seconds=solve_seconds,
    )


def parts(draft: PartialPlan) -> tuple[tuple[ProbeOrder, ...], tuple[Store, ...]]:
    """Probe orders and stores of a tidy draft, sorted by name."""
    graph = draft.graph
    copies: dict[int, list[tuple[int, Store]]] = {}
    for index in sorted(draft.copies):
        site = graph.sites[index]
        relations, predicates = graph.names(site.state)
        copies[index] = [
            (1 << i, Store(relations, predicates, partitioning, site.tasks, site.tuples))
            for i, partitioning in enumerate(site.partitionings)
            if draft.copies[index] >> i & 1
        ]
    orders = []
    for (target, start), path in draft.paths.items():
        steps = []
        for arc in path:
            installed = copies[graph.store[arc]]
            if arc in draft.assigned:
                installed = [copy for copy in installed if copy[0] == 1 << draft.assigned[arc]]
            routed = [store for bit, store in installed if graph.known[arc] & bit]
            store = routed[0] if routed else installed[0][1]
            source, target_state = graph.states[graph.source[arc]], graph.states[graph.target[arc]]
            fresh = graph.fresh(source, graph.states[graph.store[arc]], target_state)
            steps.append(ProbeStep(store, not routed, graph.rate[arc], fresh))
        feeds = tuple(store for _, store in copies[target]) if target in draft.mirs else ()
        name = graph.relations[start].id
        orders.append(ProbeOrder(name, tuple(steps), graph.targets[target].queries, feeds))
    stores = [store for found in copies.values() for _, store in found]
    return tuple(sorted(orders, key=_order_key)), tuple(sorted(stores, key=store_order))


def store_order(store: Store) -> tuple[object, ...]:
    """Sorts stores by size, relations, predicates and partitioning."""
    partitioning = (store.partitioning.relation, store.partitioning.name) if store.partitioning else ()
    return len(store.relations), sorted(store.relations), sorted(store.predicates), partitioning


def _order_key(order: ProbeOrder) -> tuple[object, ...]:
    feeds = [store_order(store) for store in order.feeds]
    return order.start, order.queries, feeds, [store_order(step.store) for step in order.steps]


def check_limits(problem: Problem, options: Options, solution: Solution) -> Solution:
    """The solution, or `Infeasible` if its method (another may not) broke a limit."""
    stored = sum(store.tuples for store in solution.stores)
    least = sum({store.relations: store.tuples for store in solution.stores if store.is_base}.values())
    if options.storage_budget is not None and least > options.storage_budget * (1 + 1e-9):
        raise Infeasible("storage_budget", options.storage_budget, least)
    if options.storage_budget is not None and stored > options.storage_budget * (1 + 1e-9):
        raise Infeasible("storage_budget", options.storage_budget, stored, solution.method)
    if options.task_capacity is not None:
        load = max(task_loads(CostModel(problem), solution).values(), default=0.0)
        if load > options.task_capacity * (1 + 1e-9):
            raise Infeasible("task_capacity", options.task_capacity, load, solution.method)
    return solution


def empty(method: str) -> Solution:
    """The plan of a problem without joins: sources answer everything."""
    return Solution(method, Status.OPTIMAL, (), (), Cost(0.0, 0.0, 0.0), 0.0, 0.0, 0.0)
