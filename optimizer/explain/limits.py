"""Which options, and which limits of the search, keep a plan from being cheaper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from optimizer.algebra.errors import Infeasible
from optimizer.planner.plan import Plan
from optimizer.search.join_graph import is_searched_whole
from optimizer.search.problem import Options, Problem

_NOTICEABLE = 1e-6


@dataclass(frozen=True, slots=True)
class Limit:
    """An option that costs something."""

    option: str
    """As on the command line."""
    saving: float
    """At least so much cheaper would a plan without it be, in probe tuples per second."""


def limits(plan: Plan) -> tuple[Limit, ...]:
    """Options without which queries would share more, and what that would save.

    Each is lifted alone, and the queries planned again by the greedy method in at most a second,
    so a saving is what is possible at least; options that cost nothing are left out.
    """
    found = []
    for option, without in _lifted(plan.options):
        hurried = replace(without, time_limit_s=min(1.0, plan.options.time_limit_s))
        context = replace(plan.context, method="greedy", options=hurried)
        try:
            _, solution = context.solve(plan.queries)
        except Infeasible:
            # The other options alone are too much for the quick method: nothing is known.
            continue
        saving = plan.solution.cost.total - solution.cost.total
        if saving > _NOTICEABLE * plan.cost.total:
            found.append(Limit(option, plan.options.pricing.unit * saving))
    return tuple(found)


def _lifted(options: Options) -> Iterator[tuple[str, Options]]:
    if not options.mirs:
        yield "--no-mir", replace(options, mirs=True)
    if options.single_copy:
        yield "--single-copy", replace(options, single_copy=False)
    if options.storage_budget is not None:
        yield f"--storage-budget {options.storage_budget:g}", replace(options, storage_budget=None)
    if options.task_capacity is not None:
        yield f"--task-capacity {options.task_capacity:g}", replace(options, task_capacity=None)
    if options.task_tuples is not None:
        yield f"--task-tuples {options.task_tuples:g}", replace(options, task_tuples=None)


def narrowed(problem: Problem, mirs: bool) -> tuple[str, ...]:
    """The queries that have more sub-joins than are searched.

    Only some of these are looked at.
    """
    joined = {predicate.id: predicate.relations for predicate in problem.predicates}
    found = []
    for query in sorted(problem.queries, key=lambda q: q.id):
        bit = {relation: 1 << place for place, relation in enumerate(sorted(query.relations))}
        sets = {sum(bit[relation] for relation in joined[one]) for one in query.predicates}
        masks = tuple(sorted(mask for mask in sets if mask.bit_count() > 1))
        if len(bit) > 1 and not is_searched_whole(len(bit), masks, mirs):
            found.append(query.id)
    return tuple(found)
