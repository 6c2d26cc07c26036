"""What is wrong with a solution, judged by the problem alone.

Methods search a state graph with discounts, relaxations and incremental sums. Here none of
that is used: probe orders are walked step by step, so a fault of a method cannot hide.
"""

from __future__ import annotations

from dataclasses import replace
from math import isclose

from optimizer.methods.solution.costs import StoreKey, WalkedStep, cost_of, target_of, task_loads, walk
from optimizer.search.cost_model import CostModel
from optimizer.search.problem import (
    Attribute,
    JoinQuery,
    Options,
    ProbeOrder,
    Problem,
    Solution,
    Store,
)


def faults(problem: Problem, options: Options, solution: Solution, shared: bool = True) -> list[str]:
    """What is wrong with a solution; empty if nothing is.

    `shared` is False for the method `individual`: its cost counts every query by itself, and
    limits hold for each query's own stores, not for their union.
    """
    if not shared:
        options = replace(options, single_copy=False, storage_budget=None, task_capacity=None)
    found: list[str] = []
    model = CostModel(problem)
    queries = {q.id: q for q in problem.queries if len(q.relations) > 1}
    installed = set(solution.stores)
    answered: dict[tuple[str, str], int] = {}
    fed: dict[tuple[StoreKey, str], int] = {}
    used: set[Store] = set()
    if len(installed) != len(solution.stores):
        found.append("a store is listed twice")
    for order in solution.orders:
        found += _order_faults(model, installed, order)
        relations, predicates = target_of(problem, order)
        used |= {step.store for step in order.steps}
        for name in order.queries:
            answered[name, order.start] = answered.get((name, order.start), 0) + 1
        if order.feeds:
            key = ((relations, predicates), order.start)
            fed[key] = fed.get(key, 0) + 1
    found += _coverage_faults(queries, answered)
    found += _store_faults(model, options, solution, used, fed)
    for base in sorted({r for q in queries.values() for r in q.relations}):
        if not any(s.relations == {base} for s in installed):
            found.append(f"{base} has no store")
    cost = cost_of(problem, options, solution.orders, solution.stores)
    total = cost.total
    if shared and not isclose(total, solution.cost.total, rel_tol=1e-9, abs_tol=1e-9):
        found.append(f"cost {solution.cost.total}, expected {total}")
    if not shared and total > solution.cost.total * (1 + 1e-9) + 1e-9:
        found.append(f"cost {solution.cost.total} is less than that of the shared plan, {total}")
    if solution.bound is not None and solution.bound > solution.cost.total * (1 + 1e-6) + 1e-6:
        found.append(f"bound {solution.bound} above cost {solution.cost.total}")
    return found


def _order_faults(model: CostModel, installed: set[Store], order: ProbeOrder) -> list[str]:
    found = []
    problem = model.problem
    label = f"order {order.start} of {order.queries or [sorted(s.relations) for s in order.feeds]}"
    relations, predicates = target_of(problem, order)
    for query in problem.queries:
        if query.id in order.queries and (query.relations, query.predicates) != (relations, predicates):
            found.append(f"{label}: {query.id} is another query")
    copies = {s for s in installed if (s.relations, s.predicates) == (relations, predicates)}
    if order.feeds and copies != set(order.feeds):
        found.append(f"{label}: feeds {len(order.feeds)} of {len(copies)} copies")
    covered = frozenset({order.start})
    for walked in walk(problem, order):
        store = walked.step.store
        place = f"{label}: {sorted(store.relations)}"
        if store not in installed:
            found.append(f"{place} is not installed")
        if covered & store.relations:
            found.append(f"{place} is visited twice")
        covered |= store.relations
        inside = {p for p in predicates if model.predicate(p).relations <= store.relations}
        if inside != store.predicates:
            found.append(f"{place} has other predicates, {sorted(store.predicates)}")
        if not walked.step.broadcast and not _knows(model, walked):
            found.append(f"{place} has a partition that the sender does not know")
        rate = model.rate(order.start, walked.source, walked.source_predicates)
        if not isclose(rate, walked.step.tuples_per_second, rel_tol=1e-9, abs_tol=1e-12):
            found.append(f"{place} gets {walked.step.tuples_per_second} per second, expected {rate}")
    if covered != relations:
        found.append(f"{label}: ends at {sorted(covered)} instead of {sorted(relations)}")
    return found


def _coverage_faults(queries: dict[str, JoinQuery], answered: dict[tuple[str, str], int]) -> list[str]:
    found = []
    expected = {(name, r) for name, q in queries.items() for r in q.relations}
    for key in sorted(expected | set(answered)):
        if answered.get(key, 0) != 1 or key not in expected:
            found.append(f"query {key[0]} is answered {answered.get(key, 0)} times from {key[1]}")
    return found


def _store_faults(
    model: CostModel,
    options: Options,
    solution: Solution,
    used: set[Store],
    fed: dict[tuple[StoreKey, str], int],
) -> list[str]:
    found = []
    stored = 0.0
    copies: dict[StoreKey, int] = {}
    for store in solution.stores:
        label = f"store {sorted(store.relations)}[{store.partitioning}]"
        key = (store.relations, store.predicates)
        copies[key] = copies.get(key, 0) + 1
        stored += model.stored(*key)
        if not isclose(store.tuples, model.stored(*key), rel_tol=1e-9):
            found.append(f"{label}: {store.tuples} tuples, expected {model.stored(*key)}")
        if not store.is_base:
            if not any((u.relations, u.predicates) == key for u in used):
                found.append(f"{label} is never probed")
            for start in sorted(store.relations):
                if fed.get((key, start), 0) != 1:
                    found.append(f"{label} is fed {fed.get((key, start), 0)} times from {start}")
    if options.single_copy and any(n > 1 for n in copies.values()):
        found.append("a store has more than one copy")
    if options.storage_budget is not None and stored > options.storage_budget * (1 + 1e-9):
        found.append(f"{stored} stored tuples exceed the budget of {options.storage_budget}")
    if options.task_capacity is not None:
        for copy, load in task_loads(model, solution).items():
            if load > options.task_capacity * (1 + 1e-6):
                label = "*".join(sorted(copy.relations))
                found.append(f"a task of {label} receives {load} tuples per second")
    return found


def _knows(model: CostModel, walked: WalkedStep) -> bool:
    """True if an equality chain of the target leads from sender to attribute."""
    wanted = walked.step.store.partitioning
    if wanted is None:
        return False
    equal: set[Attribute] = {wanted}
    grown = True
    while grown:
        grown = False
        for p in sorted(walked.target_predicates):
            equality = model.predicate(p).equality
            if equality is not None and len(equal & set(equality)) == 1:
                equal |= set(equality)
                grown = True
    return any(attribute.relation in walked.source for attribute in equal)
