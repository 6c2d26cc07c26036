"""How many copies of a shared base store to keep, and partitioned by what.

A problem's relations are inputs with their filters and windows, and a method chooses a
partitioning for each. In the topology all relations of a stream share its stores, so a second
partitioning costs a second copy of the whole stream. Here the choice is made again for all
users of a stream together, and the solution's cost becomes that of the stores really kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isclose

from optimizer.algebra.expression import columns_of
from optimizer.formulate.base_stores import stream_of_store
from optimizer.formulate.model import Translation
from optimizer.logical.canonical_inputs import stream_of
from optimizer.lower.columns import Columns
from optimizer.lower.grow import grow
from optimizer.lower.probe_forest import Forest, Node, StoreKey
from optimizer.physical.equalities import equality_class
from optimizer.search.copy_choice import assign_probes, best_copies, copies_cost, relieved_copies
from optimizer.search.join_graph import bits
from optimizer.search.pricing import CopyLoad, StepLoad
from optimizer.search.problem import Cost, Options, Solution, Status

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
        full = {k.kept_in for k, load in loads.items() if k.kept_in and load > capacity * (1 + 1e-9)}
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
    """Columns of the copies of base stores that several relations share.

    Only where it matters which they are.
    """
    kept: dict[str, set[str]] = {}
    for node in forest.nodes():
        if node.store is not None and node.store.kept_in in forest.undecided and node.store.tasks > 1:
            found = kept.setdefault(node.store.kept_in, set())
            if node.store.partitioning is not None:
                found.add(node.store.partitioning[1])
    return {store: frozenset(kept[store]) for store in sorted(kept)}


def largest_load(forest: Forest) -> float:
    """Tuples per second that the busiest task of all stores receives."""
    return max(task_loads(forest).values(), default=0.0)


def _choose(forest: Forest, options: Options, running: Copies) -> None:
    probes: dict[str, list[Node]] = {}
    for node in forest.nodes():
        if node.store is not None and node.store.kept_in in forest.undecided:
            probes.setdefault(node.store.kept_in, []).append(node)
    for store, nodes in sorted(probes.items()):
        _choose_copies_of(forest, nodes, options, running.get(stream_of_store(store)))


def _stored(forest: Forest) -> float:
    keys = {node.store for node in forest.nodes() if node.store is not None}
    return sum(forest.stored(key) for key in sorted(keys, key=lambda k: k.order))


def _choose_copies_of(
    forest: Forest, nodes: list[Node], options: Options, running: tuple[str, ...] | None
) -> None:
    choice = StreamCopies(forest, nodes, options)
    for node, column in zip(nodes, choice.assign(choice.best(running))[0], strict=True):
        assert node.store is not None
        assert node.store.stream is not None
        chosen = None if column is None else (node.store.stream, column)
        node.store = replace(node.store, partitioning=chosen)


class StreamCopies:
    """The ways to keep a stream's tuples for all probes of its stores, with costs.

    Sets of copies are bit masks over `candidates`.

    Args:
        nodes: all probes of the stream's stores; at least one.
        load: what one copy does, if not what the store of these nodes does.
        steps: what the nodes do then.
    """

    def __init__(
        self,
        forest: Forest,
        nodes: Sequence[Node],
        options: Options,
        load: CopyLoad | None = None,
        steps: Sequence[StepLoad] | None = None,
    ) -> None:
        store = nodes[0].store
        assert store is not None
        self.tasks = store.tasks
        routable = [known_columns(forest, node) for node in nodes]
        self.candidates = tuple(sorted({column for columns in routable for column in columns}))
        """Columns that the sender of some probe knows, sorted."""
        self._known = [self.mask(columns) for columns in routable]
        self._sent = [forest.arriving_rate(node) for node in nodes]
        pricing = options.pricing
        # What a step costs besides is the same for all copies.
        each = [pricing.step(step)[1] for step in steps or map(forest.step_load, nodes)]
        self._routed, self._by_known = sum(each), self._sums(each)
        work, memory = pricing.copy(load or forest.copy_load(store))
        self._weights = (work + pricing.memory * memory,) * len(self.candidates)
        self._inserted = load.inserted if load else forest.inserted(store)
        self._options = options

    def mask(self, columns: Iterable[str]) -> int:
        """Copies by these columns."""
        return sum(1 << self.candidates.index(column) for column in set(columns))

    def names(self, copies: int) -> tuple[str, ...]:
        """The columns of copies, sorted."""
        return tuple(self.candidates[number] for number in bits(copies))

    def best(self, running: tuple[str, ...] | None) -> int:
        """The cheapest copies.

        One task's copies are all as good: then it is the one that most probes could use if there were more.
        Copies that give no task more than `Options.task_capacity` come before all others.
        """
        count, single = len(self.candidates), self._options.single_copy
        if not count:
            return 0
        if self.tasks == 1:
            alike = (0.0,) * count
            chosen = best_copies(2, alike, 0.0, self._sums(self._sent), single=True)[1]
            single |= self._options.task_capacity is None
        else:
            costs = self._weights, self._routed, self._by_known
            chosen = best_copies(self.tasks, *costs, single=single)[1]
        kept = self.mask(running) if running and set(running) <= set(self.candidates) else chosen
        if single and kept.bit_count() > 1:
            kept = chosen

        def price(copies: int) -> tuple[float, float, int]:
            stay = 1 - self._options.stay_discount if copies == kept and running else 1.0
            return self.excess(copies), self.cost(copies) * stay, copies.bit_count()

        if self.excess(chosen) > 0:
            chosen = relieved_copies(chosen, count, price, single=single)
        return chosen if chosen == kept else min(chosen, kept, key=price)

    def cost(self, copies: int) -> float:
        """What copies and the probes of them cost, in the units of the objective."""
        by_known = self._by_known.items()
        return copies_cost(self._weights, self._routed, by_known, self.tasks - 1, copies)

    def excess(self, copies: int) -> float:
        """Tuples per second above the capacity, over one task of every copy."""
        capacity = self._options.task_capacity
        if capacity is None:
            return 0.0
        return sum(max(0.0, load - capacity * (1 + 1e-9)) for load in self.assign(copies)[1])

    def assign(self, copies: int) -> tuple[list[str | None], tuple[float, ...]]:
        """The copy that each probe goes to, and what a task of each receives per second.

        Without a capacity a probe goes to the first copy that it can be routed to. With one the
        largest probes choose first, the copy whose tasks have least to do by then.
        """
        kept: tuple[str | None, ...] = self.names(copies) or (None,)
        loads = dict.fromkeys(kept, self._inserted / self.tasks)
        limited = self._options.task_capacity is not None
        numbers = list(range(len(self._sent)))
        if limited:
            numbers.sort(key=lambda number: -self._sent[number])
        probes = []
        for number in numbers:
            usable: Sequence[str | None] = self.names(copies & self._known[number])
            ways = usable or kept
            receivers = self.tasks if usable else 1
            probes.append((self._sent[number], ways if limited else ways[:1], receivers))
        chosen = dict(zip(numbers, assign_probes(probes, loads), strict=True))
        return [chosen[number] for number in sorted(chosen)], tuple(loads.values())

    def _sums(self, sent: Sequence[float]) -> dict[int, float]:
        """By what the senders know."""
        sums: dict[int, float] = {}
        for known, each in zip(self._known, sent, strict=True):
            sums[known] = sums.get(known, 0.0) + each
        return sums


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
