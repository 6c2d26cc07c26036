"""Solving sets of queries under one setting, and the search for what they should share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

from optimizer.algebra.errors import Infeasible
from optimizer.formulate.covering import affected, candidates, covering, groups, merged
from optimizer.formulate.model import QueryTerms, Retain, Translation
from optimizer.formulate.problem import Widening, to_problem
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.lower.probe_forest import Forest
from optimizer.lower.store_layouts import Copies, grow_settled, kept_columns, largest_load
from optimizer.methods import METHODS
from optimizer.methods.heuristic.kept import rerouted
from optimizer.search.problem import Options, Solution
from optimizer.statistics import StatisticsProvider

_TRIAL_QUERIES = 12
"""Where all pairs of queries are in question, those that touch more than this are not tried."""
_GREEDY_QUERIES = 4
"""Up to so many queries a trial weighs materialized results too; beyond, only base stores."""
_REROUTINGS = 3
"""Times that orders are routed anew around the copies that shared stores keep; each may change these."""
_TRIED_QUERIES = 250
"""All trials of a search together, counted in queries: a bound on work that no clock makes random."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything that stays the same while sets of queries are planned and compared."""

    catalog: Catalog
    known: StatisticsProvider
    method: str
    options: Options
    retain: Retain
    tasks: int
    horizon_s: float
    copies: Copies = field(default_factory=dict)
    """Of the plan in use: see `settle`."""

    def translate(self, queries: Sequence[Query], widening: Widening | None = None) -> Translation:
        """The problem of answering the queries together."""
        return to_problem(
            queries,
            self.catalog,
            self.known,
            retain=self.retain,
            tasks=self.tasks,
            horizon_s=self.horizon_s,
            widening=widening,
            task_tuples=self.options.task_tuples,
        )

    def solve(
        self,
        queries: Sequence[Query],
        running: Solution | None = None,
        widening: Widening | None = None,
    ) -> tuple[Forest, Solution]:
        """Queries translated, solved and grown into probe trees.

        Raises:
            optimizer.algebra.errors.Infeasible: the method found no plan within the limits.
        """
        translation = self.translate(queries, widening)
        solution = METHODS[self.method].solve(translation.problem, self.options, running)
        forest, settled = grow_settled(solution, translation, self.options, self.copies)
        self._check_loads(forest)
        if self.method == "ilp" and settled is not solution:
            # The program counted copies by relation. Where they turn out to be shared otherwise, its
            # optimum need not be the cheapest any more, and the greedy plan may have overtaken it.
            rival = replace(self, method="greedy", options=_hasty(self.options))
            try:
                found = rival.solve(queries, running, widening)[1]
            except Infeasible:
                # Heuristics may miss a narrow budget or capacity that the program kept.
                found = settled
            if found.cost.total < settled.cost.total * (1 - 1e-9):
                forest, settled = self._instead(translation, solution, found)
        return self._around_kept_copies(translation, solution, forest, settled)

    def _instead(
        self, translation: Translation, solution: Solution, found: Solution
    ) -> tuple[Forest, Solution]:
        """Another plan in a solution's place, with what the solution has proven."""
        there = replace(solution, orders=found.orders, stores=found.stores)
        return grow_settled(there, translation, self.options, self.copies)

    def _around_kept_copies(
        self, translation: Translation, solution: Solution, forest: Forest, settled: Solution
    ) -> tuple[Forest, Solution]:
        """The plan, or a cheaper one whose orders know which copies of shared stores are kept."""
        options = self.options
        limited = options.task_capacity is not None or options.storage_budget is not None
        if limited or self.method not in ("ilp", "greedy"):
            return forest, settled
        for _ in range(_REROUTINGS):
            kept = kept_columns(forest)
            if not kept:
                break
            found = rerouted(translation.problem, options, settled, kept)
            if found is None:
                break
            other, cheaper = self._instead(translation, solution, found)
            if cheaper.cost.total >= settled.cost.total * (1 - 1e-9):
                break
            forest, settled = other, cheaper
        return forest, settled

    def _check_loads(self, forest: Forest) -> None:
        """Methods keep the capacity with the stores of their problem; this looks at those of the topology."""
        capacity = self.options.task_capacity
        load = largest_load(forest) if capacity is not None else 0.0
        if capacity is not None and load > capacity * (1 + 1e-9):
            raise Infeasible("task_capacity", capacity, load, self.method)

    def admits(self, forest: Forest, solution: Solution) -> bool:
        """True if a solution keeps the storage budget, and its probe trees the task capacity."""
        budget, capacity = self.options.storage_budget, self.options.task_capacity
        if budget is not None and sum(s.tuples for s in solution.stores) > budget * (1 + 1e-9):
            return False
        return capacity is None or largest_load(forest) <= capacity * (1 + 1e-9)


def _hasty(options: Options) -> Options:
    return replace(options, time_limit_s=min(1.0, options.time_limit_s / 4))


