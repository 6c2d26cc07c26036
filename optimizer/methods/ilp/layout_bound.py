"""A lower bound for every layout of stores: hash, broadcast, grid or slice.

A method's own bound is one for plans that hash and broadcast. Grids and slices are chosen behind the method
and may cost less, but even they send a probe to one task at least and keep a tuple once at least. So
no layout costs less than the same plan over stores of one task each, and no plan less than the relaxation of
the program over such stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from time import perf_counter

from optimizer.methods.ilp.flow_program import FlowProgram
from optimizer.methods.ilp.solve import components, fixed_storage
from optimizer.methods.ilp.solvers import relax
from optimizer.search.problem import Options, Problem
from optimizer.search.state_graph import StateGraph


def least_cost(
    problems: Iterable[Problem],
    options: Options,
    time_limit_s: float,
    stored: Mapping[int, float] | None = None,
) -> float:
    """What all problems together cost at least, in any layout of their stores.

    >>> from optimizer.search.problem import JoinPredicate, JoinQuery, Relation
    >>> r, s = (Relation(name, name, 100.0, 1.0, tasks=16) for name in "RS")
    >>> p = JoinPredicate("p", frozenset("RS"), 0.5)
    >>> q = JoinQuery("q", frozenset("RS"), frozenset("p"))
    >>> least_cost([Problem((r, s), (p,), (q,))], Options(), time_limit_s=1.0)
    400.0

    Args:
        problems: that share no store.
        options: what costs weigh; limits, which only make plans dearer, are left out.
        time_limit_s: seconds for all relaxations; one that is cut off bounds less.
        stored: by place of a problem, what base stores cost at least where plans may divide them in other
            ways than the problem does.

    Returns:
        In the unit of `Cost.total`.
    """
    deadline = perf_counter() + time_limit_s
    free = replace(options, storage_budget=None, task_capacity=None, task_tuples=None)
    known = stored or {}
    return sum(
        _least(StateGraph(_in_one_task(problem), free), deadline, known.get(place))
        for place, problem in enumerate(problems)
    )


def _in_one_task(problem: Problem) -> Problem:
    relations = tuple(replace(relation, tasks=1) for relation in problem.relations)
    return replace(problem, relations=relations, task_tuples=None)


def _least(graph: StateGraph, deadline: float, stored: float | None) -> float:
    bound = fixed_storage(graph) if stored is None else stored
    for group in components(graph):
        flow = FlowProgram(graph, group)
        relaxed = relax(flow.program, deadline - perf_counter())
        bound += flow.program.next_objective(max(flow.first_sends(), relaxed.bound))
    return bound
