"""Compare each store with its second-best alternative: what the decision saves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from optimizer.algebra.expression import Column
from optimizer.formulate.base_stores import stream_of_store
from optimizer.lower.probe_forest import Node
from optimizer.lower.store_layouts import StreamCopies, grow_with_copies
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.methods.solution.warm_start import partial_plan_of
from optimizer.planner.plan import Plan
from optimizer.search.state_graph import StateGraph


@dataclass(frozen=True, slots=True)
class WithoutResult:
    """The plan without one of its materialized results."""

    relation: tuple[str, ...]
    """Canonical inputs of the result."""
    extra_cost: float
    """Of the orders that used it, each routed as cheaply as possible around it, all else as planned."""


@dataclass(frozen=True, slots=True)
class OtherPartitioning:
    """The plan with one store partitioned in the next best way."""

    relation: tuple[str, ...]
    """Canonical inputs; the stream alone for a base store."""
    chosen: tuple[str, ...]
    """Attributes of the installed copies; empty if tuples lie at random."""
    instead: tuple[str, ...]
    extra_cost: float


def without_results(plan: Plan) -> tuple[WithoutResult, ...]:
    """What the plan would cost more without each materialized result, by relation."""
    draft = _draft(plan)
    if draft is None:
        return ()
    found = []
    for mir in sorted(draft.mirs):
        before = draft.total
        draft.begin()
        if _route_around(draft, mir):
            found.append(
                WithoutResult(_inputs(plan, draft, mir), plan.options.pricing.unit * (draft.total - before))
            )
        draft.rollback()
    return tuple(sorted(found, key=lambda one: (len(one.relation), one.relation, one.extra_cost)))


def other_partitionings(plan: Plan) -> tuple[OtherPartitioning, ...]:
    """By relation, the next best partitioning of a store in several tasks, and cost.

    Stores whose probes know one column only have no alternative and are left out.
    """
    if plan.method == "individual":
        return ()
    found = [*_of_streams(plan), *_of_results(plan)]
    return tuple(sorted(found, key=lambda one: (len(one.relation), one.relation, one.instead)))


def _draft(plan: Plan) -> PartialPlan | None:
    """The plan for the methods; None if there is nothing to materialize or share."""
    if plan.method == "individual" or not any(not store.is_base for store in plan.solution.stores):
        return None
    # Discounts are for choosing; what is shown is the cost itself.
    graph = StateGraph(plan.translation.problem, replace(plan.options, mirs=True))
    return partial_plan_of(graph, tuple(graph.required), plan.solution)


def _inputs(plan: Plan, draft: PartialPlan, site: int) -> tuple[str, ...]:
    occurrences = plan.translation.occurrences
    relations, _ = draft.graph.names(draft.graph.states[site])
    return tuple(sorted(occurrences[relation].input for relation in relations))


def _route_around(draft: PartialPlan, mir: int) -> bool:
    """Take a result away and re-route what probed it; False if an order needs it."""
    graph = draft.graph
    if not graph.targets[mir].queries:
        for start in graph.states[mir].members:
            draft.set_path((mir, start), None)
    through = [key for key, path in sorted(draft.paths.items()) if any(graph.store[a] == mir for a in path)]
    for key in through:
        draft.set_path(key, None)
    draft.drop_mir(mir)
    draft.choose_copies()
    for key in through:
        path = draft.cheapest_path(key, (mir,))
        if path is None:
            return False
        draft.set_path(key, path[1])
    draft.choose_copies()
    return True


def _of_streams(plan: Plan) -> Iterator[OtherPartitioning]:
    forest, _ = grow_with_copies(plan.solution, plan.translation, plan.options)
    nodes: dict[str, list[Node]] = defaultdict(list)
    for node in forest.nodes():
        if node.store is not None and node.store.stream is not None and node.store.tasks > 1:
            nodes[node.store.kept_in].append(node)
    installed: dict[str, set[str]] = defaultdict(set)
    for store in plan.graph.stores:
        if store.is_base and isinstance(store.partitioning, Column):
            installed[store.inputs[0].stream].add(store.partitioning.name)
    stores = Counter(stream_of_store(name) for name in nodes)
    for name in sorted(nodes):
        stream = stream_of_store(name)
        choice = StreamCopies(forest, nodes[name], plan.options)
        there = installed[stream]
        if stores[stream] > 1:
            keys = [node.store for node in nodes[name] if node.store is not None]
            there = {key.partitioning[1] for key in keys if key.partitioning is not None}
        chosen = choice.mask(there & {*choice.candidates})
        ones = [1 << number for number in range(len(choice.candidates))]
        ways = {*ones} | {chosen & ~one for one in ones}
        if not plan.options.single_copy:
            ways |= {chosen | one for one in ones}
        # Ways that break a limit are no alternatives.
        possible = sorted(way for way in ways - {0, chosen} if choice.excess(way) <= 0)
        if possible:
            instead = min(possible, key=lambda way: (choice.cost(way), way.bit_count()))
            extra = plan.options.pricing.unit * (choice.cost(instead) - choice.cost(chosen))
            yield OtherPartitioning((stream,), choice.names(chosen), choice.names(instead), extra)


def _of_results(plan: Plan) -> Iterator[OtherPartitioning]:
    draft = _draft(plan)
    for mir in () if draft is None else sorted(draft.mirs):
        assert draft is not None
        names = [
            "" if p is None else f"{plan.translation.occurrences[p.relation].input}.{p.name}"
            for p in draft.graph.sites[mir].partitionings
        ]
        if len(names) < 2 or draft.graph.sites[mir].tasks == 1:
            continue
        before, bits = draft.total, draft.copies[mir]
        costs = {}
        for number, _ in enumerate(names):
            if 1 << number != bits:
                draft.pin(mir, 1 << number)
                costs[1 << number] = draft.choose_copies() - before
                draft.unpin(mir)
                draft.choose_copies()
        best = min(sorted(costs), key=lambda way: costs[way])
        yield OtherPartitioning(
            _inputs(plan, draft, mir),
            _chosen(names, bits),
            _chosen(names, best),
            plan.options.pricing.unit * costs[best],
        )


def _chosen(names: list[str], bits: int) -> tuple[str, ...]:
    return tuple(sorted(name for number, name in enumerate(names) if bits >> number & 1 and name))
