"""Search for relations that serve queries whose filters or windows differ.

A subsumption says which relations wider ones serve (AJoin, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

from optimizer.algebra.errors import Infeasible
from optimizer.formulate.base_stores import SeparateStores
from optimizer.formulate.covering import affected, candidates, covering_relations, groups, merged
from optimizer.formulate.model import Occurrence, QueryTerms
from optimizer.formulate.problem import Subsumption
from optimizer.logical.query import Query
from optimizer.planner.context import (
    Answer,
    PlanningContext,
    compare_with_alone,
    hasty,
    may_separate,
    reroute,
    separate_stores,
    stage_name,
)
from optimizer.search.problem import Solution

_TRIAL_QUERIES = 12
"""Where all pairs of queries are in question, those that touch more than this are not tried."""
_GREEDY_QUERIES = 4
"""Up to so many queries a trial weighs materialized results too; beyond, only base stores."""

_TRIED_QUERIES = 250
"""All trials of a search together, counted in queries: a bound on work that no clock makes random."""


def share(
    context: PlanningContext,
    queries: Sequence[Query],
    running: Solution | None = None,
    before: Subsumption | None = None,
    separate: SeparateStores | None = None,
) -> Answer:
    """Plan with sub-queries shared, where it pays, though filters or windows differ.

    Each candidate subsumption is tried on the queries that it touches, with the greedy method; those
    that make them cheaper are kept. The whole problem is then solved with and without them, so
    the answer is never dearer than the plan that keeps such sub-queries apart.

    Args:
        running: the plan in use, as a warm start.
        before: what the plan in use has widened. It is tried too, also with queries that `running`
            does not answer on the relations in use, and left only for a gain above the stay discount.
        separate: what the plan in use keeps in stores of their own.
    """
    in_use = [before or {}]
    trials = Trials(context)
    terms = context.translate(queries).queries
    new: frozenset[str] = frozenset()
    if running is not None:
        in_use.append(_joined(trials, queries, running, in_use[0]))
        new = frozenset(t.query.name for t in terms if len(t.variants) > 1) - running.answered
    # Groups are kept and grow by what is new (AJoin, section 4), as trying all pairs again takes seconds
    # for tens of queries. Without new queries something else has changed, such as rates, and all are in
    # question.
    grown: list[Subsumption] = []
    for separated in (False, True) if may_separate(context) else (False,):
        if not new or len(terms) <= _TRIAL_QUERIES:
            grown.append(profitable(trials, terms, separated=separated))
        if new:
            grown.append(profitable(trials, terms, in_use[0], new, separated=separated))
    tried: list[Subsumption] = [{}]
    for subsumption in (*grown, *in_use):
        if subsumption not in tried:
            tried.append(subsumption)
    # Several problems instead of one: the time limit is for all.
    limit = context.options.time_limit_s / len(tried)
    hurried = replace(context, options=replace(context.options, time_limit_s=limit))
    found: list[Answer] = []
    refused: list[Infeasible] = []
    for subsumption in tried:
        try:
            found.append(
                hurried.answer(queries, running, subsumption, separate, stage=stage_name(separate_stores))
            )
        except Infeasible as error:
            refused.append(error)
    if not found:
        raise min(refused, key=lambda error: inf if error.needed is None else error.needed)
    stay = 1 - context.options.stay_discount

    def price(answer: Answer) -> float:
        stays = running is not None and answer.subsumption in in_use
        return answer.cost * (stay if stays else 1.0)

    return compare_with_alone(min(found, key=price))


def _joined(trials: Trials, queries: Sequence[Query], running: Solution, before: Subsumption) -> Subsumption:
    """Relations widened by the plan in use, and new queries that they make cheaper.

    What runs is not changed.
    """
    answered = running.answered
    terms = [t for t in trials.context.translate(queries, before).queries if len(t.variants) > 1]
    there = [t for t in terms if t.query.name in answered]
    kept, left = before, _TRIED_QUERIES
    for new in (t for t in terms if t.query.name not in answered):
        for candidate in covering_relations(new, there):
            wider = {**candidate, **kept}
            wide = set(candidate.values())
            met = [t.query for t in there if any(variant.served_by in wide for variant in t.variants)]
            touched = [new.query, *met]
            if len(touched) > left:
                continue
            left -= len(touched)
            if trials.is_cheaper(touched, kept, wider, separated=False):
                kept = wider
    return kept


_Trial = tuple[frozenset[str], frozenset[tuple[Occurrence, Occurrence]]]
"""Names of queries, and a subsumption."""


@dataclass(slots=True)
class Trials:
    """Quick plans of some queries, each made once."""

    context: PlanningContext
    made: dict[_Trial, tuple[float, float] | None] = field(default_factory=dict)
    """Cost over stores of whole streams, and over separate ones; None if a limit was in the way."""

    def is_cheaper(
        self, queries: Sequence[Query], kept: Subsumption, wider: Subsumption, *, separated: bool
    ) -> bool:
        """Whether another subsumption is cheaper, as far as a quick method can tell."""
        before, after = self._costs(queries, kept), self._costs(queries, wider)
        # Without one of them nothing is learnt: a limit that the whole plan may keep, these trials do not.
        return before is not None and after is not None and after[separated] < before[separated] * (1 - 1e-9)

    def _costs(self, queries: Sequence[Query], subsumption: Subsumption) -> tuple[float, float] | None:
        key = frozenset(query.name for query in queries), frozenset(subsumption.items())
        if key not in self.made:
            self.made[key] = self._planned(queries, subsumption)
        return self.made[key]

    def _planned(self, queries: Sequence[Query], subsumption: Subsumption) -> tuple[float, float] | None:
        context = self.context
        quick = context.method == "flat" or len(queries) > _GREEDY_QUERIES
        trial = replace(context, method="flat" if quick else "greedy", options=hasty(context.options))
        try:
            shared = trial.answer(queries, subsumption=subsumption, stage=stage_name(reroute))
        except Infeasible:
            return None
        return shared.solution.cost.total, separate_stores(shared).cost


def profitable(
    trials: Trials,
    terms: Sequence[QueryTerms],
    kept: Subsumption | None = None,
    new: frozenset[str] | None = None,
    *,
    separated: bool = False,
) -> Subsumption:
    """All subsumptions that make queries cheaper, each on top of the earlier ones.

    `kept` are the first of these; with names of `new` queries only subsumptions that touch them are tried.
    With `separated` stores, trials may keep queries apart that subsumptions bring together.
    """
    kept = kept or {}
    if new is None:
        kept = try_candidates(trials, terms, kept, groups(terms), _TRIED_QUERIES, separated=separated)
        return try_candidates(trials, terms, kept, candidates(terms), _TRIAL_QUERIES, separated=separated)
    # Few pairs, and whatever is new may belong into a group of many.
    return try_candidates(trials, terms, kept, candidates(terms, new), _TRIED_QUERIES, separated=separated)


def try_candidates(
    trials: Trials,
    terms: Sequence[QueryTerms],
    kept: Subsumption,
    offered: Sequence[Subsumption],
    most: int,
    *,
    separated: bool = False,
) -> Subsumption:
    """What is kept, and what of the offered pays.

    Of what is offered, all is taken that makes the queries touched cheaper, if at most `most`.
    """
    left = _TRIED_QUERIES
    for candidate in offered:
        wider = merged(kept, candidate)
        touched = [t.query for t in affected(terms, wider)]
        if len(touched) > min(most, left):
            continue
        left -= len(touched)
        if trials.is_cheaper(touched, kept, wider, separated=separated):
            kept = wider
    return kept
