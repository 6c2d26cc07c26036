"""Search for relations that serve queries whose filters or windows differ.

A subsumption says which relations wider ones serve (AJoin, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from optimizer.algebra.errors import Infeasible
from optimizer.formulate.covering import affected, candidates, covering_relations, groups, merged
from optimizer.formulate.model import QueryTerms
from optimizer.formulate.problem import Subsumption
from optimizer.logical.query import Query
from optimizer.planner.context import PlanningContext, hasty
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
) -> tuple[Solution, Subsumption]:
    """Plan with sub-queries shared, where it pays, though filters or windows differ.

    Each candidate subsumption is tried on the queries that it touches, with the greedy method; those
    that make them cheaper are kept. The whole problem is then solved with and without them, so
    the answer is never dearer than the plan that keeps such sub-queries apart.

    Args:
        running: the plan in use, as a warm start.
        before: what the plan in use has widened. It is tried too, also with queries that `running`
            does not answer on the relations in use, and left only for a gain above the stay discount.

    Returns:
        The solution and the subsumption that it was found for; empty if everything is kept apart.
    """
    in_use = [before or {}]
    terms = context.translate(queries).queries
    new: frozenset[str] = frozenset()
    if running is not None:
        in_use.append(_joined(context, queries, running, in_use[0]))
        new = frozenset(t.query.name for t in terms if len(t.variants) > 1) - running.answered
    # Groups are kept and grow by what is new (AJoin, section 4), as trying all pairs again takes seconds
    # for tens of queries. Without new queries something else has changed, such as rates, and all are in
    # question.
    grown = [profitable(context, terms, in_use[0], new)] if new else []
    if not new or len(terms) <= _TRIAL_QUERIES:
        grown.insert(0, profitable(context, terms))
    tried: list[Subsumption] = [{}]
    for subsumption in (*grown, *in_use):
        if subsumption not in tried:
            tried.append(subsumption)
    # Several problems instead of one: the time limit is for all.
    limit = context.options.time_limit_s / len(tried)
    hurried = replace(context, options=replace(context.options, time_limit_s=limit))
    found: list[tuple[Solution, Subsumption]] = []
    refused: list[Infeasible] = []
    for subsumption in tried:
        try:
            found.append((hurried.solve(queries, running, subsumption)[1], subsumption))
        except Infeasible as error:
            refused.append(error)
    if not found:
        raise min(refused, key=lambda error: inf if error.needed is None else error.needed)
    stay = 1 - context.options.stay_discount

    def price(answer: tuple[Solution, Subsumption]) -> float:
        stays = running is not None and answer[1] in in_use
        return answer[0].cost.total * (stay if stays else 1.0)

    return min(found, key=price)


def _joined(
    context: PlanningContext, queries: Sequence[Query], running: Solution, before: Subsumption
) -> Subsumption:
    """Relations widened by the plan in use, and new queries that they make cheaper.

    What runs is not changed.
    """
    answered = running.answered
    terms = [t for t in context.translate(queries, before).queries if len(t.variants) > 1]
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
            if _is_cheaper(context, touched, kept, wider):
                kept = wider
    return kept


def _is_cheaper(
    context: PlanningContext, queries: Sequence[Query], kept: Subsumption, wider: Subsumption
) -> bool:
    """Whether another subsumption is cheaper, as far as a quick method can tell."""
    quick = context.method == "flat" or len(queries) > _GREEDY_QUERIES
    trial = replace(context, method="flat" if quick else "greedy", options=hasty(context.options))
    try:
        _, before = trial.solve(queries, subsumption=kept)
        _, after = trial.solve(queries, subsumption=wider)
    except Infeasible:
        # A limit that the whole plan may keep and this quick trial does not: nothing is learnt.
        return False
    return after.cost.total < before.cost.total * (1 - 1e-9)


def profitable(
    context: PlanningContext,
    terms: Sequence[QueryTerms],
    kept: Subsumption | None = None,
    new: frozenset[str] | None = None,
) -> Subsumption:
    """All subsumptions that make queries cheaper, each on top of the earlier ones.

    `kept` are the first of these; with names of `new` queries only subsumptions that touch them are tried.
    """
    kept = kept or {}
    if new is None:
        kept = try_candidates(context, terms, kept, groups(terms), _TRIED_QUERIES)
        return try_candidates(context, terms, kept, candidates(terms), _TRIAL_QUERIES)
    # Few pairs, and whatever is new may belong into a group of many.
    return try_candidates(context, terms, kept, candidates(terms, new), _TRIED_QUERIES)


def try_candidates(
    context: PlanningContext,
    terms: Sequence[QueryTerms],
    kept: Subsumption,
    offered: Sequence[Subsumption],
    most: int,
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
        if _is_cheaper(context, touched, kept, wider):
            kept = wider
    return kept
