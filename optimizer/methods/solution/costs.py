"""What a solution costs and its tasks receive, from the problem alone.

Methods search a state graph with discounts, relaxations and incremental sums. Here none of
that is used: probe orders are walked step by step, so an error of a method cannot hide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optimizer.search.cost_model import CostModel
from optimizer.search.problem import (
    Cost,
    Options,
    ProbeOrder,
    ProbeStep,
    Problem,
    Solution,
    Store,
)

StoreKey = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class WalkedStep:
    """One step of a probe order with what the sender has covered."""

    source: frozenset[str]
    source_predicates: frozenset[str]
    target_predicates: frozenset[str]
    step: ProbeStep


def target_of(problem: Problem, order: ProbeOrder) -> StoreKey:
    """The relations and predicates of what an order produces."""
    for query in problem.queries:
        if query.id in order.queries:
            return query.relations, query.predicates
    if order.feeds:
        return order.feeds[0].relations, order.feeds[0].predicates
    raise ValueError(f"an order of {order.start} answers no query and feeds no store")


def walk(problem: Problem, order: ProbeOrder) -> tuple[WalkedStep, ...]:
    """The order's steps with the growing coverage of the sender."""
    relations_of = {p.id: p.relations for p in problem.predicates}
    _, predicates = target_of(problem, order)

    def inside(relations: frozenset[str]) -> frozenset[str]:
        return frozenset(p for p in predicates if relations_of[p] <= relations)

    walked = []
    covered = frozenset({order.start})
    for step in order.steps:
        wider = covered | step.store.relations
        walked.append(WalkedStep(covered, inside(covered), inside(wider), step))
        covered = wider
    return tuple(walked)


def cost_of(
    problem: Problem, options: Options, orders: Iterable[ProbeOrder], stores: Iterable[Store]
) -> Cost:
    """Cost by kind of a plan in which equal prefixes of one start are sent once."""
    model, pricing = CostModel(problem), options.pricing
    sent: dict[tuple[object, ...], float] = {}
    latency = 0.0
    for order in orders:
        prefix: tuple[object, ...] = (order.start,)
        for walked in walk(problem, order):
            store = walked.step.store
            load = model.step_load(
                order.start,
                (walked.source, walked.source_predicates),
                (store.relations, store.predicates),
                walked.target_predicates,
            )
            once, each = pricing.step(load)
            prefix = (
                *prefix,
                (store.relations, store.predicates, store.partitioning, walked.target_predicates),
            )
            sent[prefix] = each * (store.tasks if walked.step.broadcast else 1) + once
        if order.queries and options.latency_weight:
            relations, predicates = target_of(problem, order)
            rates = [model.rate(r, relations, predicates) for r in sorted(relations)]
            total = sum(rates)
            share = model.rate(order.start, relations, predicates) / total if total > 0 else 1 / len(rates)
            latency += len(order.queries) * options.latency_weight * share * len(order.steps)
    kept = [pricing.copy(model.copy_load(store.relations, store.predicates)) for store in stores]
    work = sum(sent.values()) + sum(work for work, _ in kept)
    return Cost(work, pricing.memory * sum(memory for _, memory in kept), latency)


def task_loads(model: CostModel, solution: Solution) -> dict[Store, float]:
    """Tuples per second, new and probing, that one task of each kept copy receives.

    Relations that one store keeps share its copies with equal partitioning, here the first of them.
    """
    shared: dict[tuple[str, str | None], Store] = {}
    copies: dict[Store, Store] = {}
    loads: dict[Store, float] = {}
    for store in solution.stores:
        copies[store] = copy = store
        if store.is_base:
            kept_in = model.relation(next(iter(store.relations))).kept_in
            column = None if store.partitioning is None else store.partitioning.name
            copies[store] = copy = shared.setdefault((kept_in, column), store)
        loads[copy] = model.inserted(store.relations, store.predicates) / store.tasks
    seen: set[tuple[object, ...]] = set()
    for order in solution.orders:
        prefix: tuple[object, ...] = (order.start,)
        for walked in walk(model.problem, order):
            store = walked.step.store
            prefix = (*prefix, (store, walked.target_predicates))
            if prefix in seen:
                continue
            seen.add(prefix)
            rate = walked.step.tuples_per_second
            loads[copies[store]] += rate if walked.step.broadcast else rate / store.tasks
    return loads
