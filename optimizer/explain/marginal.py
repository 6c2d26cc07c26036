"""What one more query would add to a plan, fast enough to show while it is being typed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from optimizer.canonical import stream_of
from optimizer.costs import CostModel
from optimizer.expression import Column
from optimizer.plan import Plan
from optimizer.problem import JoinQuery
from optimizer.query import Query
from optimizer.translate import Translation, to_problem
from optimizer.translate.equalities import equality_class

Sub = tuple[frozenset[str], frozenset[str]]
"""A sub-query: its relations and predicates, by structural identity."""


@dataclass(frozen=True, slots=True)
class MarginalCost:
    """The price of one more query while everything that runs stays as it is."""

    query: str
    probe: float
    """Additional tuples per second sent."""
    storage: float
    """Additional stored tuples, weighted."""
    probe_share: float | None
    """`probe` as a fraction of the plan's probe cost; None if that is zero."""
    new_stores: tuple[str, ...]
    """Streams that nothing stores yet."""
    steps: int
    reused_steps: int
    most_like: str | None
    """The query whose steps it reuses most."""
    most_like_steps: int
    """Steps of that query."""
    most_like_reused: int

    def __str__(self) -> str:
        share = "" if self.probe_share is None else f", +{100 * self.probe_share:.0f} % probes"
        stores = f"+{len(self.new_stores)} store{'' if len(self.new_stores) == 1 else 's'}"
        reuse = f", reuses {self.reused_steps} of {self.steps} steps"
        like = "" if self.most_like is None else f" ({self.most_like_reused} of {self.most_like})"
        return stores + share + reuse + like


@dataclass(frozen=True, slots=True)
class _Step:
    start: str
    source: Sub
    store: Sub


def marginal_cost(plan: Plan, query: Query) -> MarginalCost:
    """The cheapest way to answer `query` on top of a plan whose stores and steps stay.

    A step that the plan already takes costs nothing again; a materialized result that it
    keeps may be probed; streams that are not stored yet are stored. For every start the
    cheapest order is found by Dijkstra's algorithm over the connected sub-queries. A full
    optimization can only be cheaper, because it may also change what runs.

    Args:
        plan: the plan in use.
        query: in the plan's catalog; may have any name, also one in the plan.

    Returns:
        Costs in probe tuples per second, the cost model's unit.
    """
    one = to_problem([query], plan.catalog, plan.statistics, tasks=plan.tasks)
    return _Search(plan, one).answer(query)


