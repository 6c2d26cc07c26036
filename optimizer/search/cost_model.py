"""What sending and storing costs: the rate- and window-based cost model.

Sources: dissertation sections 5.3.1 and 6.2, with two corrections. The printed factor 1/j
of equations 5.5 and 6.1 belongs to the number of relations already joined, not to the
position of the next one; and windows of different lengths need no such factor at all,
because the starting tuple is the newest of its result and every partner lies within its
own window before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, prod

from optimizer.search.pricing import COMPACTED, CopyLoad, StepLoad
from optimizer.search.problem import JoinPredicate, Problem, Relation
from optimizer.search.widths import CarriedBytes
from optimizer.udf.pair_cost import rank

SHORTEST_WINDOW_S = 1e-6
"""Event times are microseconds: a window of zero still admits tuples of the same instant."""

MOST_TUPLES = 1e100
"""Of a relation or a result: beyond, costs could not be added up and compared any more."""


class CostModel:
    """Rates and sizes of the sub-queries of one problem.

        >>> from optimizer.search.problem import JoinPredicate, Problem, Relation
    >>> r, s = (Relation(name, name, 100.0, 1.0) for name in "RS")
        >>> p = JoinPredicate("p", frozenset("RS"), 0.0075)
        >>> CostModel(Problem((r, s), (p,), ())).rate("R", frozenset("RS"), frozenset({"p"}))
        75.0
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._relations = {relation.id: relation for relation in problem.relations}
        self._predicates = {predicate.id: predicate for predicate in problem.predicates}
        self._sharing = Counter(relation.kept_in for relation in problem.relations)
        self._carried = CarriedBytes(problem)

    def relation(self, relation: str) -> Relation:
        return self._relations[relation]

    def predicate(self, predicate: str) -> JoinPredicate:
        return self._predicates[predicate]

    def window_s(self, relation: str) -> float:
        """The window in seconds; an unbounded one lasts for the planning horizon."""
        return lasting_s(self._relations[relation].window_s, self.problem.horizon_s)

    def content(self, relation: str) -> float:
        """Tuples of a base relation inside its window: rate times window."""
        return min(MOST_TUPLES, self._relations[relation].tuples_per_second * self.window_s(relation))

    def volume(self, relations: Iterable[str], predicates: Iterable[str]) -> float:
        """Product of windows' contents and predicates' selectivities, in sorted order.

        Divided by the window of a starting relation it is the rate of results that this
        relation starts.
        """
        contents = min(MOST_TUPLES, prod(self.content(relation) for relation in sorted(relations)))
        return contents * prod(self._predicates[p].selectivity for p in sorted(predicates))

    def rate(self, start: str, relations: frozenset[str], predicates: frozenset[str]) -> float:
        """Partial results per second over `relations` whose newest tuple is of `start`."""
        return self.volume(relations, predicates) / self.window_s(start)

    def evaluation(
        self, start: str, relations: frozenset[str], predicates: frozenset[str], fresh: frozenset[str]
    ) -> float:
        """Cost per second of the `fresh` predicates in a step that covers `relations`."""
        costly = [self._predicates[p] for p in sorted(fresh)]
        if not any(predicate.pair_cost for predicate in costly):
            return 0.0
        return evaluation(self.rate(start, relations, predicates - fresh), costly)

    def tasks(self, relations: frozenset[str], predicates: frozenset[str]) -> int:
        """A store's N: its most parallel relation's, or as many tasks as its tuples need."""
        limit = self.problem.task_tuples
        if limit is None or len(relations) == 1:
            return max(self._relations[relation].tasks for relation in relations)
        return tasks_for(self.stored(relations, predicates), limit)

    def inserted(self, relations: frozenset[str], predicates: frozenset[str]) -> float:
        """Tuples per second that one copy of a store takes in."""
        if len(relations) == 1:
            (relation,) = relations
            known = self.problem.stored_rates.get(self._relations[relation].kept_in)
            return self._relations[relation].tuples_per_second if known is None else known
        return sum(self.rate(start, relations, predicates) for start in sorted(relations))

    def bytes(self, relations: frozenset[str], predicates: frozenset[str]) -> float:
        """Of a combination of tuples, as far as anything behind it reads them."""
        return self._carried.of(relations, predicates)

    def held_s(self, relations: frozenset[str], predicates: frozenset[str]) -> float:
        """Seconds for which a probe finds what came into the store."""
        if len(relations) == 1:
            return self.window_s(next(iter(relations)))
        inserted = self.inserted(relations, predicates)
        return COMPACTED * self.stored(relations, predicates) / inserted if inserted > 0 else 0.0

    def equal(self, fresh: Iterable[str]) -> float:
        """The share of all pairs that a step forms to check its predicates."""
        found = [self._predicates[predicate] for predicate in sorted(fresh)]
        keys = [predicate.selectivity for predicate in found if predicate.equality is not None]
        return prod(keys) if keys else min((predicate.selectivity for predicate in found), default=1.0)

    def checks(self, fresh: Iterable[str], stored: frozenset[str], inserted: float | None = None) -> bool:
        """True if a step checks more than keys and windows, such as a filter.

        Args:
            fresh: predicates that the step applies.
            stored: relations of the store.
            inserted: tuples per second into a base store, if others than those that come.
        """
        if any(self._predicates[predicate].equality is None for predicate in fresh):
            return True
        if len(stored) > 1:
            return False
        relation = self._relations[next(iter(stored))]
        known = self.problem.stored_rates.get(relation.kept_in, 0.0) if inserted is None else inserted
        return relation.tuples_per_second < known * (1 - 1e-9)

    def copy_load(self, relations: frozenset[str], predicates: frozenset[str]) -> CopyLoad:
        """What one copy of a store does; a relation has its share of a shared one."""
        is_base = len(relations) == 1
        share = 1 / self._sharing[self._relations[next(iter(relations))].kept_in] if is_base else 1.0
        return CopyLoad(
            tuples=self.stored(relations, predicates),
            inserted=self.inserted(relations, predicates) * share,
            bytes=self.bytes(relations, predicates),
            tasks=self.tasks(relations, predicates),
            is_base=is_base,
            share=share,
        )

    def step_load(
        self,
        start: str,
        source: tuple[frozenset[str], frozenset[str]],
        store: tuple[frozenset[str], frozenset[str]],
        target_predicates: frozenset[str],
    ) -> StepLoad:
        """What a step does that sends `source`, relations and predicates, to a store."""
        target, fresh = source[0] | store[0], target_predicates - source[1] - store[1]
        return StepLoad(
            arriving=self.rate(start, *source),
            made=self.rate(start, target, target_predicates),
            equal=self.equal(fresh),
            evaluated=self.evaluation(start, target, target_predicates, fresh),
            inserted=self.inserted(*store),
            held_s=self.held_s(*store),
            tasks=self.tasks(*store),
            checks=self.checks(fresh, store[0]),
            arriving_bytes=self.bytes(*source),
            made_bytes=self.bytes(target, target_predicates),
        )

    def stored(self, relations: frozenset[str], predicates: frozenset[str]) -> float:
        """Tuples that a store of this relation holds: the known size, or an estimate.

        A base store holds a window's content; a materialized result its output rate times
        the mean remaining life of a new result, W/k for k equal windows W (section 6.2.1).
        """
        known = self.problem.sizes.get(relations)
        if known is not None:
            return known
        if len(relations) == 1:
            return self.content(next(iter(relations)))
        volume = self.volume(relations, predicates)
        windows = {relation: self.window_s(relation) for relation in sorted(relations)}
        return sum(
            volume / window * mean_life_s(window, [w for other, w in windows.items() if other != start])
            for start, window in windows.items()
        )


