"""Which columns travel and which are stored: exactly what something later reads.

A message carries what the receiving rule and everything behind it needs of the inputs that
are already bound; a materialized result keeps what any of its probes needs. Event times are
always among them, because windows and eviction need them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from optimizer.algebra.expression import Column, Expression, columns_of
from optimizer.algebra.types import ColumnType
from optimizer.formulate.model import QueryTerms, any_of, over
from optimizer.logical.canonical_inputs import stream_of
from optimizer.lower.probe_forest import Forest, Node, StoreKey
from optimizer.physical.equalities import equality_class
from optimizer.physical.rules import WindowBound


@dataclass(slots=True)
class Columns:
    """Column needs of a forest."""

    forest: Forest
    retain_everything: bool = field(init=False)
    _terms: dict[str, QueryTerms] = field(init=False)
    _probes: dict[StoreKey, list[Node]] = field(init=False)
    _leaving: dict[int, frozenset[Column]] = field(init=False, default_factory=dict)
    _stored: dict[StoreKey, tuple[Column, ...]] = field(init=False, default_factory=dict)
    _filters: dict[str, Expression | None] = field(init=False, default_factory=dict)
    _types: dict[tuple[str, str], ColumnType] = field(init=False)
    _keys: dict[tuple[int, StoreKey], Column | None] = field(init=False, default_factory=dict)
    _event_times: dict[str, str] = field(init=False)
    _streams: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        translation = self.forest.translation
        self.retain_everything = translation.retain == "everything"
        self._terms = {terms.query.name: terms for terms in translation.queries}
        self._types = {(s.name, name): kind for s in translation.streams for name, kind in s.columns}
        self._streams = {relation: one.stream for relation, one in self.forest.occurrences.items()}
        self._event_times = {s.name: s.event_time for s in translation.streams}
        probes = defaultdict(list)
        for node in self.forest.nodes():
            if node.store is not None:
                probes[node.store].append(node)
        self._probes = dict(probes)

    def column(self, name: str, column: str) -> Column:
        """A typed column of a canonical input, or of a store's input."""
        stream = stream_of(name)
        return Column(name, column, self._types[stream, column])

    def event_time(self, name: str) -> Column:
        return self.column(name, self._event_times[stream_of(name)])

    def store_filter(self, kept_in: str) -> Expression | None:
        """A base store's filter, which passes what the filter of any relation in it does.

        It depends on the queries and on which of them share the store, not on orders: a change of plan
        finds the stored tuples that it needs, in one store or in several.
        """
        if self.retain_everything:
            return None
        if kept_in not in self._filters:
            stored = [relation for relation, store in self.forest.kept_in.items() if store == kept_in]
            self._filters[kept_in] = _union_filter(self.forest, stored)
        return self._filters[kept_in]

    def checks(self, node: Node) -> tuple[Expression, ...]:
        """Filters of the stored side that the store itself does not guarantee."""
        if node.store is None or node.store.stream is None:
            return ()
        kept = self.store_filter(node.store.kept_in)
        name = node.renames[0][1]
        return tuple(f for f in node.filters if kept is None or rename(kept, node.store.stream, name) != f)

    def leaving(self, node: Node) -> frozenset[Column]:
        """Columns that something behind this node reads."""
        if id(node) not in self._leaving:
            needed: set[Column] = set()
            for name in node.queries:
                needed |= self._emitted(self._terms[name], node)
            for fed in node.feeds:
                needed |= set(self.stored(fed))
            for child in node.children.values():
                needed |= self.arriving(child)
            self._leaving[id(node)] = frozenset(needed)
        return self._leaving[id(node)]

    def arriving(self, node: Node) -> frozenset[Column]:
        """Columns of the messages that this probe receives."""
        bound = frozenset(node.bound)
        needed = {column for column in self._read(node) if column.input in bound}
        needed |= {self.event_time(name) for name in bound}
        key = self.key(node)
        return frozenset(needed | ({key} if key else set()))

    def key(self, node: Node) -> Column | None:
        """The sender's column that says which task of the store holds partners, if any.

        It is a column of a bound input that equals the store's partitioning column under
        the closure of the equalities that hold once this step is done. All of them are
        conditions of every query behind this node, so no partner can lie elsewhere.
        """
        if node.store is None or node.store.partitioning is None:
            return None
        # By store too: `store_layouts.choose_store_copies` gives a node another partitioning.
        asked = (id(node), node.store)
        if asked not in self._keys:
            self._keys[asked] = self._find_key(node, *node.store.partitioning)
        return self._keys[asked]

    def _find_key(self, node: Node, name: str, column: str) -> Column | None:
        target = self.column(dict(node.renames)[name], column)
        equal = equality_class(target, node.joined_on)
        candidates = sorted(
            (c for c in equal if c.input in node.bound),
            key=lambda c: (c.type != target.type, c.input, c.name),
        )
        return candidates[0] if candidates else None

    def stored(self, key: StoreKey) -> tuple[Column, ...]:
        """Columns of a store under its own input names, sorted."""
        if key not in self._stored:
            self._stored[key] = tuple(sorted(self._of_store(key), key=lambda c: (c.input, c.name)))
        return self._stored[key]

    def _of_store(self, key: StoreKey) -> set[Column]:
        translation = self.forest.translation
        if key.stream is not None:
            stream = translation.stream(key.stream)
            if self.retain_everything:
                return {Column(stream.name, name, kind) for name, kind in stream.columns}
            needed = {Column(stream.name, c.name, c.type) for c in self._of_stream(stream.name)}
            return needed | {self.event_time(stream.name)} | self._partitioning(key)
        needed = {self.event_time(self.forest.occurrences[r].input) for r in key.relations}
        for node in self._probes.get(key, ()):
            names = {name for _, name in node.renames}
            needed |= {column for column in self._read(node) if column.input in names}
        return needed | self._partitioning(key)

    def _partitioning(self, key: StoreKey) -> set[Column]:
        return {self.column(*key.partitioning)} if key.partitioning else set()

    def _of_stream(self, stream: str) -> Iterable[Column]:
        """Columns of any occurrence of the stream that some join reads, whatever the plan.

        A plan that divides the stream among stores in another way fills them from these.
        """
        kept = _union_filter(self.forest, [r for r in self.forest.kept_in if self._streams[r] == stream])
        for terms in self._terms.values():
            if len(terms.variants) == 1:
                continue
            inside = [v for v in terms.variants if v.own.stream == stream]
            names = {v.own.input for v in inside}
            read: list[Expression] = [expression for _, expression in terms.predicates]
            read += terms.residuals
            read += [expression for _, expression in terms.outputs]
            for variant in inside:
                own = variant.served_by.filter
                if own is not None:
                    differs = kept is None or rename(kept, stream, variant.own.input) != own
                    read += [own] if differs else []
            yield from (c for e in read for c in columns_of(e) if c.input in names)

    def _read(self, node: Node) -> set[Column]:
        read = set(self.leaving(node))
        for expression in (*node.fresh, *node.residuals, *self.checks(node)):
            read |= columns_of(expression)
        return read

    def _emitted(self, terms: QueryTerms, node: Node) -> set[Column]:
        read = {column for _, expression in terms.outputs for column in columns_of(expression)}
        residuals, windows = left_over(terms, node)
        for expression in residuals:
            read |= columns_of(expression)
        return read | {self.event_time(bound.input) for bound in windows}


def left_over(terms: QueryTerms, node: Node) -> tuple[tuple[Expression, ...], tuple[WindowBound, ...]]:
    """The query's filters and windows that its leaf has to check, as no step did."""
    residuals = tuple(residual for residual in terms.residuals if residual not in node.applied)
    return residuals, () if node.windows == terms.own_windows else terms.windows


def rename(expression: Expression, old: str, new: str) -> Expression:
    """The canonical form of an expression over one input under another name of it."""
    return over(expression, {old: new})


def _union_filter(forest: Forest, relations: Iterable[str]) -> Expression | None:
    filters = set()
    for relation in map(forest.occurrences.__getitem__, relations):
        if relation.filter is None:
            return None
        filters.add(rename(relation.filter, relation.input, relation.stream))
    return any_of(filters) if filters else None
