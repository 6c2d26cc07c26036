"""The cheapest probe order for one start while everything else stays as it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush

from optimizer.algebra.expression import Column
from optimizer.formulate.model import Translation
from optimizer.logical.canonical_inputs import stream_of
from optimizer.physical.equalities import equality_class
from optimizer.planner.plan import Plan
from optimizer.search.cost_model import CostModel
from optimizer.search.pricing import Pricing
from optimizer.search.problem import JoinQuery, Options

_MOST_PRICED = 900
"""Steps that are priced for one query, over all its starts, before an order is completed by its cheapest next
steps: some 15 ms. Six inputs have fewer, whatever joins them; stars of eight and more
have more."""
Sub = tuple[frozenset[str], frozenset[str]]
"""A sub-query: its relations and predicates, by structural identity."""


@dataclass(frozen=True, slots=True)
class Step:
    """Sends tuples that began at `start` and are now `source` to the store of `store`.

    Queries that join the same relations by other predicates take other steps, even if they send the
    same tuples to the same store.
    """

    start: str
    source: Sub
    store: Sub
    predicates: frozenset[str]
    """Of what leaves the step."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What a plan already does, by structure."""

    steps: Mapping[Step, tuple[tuple[str, str], ...]]
    """Steps with their users: (query, start) or, for a step that feeds a result, its start alone."""
    steps_of: Mapping[str, int]
    """Number of steps by query."""
    results: tuple[Sub, ...]
    """Materialized results."""
    copies: Mapping[str, frozenset[str | None]]
    """Partitioning columns of each stream's stores."""
    result_copies: Mapping[Sub, tuple[tuple[str, str], ...]]
    """Partitioning attributes (relation, column) of each materialized result."""


def pricing_of(options: Options) -> Pricing | None:
    """What steps cost; None for messages, whose price takes less time to find."""
    return None if options.cost == "messages" else options.pricing


@lru_cache(maxsize=4)
def installed(plan: Plan) -> Installed:
    """The steps, results and copies of a plan.

    Kept for the last few plans: prices are asked for again and again while somebody types, and
    building this anew would also make garbage enough for long collections.
    """
    problem = plan.translation.problem
    queries = {query.id: query for query in problem.queries}
    reads = {predicate.id: predicate.relations for predicate in problem.predicates}
    users: dict[Step, set[tuple[str, str]]] = defaultdict(set)
    for order in plan.solution.orders:
        targets = [(queries[name].predicates, name) for name in order.queries]
        targets += [(fed.predicates, "") for fed in order.feeds[:1]]
        for predicates, name in targets:
            state, held, left = frozenset({order.start}), frozenset[str](), set(predicates)
            for step in order.steps:
                source, state = state, state | step.store.relations
                now = {p for p in left if reads[p] <= state}
                left -= now
                probed = (step.store.relations, step.store.predicates)
                users[Step(order.start, (source, held), probed, held | now)].add((name, order.start))
                held |= now
    copies: dict[str, set[str | None]] = defaultdict(set)
    for stored in plan.graph.stores:
        if stored.is_base:
            column = stored.partitioning
            copies[stored.inputs[0].stream].add(column.name if isinstance(column, Column) else None)
    result_copies: dict[Sub, list[tuple[str, str]]] = defaultdict(list)
    for store in plan.solution.stores:
        if not store.is_base and store.partitioning is not None:
            attribute = (store.partitioning.relation, store.partitioning.name)
            result_copies[store.relations, store.predicates].append(attribute)
    results = {(s.relations, s.predicates) for s in plan.solution.stores if not s.is_base}
    return Installed(
        steps={step: tuple(sorted(who)) for step, who in users.items()},
        steps_of=Counter(name for who in users.values() for name in {n for n, _ in who if n}),
        results=tuple(sorted(results, key=lambda sub: (sorted(sub[0]), sorted(sub[1])))),
        copies={stream: frozenset(columns) for stream, columns in copies.items()},
        result_copies={sub: tuple(sorted(set(found))) for sub, found in result_copies.items()},
    )