def tasks_for(tuples: float, task_tuples: float) -> int:
    """At least one task, and enough for so many tuples (dissertation section 5.5.3).

    >>> tasks_for(1_000_000.0, 400_000.0), tasks_for(0.0, 10.0)
    (3, 1)
    """
    return max(1, ceil(tuples / task_tuples * (1 - 1e-12)))


def evaluation(pairs_per_second: float, predicates: Sequence[JoinPredicate]) -> float:
    """Cost per second of predicates that see pairs one by one, expensive ones last.

    >>> cheap = JoinPredicate("c", frozenset("RS"), 0.01)
    >>> costly = JoinPredicate("u", frozenset("RS"), 0.5, pair_cost=4.0)
    >>> evaluation(1000.0, [cheap, costly])
    40.0
    """
    left, cost = pairs_per_second, 0.0
    for predicate in sorted(predicates, key=lambda p: (rank(p.pair_cost, p.selectivity), p.id)):
        cost += left * predicate.pair_cost
        left *= predicate.selectivity
    return cost


def lasting_s(window_s: float | None, horizon_s: float) -> float:
    """Seconds that a window is priced with.

    None, which is unbounded, lasts for the planning horizon.

    >>> lasting_s(60.0, 3600.0), lasting_s(None, 3600.0)
    (60.0, 3600.0)
    """
    return max(horizon_s if window_s is None else window_s, SHORTEST_WINDOW_S)


def mean_life_s(newest_window_s: float, other_windows_s: Iterable[float]) -> float:
    """Mean time in seconds until a new result leaves the first of its windows.

    The starting tuple is new, every other has an age evenly spread over its window W_i, so
    the mean is the integral of prod(1 - s / W_i) from 0 to the shortest window.

    >>> mean_life_s(60.0, [60.0, 60.0])
    20.0
    """
    others = sorted(other_windows_s)
    shortest = min([newest_window_s, *others])
    coefficients = [1.0]
    for window in others:
        ratio = shortest / window
        shifted = [0.0, *(-ratio * c for c in coefficients)]
        coefficients = [a + b for a, b in zip([*coefficients, 0.0], shifted, strict=True)]
    return shortest * sum(c / (power + 1) for power, c in enumerate(coefficients))
