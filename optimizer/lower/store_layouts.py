"""How many copies of a shared base store to keep, and partitioned by what.

A problem's relations are inputs with their filters and windows, and a method chooses a
partitioning for each. In the topology all relations of a stream share its stores, so a second
partitioning costs a second copy of the whole stream. Here the choice is made again for all
users of a stream together, and the solution's cost becomes that of the stores really kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isclose
from typing import TypeAlias

from optimizer.algebra.expression import columns_of
from optimizer.formulate.model import Translation
from optimizer.logical.canonical_inputs import stream_of
from optimizer.lower.columns import Columns
from optimizer.lower.grow import grow
from optimizer.lower.probe_forest import Forest, Node, StoreKey
from optimizer.physical.equalities import equality_class
from optimizer.search.pricing import StepLoad
from optimizer.search.problem import Cost, Options, Solution, Status

_EXHAUSTIVE = 6
"""Up to so many candidate columns all sets of copies are compared; beyond, copies are added greedily."""


Copies = Mapping[str, tuple[str, ...]]
"""Partitioning columns of each stream's stores, sorted."""


def grow_with_copies(
    solution: Solution, translation: Translation, options: Options, running: Copies | None = None
) -> tuple[Forest, Solution]:
    """The probe trees of a solution, partitionings decided, and its true cost.

    A stream's relations share its stores, so their copies are chosen again for all of them together
    (`choose_store_copies`). Where every such choice would give some task more than
    `Options.task_capacity`, the method's own one is kept, copy by copy.

    Args:
        running: see `choose_store_copies`.
    """
    forest = grow(solution, translation)
    settled = choose_store_copies(forest, solution, options, running)
    capacity = options.task_capacity
    if capacity is not None:
        loads = task_loads(forest)
        full = {k.stream for k, load in loads.items() if k.stream and load > capacity * (1 + 1e-9)}
        if full & forest.undecided:
            forest = grow(solution, translation, decided=frozenset(full))
            settled = choose_store_copies(forest, solution, options, running)
    return forest, settled


def choose_store_copies(
    forest: Forest, solution: Solution, options: Options, running: Copies | None = None
) -> Solution:
    """Choose the partitionings of undecided base stores.

    Returns the solution at its true cost.

    For each such stream the set of copies with the least weighted storage plus probe cost is
    kept: a probe costs what is sent, times N if no copy is partitioned by an attribute that
    the sender knows (section 6.4.1's chi). Sets whose tasks get more than `Options.task_capacity`
    come last. The forest's nodes are changed in place.

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


def task_loads(forest: Forest) -> dict[StoreKey, float]:
    """Tuples per second that one task of each store receives: new ones, and probes."""
    columns = Columns(forest)
    loads: dict[StoreKey, float] = {}
    for node in forest.nodes():
        if node.store is not None:
            loads.setdefault(node.store, forest.inserted(node.store) / node.store.tasks)
            receivers = 1 if columns.key(node) is None else node.store.tasks
            loads[node.store] += forest.arriving_rate(node) / receivers
        for fed in node.feeds:
            loads[fed] = loads.get(fed, 0.0) + forest.leaving_rate(node) / fed.tasks
    return loads


def kept_columns(forest: Forest) -> dict[str, frozenset[str]]:
    """Columns of the copies of streams that several relations share.

    Only where it matters which they are.
    """
    kept: dict[str, set[str]] = {}
    for node in forest.nodes():
        if node.store is not None and node.store.stream in forest.undecided and node.store.tasks > 1:
            found = kept.setdefault(node.store.stream, set())
            if node.store.partitioning is not None:
                found.add(node.store.partitioning[1])
    return {stream: frozenset(kept[stream]) for stream in sorted(kept)}


def largest_load(forest: Forest) -> float:
    """Tuples per second that the busiest task of all stores receives."""
    return max(task_loads(forest).values(), default=0.0)


def _choose(forest: Forest, options: Options, running: Copies) -> None:
    for stream in sorted(forest.undecided):
        nodes = [n for n in forest.nodes() if n.store is not None and n.store.stream == stream]
        if nodes:
            _choose_copies_of(forest, nodes, options, running.get(stream))


def _stored(forest: Forest) -> float:
    keys = {node.store for node in forest.nodes() if node.store is not None}
    return sum(forest.stored(key) for key in sorted(keys, key=lambda k: k.order))


def _choose_copies_of(
    forest: Forest, nodes: list[Node], options: Options, running: tuple[str, ...] | None
) -> None:
    choice = StreamCopies(forest, nodes, options)
    candidates = choice.candidates

    def cost(copies: tuple[str, ...]) -> Price:
        over, total, count, unrouted, _ = choice.price(copies)
        stay = 1 - options.stay_discount if copies == running else 1.0
        return over, total * stay, count, unrouted, copies

    # With one task a second copy does not save probes, but it takes some of them over.
    enough = choice.tasks == 1 and options.task_capacity is None
    most = 1 if options.single_copy or enough else len(candidates)
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
    for node, column in zip(nodes, choice.assign(copies)[0], strict=True):
        assert node.store is not None
        assert node.store.stream is not None
        chosen = None if column is None else (node.store.stream, column)
        node.store = replace(node.store, partitioning=chosen)


Price: TypeAlias = tuple[float, float, int, float, tuple[str, ...]]
"""What tasks get above their capacity, the total cost, and what decides among equal ones."""


class StreamCopies:
    """The ways to keep a stream's tuples for all probes of its stores, with costs.

    Args:
        nodes: all probes of the stream's stores; at least one.
    """

    def __init__(self, forest: Forest, nodes: Sequence[Node], options: Options) -> None:
        store = nodes[0].store
        assert store is not None
        self.tasks = store.tasks
        self._routable = [known_columns(forest, node) for node in nodes]
        self._sent = [forest.arriving_rate(node) for node in nodes]
        self._pricing = options.pricing
        self._steps = [self._pricing.step(forest.step_load(node)) for node in nodes]
        self._copy = self._pricing.copy(forest.copy_load(store))
        self._inserted = forest.inserted(store)
        self._options = options

    @property
    def candidates(self) -> list[str]:
        """Columns that the sender of some probe knows, sorted."""
        return sorted({column for columns in self._routable for column in columns})

    def price(self, copies: tuple[str, ...]) -> Price:
        """What it costs to keep copies partitioned by the given columns.

        Equal costs are ordered by fewer copies, then by those that most probes can use, whatever N.
        """
        routed = [not columns.isdisjoint(copies) for columns in self._routable]
        options, (work, memory), kept = self._options, self._copy, max(1, len(copies))
        # What a step costs besides is the same for all copies.
        each_task = zip(self._steps, routed, strict=True)
        probes = sum(each * (1 if r else self.tasks) for (_, each), r in each_task)
        total = self._pricing.memory * memory * kept + work * kept + probes
        unrouted = sum(rate for rate, r in zip(self._sent, routed, strict=True) if not r)
        over = 0.0
        if options.task_capacity is not None:
            limit = options.task_capacity * (1 + 1e-9)
            over = sum(max(0.0, load - limit) for load in self.assign(copies)[1])
        return over, total, len(copies), unrouted, copies

    def assign(self, copies: tuple[str, ...]) -> tuple[tuple[str | None, ...], tuple[float, ...]]:
        """The copy that each probe goes to, and what a task of each receives per second.

        Without a capacity a probe goes to the first copy that it can be routed to. With one the
        largest probes choose first, the copy whose tasks have least to do by then.
        """
        kept: tuple[str | None, ...] = copies or (None,)
        loads = dict.fromkeys(kept, self._inserted / self.tasks)
        chosen: dict[int, str | None] = {}
        limited = self._options.task_capacity is not None
        numbers = range(len(self._sent))
        for number in sorted(numbers, key=lambda n: -self._sent[n]) if limited else numbers:
            usable = tuple(column for column in kept if column in self._routable[number])
            ways = usable or kept
            column = min(ways, key=lambda way: loads[way]) if limited else ways[0]
            loads[column] += self._sent[number] / (self.tasks if usable else 1)
            chosen[number] = column
        return tuple(chosen[number] for number in numbers), tuple(loads.values())


def known_columns(forest: Forest, node: Node) -> frozenset[str]:
    """Columns of the stored input that the sender knows by the step's equalities."""
    (stored, name) = node.renames[0]
    stream = forest.translation.stream(stream_of(stored))
    read = {c for p in node.joined_on for c in columns_of(p) if c.input == name}
    return frozenset(
        column.name
        for column in read
        if stream.column_type(column.name) is not None
        and any(c.input in node.bound for c in equality_class(column, node.joined_on))
    )


