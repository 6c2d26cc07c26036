"""What sending and storing costs: the rate- and window-based cost model.

Sources: dissertation sections 5.3.1 and 6.2, with two corrections. The printed factor 1/j
of equations 5.5 and 6.1 belongs to the number of relations already joined, not to the
position of the next one; and windows of different lengths need no such factor at all,
because the starting tuple is the newest of its result and every partner lies within its
own window before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, prod

from optimizer.search.problem import JoinPredicate, Problem, Relation
from optimizer.udf.pair_cost import rank

SHORTEST_WINDOW_S = 1e-6
"""Event times are microseconds: a window of zero still admits tuples of the same instant."""


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

    def relation(self, relation: str) -> Relation:
        return self._relations[relation]

    def predicate(self, predicate: str) -> JoinPredicate:
        return self._predicates[predicate]

    def window_s(self, relation: str) -> float:
        """The window in seconds; an unbounded one lasts for the planning horizon."""
        return lasting_s(self._relations[relation].window_s, self.problem.horizon_s)

    def content(self, relation: str) -> float:
        """Tuples of a base relation inside its window: rate times window."""
        return self._relations[relation].tuples_per_second * self.window_s(relation)

    def volume(self, relations: Iterable[str], predicates: Iterable[str]) -> float:
        """Product of windows' contents and predicates' selectivities, in sorted order.

        Divided by the window of a starting relation it is the rate of results that this
        relation starts.
        """
        contents = prod(self.content(relation) for relation in sorted(relations))
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
            stream = self._relations[relation].stream
            known = self.problem.stored_rates.get(stream)
            return self._relations[relation].tuples_per_second if known is None else known
        return sum(self.rate(start, relations, predicates) for start in sorted(relations))

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
