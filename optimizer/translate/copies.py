"""How many copies of a shared base store to keep, and partitioned by what.

A problem's relations are inputs with their filters and windows, and a method chooses a
partitioning for each. In the topology all relations of a stream share its stores, so a second
partitioning costs a second copy of the whole stream. Here the choice is made again for all
users of a stream together, and the solution's cost becomes that of the stores really kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isclose
from typing import TypeAlias

from optimizer.canonical import stream_of
from optimizer.expression import columns_of
from optimizer.problem import Cost, Options, Solution, Status
from optimizer.translate.columns import Columns
from optimizer.translate.equalities import equality_class
from optimizer.translate.forest import Forest, Node

_EXHAUSTIVE = 6
"""Up to so many candidate columns all sets of copies are compared; beyond, copies are added greedily."""


Copies = Mapping[str, tuple[str, ...]]
"""Partitioning columns of each stream's stores, sorted."""


def settle(forest: Forest, solution: Solution, options: Options, running: Copies | None = None) -> Solution:
    """Choose the partitionings of undecided base stores; return the solution at its true cost.

    For each such stream the set of copies with the least weighted storage plus probe cost is
    kept: a probe costs what is sent, times N if no copy is partitioned by an attribute that
    the sender knows (section 6.4.1's chi). The forest's nodes are changed in place.

    The solver's bound stays valid for plans of its problem, since sharing a relation's size among
    its users can only understate what copies cost. If the plan turns out cheaper than that, a
    bound takes its place that holds for every plan, however loosely.

    Args:
        running: the copies in use. They cost `Options.stay_discount` less than they do, because
            another partitioning means to store everything again.
    """
    _choose(forest, options, running or {})
    budget = options.storage_budget
    if budget is not None and _stored(forest) > budget * (1 + 1e-9):
        # The method kept the budget with one copy of each shared store.
        _choose(forest, replace(options, single_copy=True), running or {})
    return _at_true_cost(forest, solution, options)


def _choose(forest: Forest, options: Options, running: Copies) -> None:
    stored = dict(forest.translation.stored)
    for stream in sorted(forest.undecided):
        nodes = [n for n in forest.nodes() if n.store is not None and n.store.stream == stream]
        if nodes:
            _settle_stream(forest, nodes, stored[stream], options, running.get(stream))


def _stored(forest: Forest) -> float:
    keys = {node.store for node in forest.nodes() if node.store is not None}
    return sum(forest.stored(key) for key in sorted(keys, key=lambda k: k.order))


def _settle_stream(
    forest: Forest, nodes: list[Node], tuples: float, options: Options, running: tuple[str, ...] | None
) -> None:
    known = [known_columns(forest, node) for node in nodes]
    tasks = nodes[0].store.tasks if nodes[0].store else 1
    candidates = sorted({column for columns in known for column in columns})
    true_cost = copies_cost(forest, nodes, tuples, options)

    def cost(copies: tuple[str, ...]) -> Price:
        total, count, unrouted, _ = true_cost(copies)
        stay = 1 - options.stay_discount if copies == running else 1.0
        return total * stay, count, unrouted, copies

    most = 1 if options.single_copy or tasks == 1 else len(candidates)
    copies: tuple[str, ...] = min(((c,) for c in candidates), key=cost, default=())
    if len(candidates) <= _EXHAUSTIVE:
        sets = (s for size in range(1, most + 1) for s in combinations(candidates, size))
        copies = min(sets, key=cost, default=())
    else:
        while len(copies) < most:
            wider = min((tuple(sorted({*copies, c})) for c in candidates if c not in copies), key=cost)
            if cost(wider) >= cost(copies):
                break
            copies = wider
    for node, columns in zip(nodes, known, strict=True):
        usable = [column for column in copies if column in columns] or list(copies)
        assert node.store is not None
        stream = node.store.stream
        column = (stream, usable[0]) if stream is not None and usable else None
        node.store = replace(node.store, partitioning=column)


Price: TypeAlias = tuple[float, int, float, tuple[str, ...]]
"""Total cost, and what decides among equal ones: see `copies_cost`."""


def copies_cost(
    forest: Forest, nodes: Sequence[Node], tuples: float, options: Options
) -> Callable[[tuple[str, ...]], Price]:
    """What it costs to keep a stream's tuples in copies partitioned by the given columns.

    Args:
        nodes: all probes of the stream's stores.
        tuples: in one copy.

    Returns:
        A function of columns. It orders equal costs by fewer copies, then by those that most
        probes can use, whatever N.
    """
    known = [known_columns(forest, node) for node in nodes]
    sent = [forest.arriving_rate(node) for node in nodes]
    tasks = nodes[0].store.tasks if nodes[0].store else 1

    def cost(copies: tuple[str, ...]) -> Price:
        routed = [not columns.isdisjoint(copies) for columns in known]
        probes = sum(rate * (1 if r else tasks) for rate, r in zip(sent, routed, strict=True))
        total = options.storage_weight * tuples * max(1, len(copies)) + options.probe_weight * probes
        unrouted = sum(rate for rate, r in zip(sent, routed, strict=True) if not r)
        return total, len(copies), unrouted, copies

    return cost


def known_columns(forest: Forest, node: Node) -> frozenset[str]:
    """Columns of the stored input whose value the sender knows under the step's equalities."""
    (stored, name) = node.renames[0]
    stream = forest.translation.stream(stream_of(stored))
    read = {c for p in node.known for c in columns_of(p) if c.input == name}
    return frozenset(
        column.name
        for column in read
        if stream.column_type(column.name) is not None
        and any(c.input in node.bound for c in equality_class(column, node.known))
    )


def _at_true_cost(forest: Forest, solution: Solution, options: Options) -> Solution:
    probe = 0.0
    columns = Columns(forest)
    for node in forest.nodes():
        if node.store is not None:
            copies = 1 if columns.key(node) is not None else node.store.tasks
            probe += forest.arriving_rate(node) * copies
    storage = options.storage_weight * _stored(forest)
    cost = Cost(options.probe_weight * probe, storage, solution.cost.latency)
    if isclose(cost.total, solution.cost.total, rel_tol=1e-9, abs_tol=1e-9):
        return solution
    if solution.bound is not None and cost.total < solution.bound * (1 - 1e-9):
        # Cheaper than any answer to the problem as it was posed: queries took their own filters
        # and windows where they left what they share, which no program weighs.
        return replace(solution, cost=cost, bound=_least(forest, options), status=Status.FEASIBLE)
    proven = solution.bound is not None and cost.total <= solution.bound * (1 + 1e-9)
    return replace(solution, cost=cost, status=Status.OPTIMAL if proven else Status.FEASIBLE)


def _least(forest: Forest, options: Options) -> float:
    """What any plan costs: every stream is stored once, every tuple that some query needs sent once."""
    translation = forest.translation
    rates = dict(translation.rates)
    sent: dict[str, float] = {}
    for terms in translation.queries:
        if len(terms.variants) > 1:
            for variant in terms.variants:
                name = variant.own.input
                sent[name] = max(sent.get(name, 0.0), rates[variant.own.id])
    stored = dict(translation.stored)
    return options.probe_weight * sum(sent[n] for n in sorted(sent)) + options.storage_weight * sum(
        stored[n] for n in sorted(stored)
    )