class OrderSearch:
    """Cheapest orders for the queries of `one` on top of what is installed.

    Dijkstra's algorithm over the connected sub-queries that contain the start. A free step
    costs nothing, an installed result may be probed, a stream that is not stored yet is taken
    to be partitioned by what its first probes know. Where there are too many sub-queries, an order
    is completed by its cheapest next steps, so that its cost is an upper bound.

    Arguments: the queries; what is installed; what steps cost, None for messages.
    """

    def __init__(self, one: Translation, there: Installed, pricing: Pricing | None = None) -> None:
        self.one = one
        self._pricing = pricing
        self.there = there
        self.model = CostModel(one.problem)
        self.expressions = one.predicates
        self.inputs = {v.served_by.id: v.served_by.input for t in one.queries for v in t.variants}
        self.reads = {p.id: p.relations for p in one.problem.predicates}
        self._equal: dict[tuple[frozenset[str], str, str], frozenset[str]] = {}
        """Inputs with a column that equals a stored one, by the predicates that hold: the same for
        every start."""
        self._held: dict[tuple[str, frozenset[str]], frozenset[str]] = {}
        """A query's predicates over a set of relations."""
        self.exact = True
        """False once some order was completed without looking at all ways."""

    def cheapest(
        self, query: JoinQuery, start: str, free: Set[Step], avoid: Step | None = None
    ) -> tuple[float, tuple[Step, ...]] | None:
        """The cheapest order's cost in tuples per second and its steps, None without one.

        Args:
            free: steps that cost nothing, because others take them anyway.
            avoid: a step that must not be the first.
        """
        queue: list[tuple[float, list[str], int]] = [(0.0, [start], 0)]
        paths: list[tuple[Step, ...]] = [()]
        done: set[frozenset[str]] = set()
        left = _MOST_PRICED // max(1, len(query.relations))
        while queue:
            cost, covered, number = heappop(queue)
            state = frozenset(covered)
            if state == query.relations:
                return cost, paths[number]
            if state in done:
                continue
            done.add(state)
            following = []
            source = (state, self._inside(query, state))
            for store in self._stores(query, state):
                step = Step(start, source, store, self._inside(query, state | store[0]))
                if step != avoid:
                    price = 0.0 if step in free else self.price(step)
                    following.append((cost + price, sorted(state | store[0]), step))
            left -= len(following)
            if left < 0 and following:
                # Depth first from here: what is on the queue would take too long. What was seen on other
                # ways must not end this one.
                self.exact = False
                queue.clear()
                done.clear()
                following = [min(following, key=lambda entry: entry[:2])]
            for total, reached, step in following:
                paths.append((*paths[number], step))
                heappush(queue, (total, reached, len(paths) - 1))
        return None

    def _inside(self, query: JoinQuery, state: frozenset[str]) -> frozenset[str]:
        found = self._held.get((query.id, state))
        if found is None:
            found = frozenset(p for p in query.predicates if self.reads[p] <= state)
            self._held[query.id, state] = found
        return found

    def _stores(self, query: JoinQuery, state: frozenset[str]) -> Iterator[Sub]:
        """Stores that may be probed next: connected by a predicate, or any if none is."""
        missing = query.relations - state
        stores: list[Sub] = [(frozenset({relation}), frozenset()) for relation in sorted(missing)]
        stores += [s for s in self.there.results if s[0] <= missing and s[1] <= query.predicates]
        connected = [
            store
            for store in stores
            if any(
                self.reads[p] & state and self.reads[p] & store[0] and self.reads[p] <= state | store[0]
                for p in query.predicates
            )
        ]
        yield from connected or stores

    def price(self, step: Step) -> float:
        """What the step costs, in the unit of the plan's pricing."""
        tasks = self.model.tasks(*step.store)
        asked = 1 if tasks == 1 or self._is_routed(step) else tasks
        if self._pricing is not None:
            load = self.model.step_load(step.start, step.source, step.store, step.predicates)
            once, each = self._pricing.step(load)
            return once + each * asked
        sent = self.model.rate(step.start, *step.source)
        relations = step.store[0]
        fresh = step.predicates - step.source[1] - step.store[1]
        evaluated = self.model.evaluation(step.start, step.source[0] | relations, step.predicates, fresh)
        return sent * asked + evaluated

    def _is_routed(self, step: Step) -> bool:
        relations = step.store[0]
        if len(relations) > 1:
            return self._knows_result(step)
        (relation,) = relations
        columns = self.there.copies.get(stream_of(self.inputs[relation]))
        # A stream that is not stored yet will be partitioned by what its first probes know.
        return columns is None or any(self._knows(step, relation, c) for c in columns if c is not None)

    def _knows_result(self, step: Step) -> bool:
        copies = self.there.result_copies.get(step.store, ())
        return any(self._knows(step, relation, column) for relation, column in copies)

    def _knows(self, step: Step, relation: str, column: str) -> bool:
        name = self.inputs[relation]
        kind = self.one.stream(stream_of(name)).column_type(column)
        if kind is None:
            return False
        asked = (step.predicates, name, column)
        if asked not in self._equal:
            conditions = [self.expressions[p] for p in sorted(step.predicates)]
            equal = equality_class(Column(name, column, kind), conditions)
            self._equal[asked] = frozenset(c.input for c in equal)
        return any(self.inputs[relation] in self._equal[asked] for relation in step.source[0])
