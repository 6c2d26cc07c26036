"""Alternatives to a plan, their extra cost, and what keeps queries apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from optimizer.algebra.expression import inputs_of
from optimizer.algebra.render import to_sql
from optimizer.explain.orders import Installed, OrderSearch, Step, installed, pricing_of
from optimizer.formulate.model import Occurrence
from optimizer.planner.plan import Plan
from optimizer.search.problem import JoinQuery

_MOST_REASONS = 50


@dataclass(frozen=True, slots=True)
class Alternative:
    """The best other way for one query's tuples of one input, all else as planned."""

    query: str
    start: str
    """Canonical input."""
    chosen: tuple[str, ...]
    """Relations probed, in order; a materialized result as `a*b`."""
    instead: tuple[str, ...]
    """The best order with another first step."""
    extra_cost: float
    """More than what the chosen order costs beside the others: tuples per second, or cores."""


@dataclass(frozen=True, slots=True)
class Apart:
    """Two queries with a join in common that they do not share."""

    queries: tuple[str, str]
    join: str
    reason: str


def alternatives(plan: Plan) -> tuple[Alternative, ...]:
    """For every query and start the second-best first step with its extra cost.

    A step counts only if no other query and no materialized result takes it too, so an
    order can be optimal here and not for its query alone. Decisions with one option are left out.
    """
    if plan.method == "individual":
        return ()
    there = installed(plan)
    search = OrderSearch(plan.translation, there, pricing_of(plan.options))
    found = []
    for query in plan.translation.problem.queries:
        for start in sorted(query.relations):
            alternative = _alternative(search, there, query, start, plan.options.pricing.unit)
            if alternative is not None:
                found.append(alternative)
    return tuple(sorted(found, key=lambda a: (a.query, a.start)))


def _alternative(
    search: OrderSearch, there: Installed, query: JoinQuery, start: str, unit: float
) -> Alternative | None:
    own = {step for step, users in there.steps.items() if (query.id, start) in users}
    chosen = sorted(own, key=lambda step: len(step.source[0]))
    if not chosen:
        return None
    free = frozenset(step for step, users in there.steps.items() if users != ((query.id, start),))
    best = search.cheapest(query, start, free, avoid=chosen[0])
    if best is None:
        return None
    paid = sum(search.price(step) for step in chosen if step not in free)
    inputs = search.inputs
    return Alternative(
        query=query.id,
        start=inputs[start],
        chosen=tuple(_label(step, inputs) for step in chosen),
        instead=tuple(_label(step, inputs) for step in best[1]),
        extra_cost=unit * (best[0] - paid),
    )


def _label(step: Step, inputs: dict[str, str]) -> str:
    return "*".join(sorted(inputs[relation] for relation in step.store[0]))


def apart(plan: Plan) -> tuple[Apart, ...]:
    """Pairs of queries with a join predicate but no relation in common, and why.

    The first fifty pairs, by name: they explain, they are no inventory.
    """
    reasons: list[Apart] = []
    joined = [terms for terms in plan.translation.queries if len(terms.variants) > 1]
    for left, right in combinations(joined, 2):
        theirs = {variant.own.input: variant.served_by for variant in right.variants}
        ours = {variant.own.input: variant.served_by for variant in left.variants}
        common = {p for _, p in left.predicates} & {p for _, p in right.predicates}
        for predicate in sorted(common, key=to_sql):
            for name in sorted(inputs_of(predicate)):
                reason = _difference(name, ours[name], theirs[name])
                if reason:
                    pair = (left.query.name, right.query.name)
                    reasons.append(Apart(pair, to_sql(predicate), reason))
                    break
        if len(reasons) >= _MOST_REASONS:
            break
    return tuple(reasons[:_MOST_REASONS])


def _difference(name: str, one: Occurrence, other: Occurrence) -> str | None:
    if one.alternatives != other.alternatives:
        filters = [to_sql(o.filter) if o.filter is not None else "no filter" for o in (one, other)]
        return f"{name} is filtered by {filters[0]} and by {filters[1]}, and a common part costs more"
    if one.window != other.window:
        return f"{name} is kept {one.window.text} and {other.window.text}, and a common part costs more"
    return None