class _Search:
    def __init__(self, plan: Plan, one: Translation) -> None:
        self.plan = plan
        self.one = one
        self.model = CostModel(one.problem)
        self.expressions = one.predicates
        self.inputs = {v.served_by.id: v.served_by.input for t in one.queries for v in t.variants}
        self.reads = {p.id: p.relations for p in one.problem.predicates}
        self.owners = _installed_steps(plan)
        self.results = sorted(
            {(s.relations, s.predicates) for s in plan.solution.stores if not s.is_base},
            key=lambda sub: (sorted(sub[0]), sorted(sub[1])),
        )
        self.copies: dict[str, set[str | None]] = defaultdict(set)
        for store in plan.graph.stores:
            if store.is_base:
                column = store.partitioning
                self.copies[store.inputs[0].stream].add(None if column is None else column.name)

    def answer(self, query: Query) -> MarginalCost:
        paths = [
            (cost, path)
            for joined in self.one.problem.queries
            for start in sorted(joined.relations)
            for cost, path in [self._cheapest(joined, start)]
        ]
        probe = sum(cost for cost, _ in paths)
        steps = {step for _, path in paths for step in path}
        reused = {step for step in steps if step in self.owners}
        overlap = Counter(name for step in reused for name in self.owners[step])
        like = min(overlap, key=lambda name: (-overlap[name], name)) if overlap else None
        total = self.plan.cost.probe
        new = sorted({stream_of(self.inputs[r.id]) for r in self.one.problem.relations} - set(self.copies))
        stored = {stream_of(self.inputs[r.id]): self.model.content(r.id) for r in self.one.problem.relations}
        return MarginalCost(
            query=query.name,
            probe=probe,
            storage=self.plan.options.storage_weight * sum(stored[stream] for stream in new),
            probe_share=probe / total if total > 0 else None,
            new_stores=tuple(new),
            steps=len(steps),
            reused_steps=len(reused),
            most_like=like,
            most_like_steps=sum(like in owners for owners in self.owners.values()) if like else 0,
            most_like_reused=overlap[like] if like else 0,
        )

    def _cheapest(self, query: JoinQuery, start: str) -> tuple[float, tuple[_Step, ...]]:
        begun = frozenset({start})
        queue: list[tuple[float, list[str], int]] = [(0.0, [start], 0)]
        paths: list[tuple[_Step, ...]] = [()]
        done: set[frozenset[str]] = set()
        while queue:
            cost, covered, number = heappop(queue)
            state = frozenset(covered)
            if state == query.relations:
                return cost, paths[number]
            if state in done:
                continue
            done.add(state)
            source = (state, self._inside(query, state))
            for store in self._stores(query, state):
                step = _Step(start, source, store)
                price = 0.0 if step in self.owners else self._price(query, step)
                paths.append((*paths[number], step))
                heappush(queue, (cost + price, sorted(state | store[0]), len(paths) - 1))
        raise ValueError(f"query {query.id} cannot be answered from {sorted(begun)}")

    def _inside(self, query: JoinQuery, state: frozenset[str]) -> frozenset[str]:
        return frozenset(p for p in query.predicates if self.reads[p] <= state)

    def _stores(self, query: JoinQuery, state: frozenset[str]) -> Iterator[Sub]:
        """Stores that may be probed next: those that a predicate connects, or any if none is."""
        missing = query.relations - state
        stores: list[Sub] = [(frozenset({relation}), frozenset()) for relation in sorted(missing)]
        stores += [s for s in self.results if s[0] <= missing and s[1] <= query.predicates]
        connected = [
            store
            for store in stores
            if any(
                self.reads[p] & state and self.reads[p] & store[0] and self.reads[p] <= state | store[0]
                for p in query.predicates
            )
        ]
        yield from connected or stores

    def _price(self, query: JoinQuery, step: _Step) -> float:
        sent = self.model.rate(step.start, *step.source)
        relations = step.store[0]
        tasks = self.model.tasks(relations)
        if tasks == 1 or len(relations) > 1:
            return sent * tasks if len(relations) > 1 and not self._knows_result(query, step) else sent
        (relation,) = relations
        columns = self.copies.get(stream_of(self.inputs[relation]))
        # A stream that is not stored yet will be partitioned by what its first probes know.
        known = columns is None or any(
            self._knows(query, step, relation, c) for c in columns if c is not None
        )
        return sent if known else sent * tasks

    def _knows_result(self, query: JoinQuery, step: _Step) -> bool:
        return any(
            store.partitioning is not None
            and self._knows(query, step, store.partitioning.relation, store.partitioning.name)
            for store in self.plan.solution.stores
            if (store.relations, store.predicates) == step.store
        )

    def _knows(self, query: JoinQuery, step: _Step, relation: str, column: str) -> bool:
        name = self.inputs[relation]
        kind = self.one.stream(stream_of(name)).column_type(column)
        if kind is None:
            return False
        state = step.source[0] | step.store[0]
        conditions = [self.expressions[p] for p in sorted(self._inside(query, state))]
        carried = {self.inputs[r] for r in step.source[0]}
        return any(c.input in carried for c in equality_class(Column(name, column, kind), conditions))


def _installed_steps(plan: Plan) -> dict[_Step, frozenset[str]]:
    """The steps that a plan takes, with the queries that they answer directly."""
    problem = plan.translation.problem
    queries = {query.id: query for query in problem.queries}
    reads = {predicate.id: predicate.relations for predicate in problem.predicates}
    owners: dict[_Step, set[str]] = defaultdict(set)
    for order in plan.solution.orders:
        targets = [(queries[name].predicates, {name}) for name in order.queries]
        targets += [(fed.predicates, set()) for fed in order.feeds]
        for predicates, names in targets:
            state = frozenset({order.start})
            for step in order.steps:
                held = frozenset(p for p in predicates if reads[p] <= state)
                owners[_Step(order.start, (state, held), (step.store.relations, step.store.predicates))] |= (
                    names
                )
                state |= step.store.relations
    return {step: frozenset(names) for step, names in owners.items()}
