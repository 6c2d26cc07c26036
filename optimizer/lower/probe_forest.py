"""Probe trees: one per source of tuples, one node per step.

Relations of the problem that differ only in window begin in the same root, because a window is
checked where tuples meet and not where they enter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from optimizer.algebra.expression import Expression
from optimizer.formulate.model import Occurrence, Translation
from optimizer.logical.window import Window
from optimizer.search.cost_model import CostModel
from optimizer.search.pricing import CopyLoad, StepLoad


@dataclass(frozen=True, slots=True)
class StoreKey:
    """A store of the topology."""

    stream: str | None
    """Of a base store; None for a materialized intermediate result."""
    relations: frozenset[str]
    """Of a materialized intermediate result, by problem id; empty for a base store."""
    predicates: frozenset[str]
    partitioning: tuple[str, str] | None
    """Input (the stream's name for a base store) and column."""
    tasks: int
    kept_in: str = ""
    """The name of a base store (`optimizer.formulate.base_stores`); relations share stores."""

    @property
    def order(self) -> tuple[str, int, list[str], list[str], tuple[str, str], int, str]:
        """Sorts stores: base stores first, then results by size."""
        return (
            self.stream or "~",
            len(self.relations),
            sorted(self.relations),
            sorted(self.predicates),
            self.partitioning or ("", ""),
            self.tasks,
            self.kept_in,
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
    windows: tuple[tuple[str, Window], ...]
    """Of every input bound before or here."""
    fresh: frozenset[Expression]
    """Join predicates to check here."""
    filters: frozenset[Expression]
    """Filters of the stored side's relation."""
    joined_on: frozenset[Expression]
    """All join predicates that hold for what leaves this node."""
    relations: frozenset[str]
    """Problem ids, of the first order, for estimates."""
    predicates: frozenset[str]
    residuals: frozenset[Expression] = frozenset()
    """Own filters of the queries behind this node, checked here: see `narrow`."""
    applied: frozenset[Expression] = frozenset()
    """All such filters that hold for what leaves this node."""
    share: float = 1.0
    """What own filters and windows leave of the combinations of `relations`."""
    children: dict[object, Node] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    feeds: list[StoreKey] = field(default_factory=list)

    @property
    def identity(self) -> object:
        """Equal for nodes that do the same with the same messages."""
        return self.store, self.renames, self.fresh, self.filters, self.residuals, self.windows

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
    """Base stores, by name, whose partitionings are still to be chosen."""
    roots: dict[object, Node] = field(default_factory=dict)
    occurrences: dict[str, Occurrence] = field(init=False)
    expressions: dict[str, Expression] = field(init=False)
    kept_in: dict[str, str] = field(init=False)
    """The base store that keeps each relation."""
    relations_of: dict[str, frozenset[str]] = field(init=False)
    """The relations that each predicate reads."""
    _model: CostModel = field(init=False)
    _rates: dict[str, float] = field(init=False)
    _stored: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.occurrences = self.translation.occurrences
        self.expressions = self.translation.predicates
        self.kept_in = {r.id: r.kept_in for r in self.translation.problem.relations}
        self.relations_of = {p.id: p.relations for p in self.translation.problem.predicates}
        self._model = CostModel(self.translation.problem)
        self._rates = dict(self.translation.rates)
        self._stored = dict(self.translation.stored)

    def leaving_rate(self, node: Node) -> float:
        """Tuples per second that leave a node, from the relations of its probe order."""
        if node.parent is None:
            return self._rates[node.start.id]
        return self._model.rate(node.start.id, node.relations, node.predicates) * node.share

    def arriving_rate(self, node: Node) -> float:
        """Tuples per second that a probe receives, before copies."""
        if node.parent is None or node.parent.parent is None:
            # Relations that differ only in window begin in one root: the same tuples for all.
            return self._rates[node.start.id]
        return self.leaving_rate(node.parent)

    def evaluation(self, node: Node) -> float:
        """Cost per second of the user functions that a probe calls, in probe tuples."""
        if node.parent is None or node.store is None:
            return 0.0
        fresh = node.predicates - node.parent.predicates - node.store.predicates
        return self._model.evaluation(node.start.id, node.relations, node.predicates, fresh) * node.share

    def found(self, node: Node) -> frozenset[str]:
        """The relations whose combinations a probe finds in its store."""
        inside = {name for _, name in node.renames}
        # Relations that differ only in window begin in one root, which knows the first one's alone.
        return frozenset(r for r in node.relations if self.occurrences[r].input in inside)

    def probed(self, node: Node) -> str:
        """The relation that a probe finds in a base store."""
        (relation,) = self.found(node)
        return relation

    def step_load(self, node: Node, inserted: float | None = None) -> StepLoad:
        """What a probe does, with what own filters and windows leave of it.

        Args:
            node: a probe.
            inserted: tuples per second that come into its store, if others than those that do.
        """
        assert node.parent is not None
        assert node.store is not None
        model = self._model
        fresh = node.predicates - node.parent.predicates - node.store.predicates
        relations = self.found(node)
        stored = (relations, node.store.predicates)
        if inserted is None:
            inserted = model.inserted(*stored)
        return StepLoad(
            arriving=self.arriving_rate(node),
            made=self.leaving_rate(node),
            equal=model.equal(fresh),
            evaluated=self.evaluation(node),
            inserted=inserted,
            held_s=model.held_s(*stored),
            tasks=node.store.tasks,
            checks=bool(node.residuals) or model.checks(fresh, relations, inserted),
            arriving_bytes=model.bytes(node.relations - relations, node.parent.predicates),
            made_bytes=model.bytes(node.relations, node.predicates),
        )

    def copy_load(self, key: StoreKey) -> CopyLoad:
        """What one copy of a store does."""
        if key.stream is not None:
            return self.translation.copy_load(key.kept_in)
        return self._model.copy_load(key.relations, key.predicates)

    def nodes(self) -> Iterator[Node]:
        for root in self.roots.values():
            yield from root.walk()

    def stored(self, key: StoreKey) -> float:
        """Expected tuples of a store."""
        if key.stream is not None:
            return self._stored[key.kept_in]
        return self._model.stored(key.relations, key.predicates)

    def inserted(self, key: StoreKey) -> float:
        """Tuples per second that one copy of a base store takes in.

        Of a result, what feeds it says so.
        """
        return 0.0 if key.stream is None else self.translation.problem.stored_rates[key.kept_in]

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
                windows=((occurrence.input, occurrence.window),),
                fresh=frozenset(),
                filters=frozenset(),
                joined_on=frozenset(),
                relations=frozenset({occurrence.id}),
                predicates=frozenset(),
            )
        return self.roots[key]