def share(
    setting: Setting,
    queries: Sequence[Query],
    running: Solution | None = None,
    before: Widening | None = None,
) -> tuple[Solution, Widening]:
    """The best plan found, with sub-queries of different filters or windows shared where that pays.

    Each candidate widening is tried on the queries that it touches, with the greedy method; those
    that make them cheaper are kept. The whole problem is then solved with and without them, so
    the answer is never dearer than the plan that keeps such sub-queries apart.

    Args:
        running: the plan in use, as a warm start.
        before: what the plan in use has widened. It is tried too, also with queries that `running`
            does not answer on the relations in use, and left only for a gain above the stay discount.

    Returns:
        The solution and the widening that it was found for; empty if everything is kept apart.
    """
    in_use = [before or {}]
    terms = setting.translate(queries).queries
    new: frozenset[str] = frozenset()
    if running is not None:
        in_use.append(_joined(setting, queries, running, in_use[0]))
        answered = {name for order in running.orders for name in order.queries}
        new = frozenset(t.query.name for t in terms if len(t.variants) > 1) - answered
    # Groups are kept and grow by what is new (AJoin, section 4), as trying all pairs again takes seconds
    # for tens of queries. Without new queries something else has changed, such as rates, and all are in
    # question.
    grown = [_worthwhile(setting, terms, in_use[0], new)] if new else []
    if not new or len(terms) <= _TRIAL_QUERIES:
        grown.insert(0, _worthwhile(setting, terms))
    tried: list[Widening] = [{}]
    for widening in (*grown, *in_use):
        if widening not in tried:
            tried.append(widening)
    # Several problems instead of one: the time limit is for all.
    limit = setting.options.time_limit_s / len(tried)
    hurried = replace(setting, options=replace(setting.options, time_limit_s=limit))
    found: list[tuple[Solution, Widening]] = []
    refused: list[Infeasible] = []
    for widening in tried:
        try:
            found.append((hurried.solve(queries, running, widening)[1], widening))
        except Infeasible as error:
            refused.append(error)
    if not found:
        raise min(refused, key=lambda error: inf if error.needed is None else error.needed)
    stay = 1 - setting.options.stay_discount

    def price(answer: tuple[Solution, Widening]) -> float:
        stays = running is not None and answer[1] in in_use
        return answer[0].cost.total * (stay if stays else 1.0)

    return min(found, key=price)


def _joined(setting: Setting, queries: Sequence[Query], running: Solution, before: Widening) -> Widening:
    """What the plan in use has widened, and new queries on its relations where that is cheaper for them.

    Nothing that runs changes by it.
    """
    answered = {name for order in running.orders for name in order.queries}
    terms = [t for t in setting.translate(queries, before).queries if len(t.variants) > 1]
    there = [t for t in terms if t.query.name in answered]
    kept, left = before, _TRIED_QUERIES
    for new in (t for t in terms if t.query.name not in answered):
        for candidate in covering(new, there):
            wider = {**candidate, **kept}
            touched = [new.query, *(t.query for t in there if _meets(t, candidate))]
            if len(touched) > left:
                continue
            left -= len(touched)
            if _is_cheaper(setting, touched, kept, wider):
                kept = wider
    return kept


def _meets(terms: QueryTerms, candidate: Widening) -> bool:
    return any(variant.served_by in candidate.values() for variant in terms.variants)


def _is_cheaper(setting: Setting, queries: Sequence[Query], kept: Widening, wider: Widening) -> bool:
    """Whether the queries are cheaper with another widening, as far as a quick method can tell."""
    quick = setting.method == "flat" or len(queries) > _GREEDY_QUERIES
    trial = replace(setting, method="flat" if quick else "greedy", options=_hasty(setting.options))
    try:
        _, before = trial.solve(queries, widening=kept)
        _, after = trial.solve(queries, widening=wider)
    except Infeasible:
        # A limit that the whole plan may keep and this quick trial does not: nothing is learnt.
        return False
    return after.cost.total < before.cost.total * (1 - 1e-9)


def _worthwhile(
    setting: Setting,
    terms: Sequence[QueryTerms],
    kept: Widening | None = None,
    new: frozenset[str] | None = None,
) -> Widening:
    """All widenings that make the queries they touch cheaper, each tried on top of the earlier ones.

    `kept` are the first of these; with names of `new` queries only widenings that touch them are tried.
    """
    kept = kept or {}
    if new is None:
        kept = _tried(setting, terms, kept, groups(terms), _TRIED_QUERIES)
        return _tried(setting, terms, kept, candidates(terms), _TRIAL_QUERIES)
    # Few pairs, and whatever is new may belong into a group of many.
    return _tried(setting, terms, kept, candidates(terms, new), _TRIED_QUERIES)


def _tried(
    setting: Setting, terms: Sequence[QueryTerms], kept: Widening, offered: Sequence[Widening], most: int
) -> Widening:
    """What is kept, and of what is offered all that makes cheaper the queries touched, if at most `most`."""
    left = _TRIED_QUERIES
    for candidate in offered:
        wider = merged(kept, candidate)
        touched = [t.query for t in affected(terms, wider)]
        if len(touched) > min(most, left):
            continue
        left -= len(touched)
        if _is_cheaper(setting, touched, kept, wider):
            kept = wider
    return kept
