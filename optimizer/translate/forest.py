"""Probe orders merged into probe trees: one tree per source of tuples, equal prefixes once.

Dissertation section 7.1.2. Two orders share a node iff everything that the node does is the
same: what arrives, which store it meets, under which predicates and windows. Relations of
the problem that differ only in window begin in the same root, because a window is checked
where tuples meet and not where they enter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from optimizer.costs import CostModel
from optimizer.expression import Expression
from optimizer.problem import ProbeOrder, Solution, Store
from optimizer.translate.model import Occurrence, Translation


@dataclass(frozen=True, slots=True)
class StoreKey:
    """A store of the topology. All base relations of one stream share theirs."""

    stream: str | None
    """Of a base store; None for a materialized intermediate result."""
    relations: frozenset[str]
    """Of a materialized intermediate result, by problem id; empty for a base store."""
    predicates: frozenset[str]
    partitioning: tuple[str, str] | None
    """Input (the stream's name for a base store) and column."""
    tasks: int

    @property
    def order(self) -> tuple[str, int, list[str], list[str], tuple[str, str], int]:
        """Sorts stores: base stores first, then results by size."""
        return (
            self.stream or "~",
            len(self.relations),
            sorted(self.relations),
            sorted(self.predicates),
            self.partitioning or ("", ""),
            self.tasks,
        )


@dataclass(slots=True, eq=False)
class Node:
    """A rule in the making: the source of a tree, or a probe."""

    start: Occurrence
    """Of the first order that came through; its window belongs to the children."""
    parent: Node | None
    store: StoreKey | None
    renames: tuple[tuple[str, str], ...]
    """(name in the store, name in this tree)."""
    bound: tuple[str, ...]
    """Canonical inputs of arriving messages, sorted; for a source its own."""
    windows: tuple[tuple[str, int | None], ...]
    """Of every input bound before or here."""
    fresh: frozenset[Expression]
    """Join predicates to check here."""
    filters: frozenset[Expression]
    """Filters of the stored side's relation."""
    known: frozenset[Expression]
    """All join predicates that hold for what leaves this node."""
    relations: frozenset[str]
    """Problem ids, of the first order, for estimates."""
    predicates: frozenset[str]
    children: dict[object, Node] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    feeds: list[StoreKey] = field(default_factory=list)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Canonical inputs of what leaves this node, sorted."""
        return tuple(sorted({*self.bound, *(name for _, name in self.renames)}))

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children.values():
            yield from child.walk()


@dataclass(slots=True)
class Forest:
    """All probe trees of a solution."""

    translation: Translation
    undecided: frozenset[str] = frozenset()
    """Streams whose stores' partitionings are still to be chosen."""
    roots: dict[object, Node] = field(default_factory=dict)
    occurrences: dict[str, Occurrence] = field(init=False)
    expressions: dict[str, Expression] = field(init=False)
    relations_of: dict[str, frozenset[str]] = field(init=False)
    """The relations that each predicate reads."""
    _model: CostModel = field(init=False)
    _rates: dict[str, float] = field(init=False)
    _stored: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.occurrences = self.translation.occurrences
        self.expressions = self.translation.predicates
        self.relations_of = {p.id: p.relations for p in self.translation.problem.predicates}
        self._model = CostModel(self.translation.problem)
        self._rates = dict(self.translation.rates)
        self._stored = dict(self.translation.stored)

    def leaving_rate(self, node: Node) -> float:
        """Tuples per second that leave a node, by the relations of the order it was built from."""
        if node.parent is None:
            return self._rates[node.start.id]
        return self._model.rate(node.start.id, node.relations, node.predicates)

    def arriving_rate(self, node: Node) -> float:
        """Tuples per second that a probe receives, before copies."""
        if node.parent is None or node.parent.parent is None:
            # Relations that differ only in window begin in one root: the same tuples for all.
            return self._rates[node.start.id]
        return self.leaving_rate(node.parent)

    def nodes(self) -> Iterator[Node]:
        for root in self.roots.values():
            yield from root.walk()

    def stored(self, key: StoreKey) -> float:
        """Expected tuples of a store."""
        if key.stream is not None:
            return self._stored[key.stream]
        return self._model.stored(key.relations, key.predicates)

    def root(self, occurrence: Occurrence) -> Node:
        """The source of new tuples that pass this relation's filter."""
        key = (occurrence.input, occurrence.filter)
        if key not in self.roots:
            self.roots[key] = Node(
                start=occurrence,
                parent=None,
                store=None,
                renames=(),
                bound=(occurrence.input,),
                windows=((occurrence.input, occurrence.window_us),),
                fresh=frozenset(),
                filters=frozenset(),
                known=frozenset(),
                relations=frozenset({occurrence.id}),
                predicates=frozenset(),
            )
        return self.roots[key]


UNDECIDED = "*"
"""Column of base stores whose partitioning `copies.settle` chooses."""


def grow(solution: Solution, translation: Translation) -> Forest:
    """The probe trees of a solution; every order ends in its queries' and feeds' leaves.

    Materialized results that nothing probes are left out, and so are the steps that only fed
    them: a heuristic may leave such remains, and the topology should not work for nothing.

    Raises:
        ValueError: an order does not cover what it claims to answer or to feed, or uses a
            materialized result that enforces more than its target does.
    """
    forest = Forest(translation, _shared_streams(translation))
    queries = {query.id: query for query in translation.problem.queries}
    for order in solution.orders:
        for name in order.queries:
            leaf = _plant(forest, order, queries[name].relations, queries[name].predicates, f"query {name}")
            if name not in leaf.queries:
                leaf.queries.append(name)
        for fed in order.feeds:
            leaf = _plant(forest, order, fed.relations, fed.predicates, "a materialized result")
            key = store_key(fed, forest.occurrences)
            if key not in leaf.feeds:
                leaf.feeds.append(key)
    for terms in translation.queries:
        if len(terms.variants) == 1:
            forest.root(terms.variants[0].served_by).queries.append(terms.query.name)
    while _prune(forest):
        pass
    return forest


def store_key(
    store: Store, occurrences: Mapping[str, Occurrence], undecided: frozenset[str] = frozenset()
) -> StoreKey:
    """The topology's store for an installed copy of a solution; `undecided` are streams."""
    attribute = store.partitioning
    if store.is_base:
        stream = occurrences[next(iter(store.relations))].stream
        column = (stream, attribute.name) if attribute else None
        if stream in undecided:
            column = (stream, UNDECIDED)
        return StoreKey(stream, frozenset(), frozenset(), column, store.tasks)
    column = (occurrences[attribute.relation].input, attribute.name) if attribute else None
    return StoreKey(None, store.relations, store.predicates, column, store.tasks)


def _plant(
    forest: Forest, order: ProbeOrder, relations: frozenset[str], predicates: frozenset[str], target: str
) -> Node:
    start = forest.occurrences[order.start]
    node = forest.root(start)
    covered = frozenset({order.start})
    windows: dict[str, int | None] = {start.input: start.window_us}
    held: frozenset[str] = frozenset()
    for step in order.steps:
        if not step.store.predicates <= predicates:
            raise ValueError(f"a step of {target} probes a result that enforces other predicates")
        covered |= step.store.relations
        now = frozenset(p for p in predicates if forest.relations_of[p] <= covered)
        for relation in step.store.relations:
            windows[forest.occurrences[relation].input] = forest.occurrences[relation].window_us
        node = _step(
            forest,
            node,
            start,
            step.store,
            fresh=now - held - step.store.predicates,
            now=now,
            reached=covered,
            windows=windows,
        )
        held = now
    if covered != relations or held != predicates:
        raise ValueError(f"an order from {order.start} does not cover {target}")
    return node


def _step(
    forest: Forest,
    node: Node,
    start: Occurrence,
    store: Store,
    *,
    fresh: frozenset[str],
    now: frozenset[str],
    reached: frozenset[str],
    windows: Mapping[str, int | None],
) -> Node:
    key = store_key(store, forest.occurrences, forest.undecided)
    held = sorted((forest.occurrences[r] for r in store.relations), key=lambda o: o.input)
    renames = tuple((o.stream if store.is_base else o.input, o.input) for o in held)
    passed = held[0].filter if store.is_base else None
    filters = frozenset() if passed is None else frozenset({passed})
    checks = frozenset(forest.expressions[p] for p in fresh)
    ordered = tuple(sorted(windows.items()))
    identity = (key, renames, checks, filters, ordered)
    if identity not in node.children:
        node.children[identity] = Node(
            start=start,
            parent=node,
            store=key,
            renames=renames,
            bound=node.inputs,
            windows=ordered,
            fresh=checks,
            filters=filters,
            known=frozenset(forest.expressions[p] for p in now),
            relations=reached,
            predicates=now,
        )
    return node.children[identity]


def _shared_streams(translation: Translation) -> frozenset[str]:
    """Streams whose store serves several relations of the problem, or lies in one task.

    A problem chooses partitionings by relation, as if each had its own store. Where they share
    one, or where nothing depends on it, `copies.settle` chooses for all users together.
    """
    relations = translation.problem.relations
    users = Counter(relation.stream for relation in relations)
    return frozenset(r.stream for r in relations if users[r.stream] > 1 or r.tasks == 1)


def _prune(forest: Forest) -> bool:
    """Drop feeds that nobody probes and nodes without purpose; True if something was dropped."""
    probed = {node.store for node in forest.nodes()}
    dropped = False
    for node in list(forest.nodes()):
        useful = [key for key in node.feeds if key in probed]
        dropped |= len(useful) < len(node.feeds)
        node.feeds = useful
    return _prune_branches(forest.roots) or dropped


def _prune_branches(children: dict[object, Node]) -> bool:
    dropped = False
    for identity, child in list(children.items()):
        dropped |= _prune_branches(child.children)
        if not (child.children or child.queries or child.feeds):
            del children[identity]
            dropped = True
    return dropped