def _at_true_cost(forest: Forest, solution: Solution, options: Options) -> Solution:
    probe, pricing = 0.0, options.pricing
    columns = Columns(forest)
    keys = dict.fromkeys(node.store for node in forest.nodes() if node.store is not None)
    for node in forest.nodes():
        if node.store is not None:
            copies = 1 if columns.key(node) is not None else node.store.tasks
            once, each = pricing.step(forest.step_load(node))
            probe += each * copies + once
    kept = [pricing.copy(forest.copy_load(key)) for key in sorted(keys, key=lambda k: k.order)]
    storage = pricing.memory * sum(memory for _, memory in kept)
    cost = Cost(probe + sum(work for work, _ in kept), storage, solution.cost.latency)
    if isclose(cost.total, solution.cost.total, rel_tol=1e-9, abs_tol=1e-9):
        return solution
    if solution.bound is not None and cost.total < solution.bound * (1 - 1e-9):
        # Cheaper than any answer to the problem as it was posed: queries took their own filters
        # and windows where they left what they share, which no program weighs.
        return replace(solution, cost=cost, bound=least(forest.translation, options), status=Status.FEASIBLE)
    proven = solution.bound is not None and cost.total <= solution.bound * (1 + 1e-9)
    return replace(solution, cost=cost, status=Status.OPTIMAL if proven else Status.FEASIBLE)


def least(translation: Translation, options: Options) -> float:
    """What any plan costs at least.

    Every stream is stored once, and every tuple that some query needs is sent once.

    Args:
        translation: of the queries that are answered.
        options: what sending and storing weigh.
    """
    rates = dict(translation.rates)
    sent: dict[str, float] = {}
    for terms in translation.queries:
        if len(terms.variants) > 1:
            for variant in terms.variants:
                name = variant.own.input
                sent[name] = max(sent.get(name, 0.0), rates[variant.own.id])
    stored, pricing = dict(translation.stored), options.pricing
    steps = [
        pricing.step(StepLoad(sent[n], 0.0, 1.0, 0.0, 0.0, 0.0, 1, False, 0.0, 0.0)) for n in sorted(sent)
    ]
    copies = [pricing.copy(translation.copy_load(n)) for n in sorted(stored)]
    work = sum(each for _, each in steps) + sum(work for work, _ in copies)
    return work + pricing.memory * sum(memory for _, memory in copies)
