"""Base stores in which partners of what waits are looked for.

Stores that the plan has serve, if they hold what is needed; else there is one for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Call, Column, Expression
from optimizer.algebra.normalize import conjuncts
from optimizer.formulate.model import Retain, all_of, over
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Absence
from optimizer.logical.window import UNBOUNDED, Sliding, Window, union
from optimizer.lower.to_graph import graph_stream
from optimizer.physical.equalities import hashes_agree, split_equality
from optimizer.physical.graph import Edge, EdgeKind, GraphStore, GraphStream, Grid, Grids, Slices, StoredInput
from optimizer.physical.rules import Equality, Rule, SourceRule, StoreRule


@dataclass(frozen=True, slots=True)
class PartnerStores:
    """Finds stores in the parts of a graph, and adds to them what is missing."""

    stores: dict[str, GraphStore]
    edges: dict[str, Edge]
    rules: dict[str, Rule]
    streams: dict[str, GraphStream]
    """The parts, by id or name: written to."""
    catalog: Catalog
    retain: Retain
    tasks: int

    def store(
        self,
        stream: str,
        alias: str,
        own: Sequence[Expression],
        read: Iterable[Column],
        back_us: int | None,
        key: Column | None,
    ) -> GraphStore:
        """A store with the tuples of a stream that pass `own`, as long as they are needed."""
        wanted = frozenset(over(p, {alias: stream}) for p in own)
        retention = UNBOUNDED if back_us is None else Sliding(back_us)
        columns = {column.name for column in read}
        if self.retain == "everything":
            columns |= {name for name, _ in self.catalog[stream].columns}
        fitting = self._fitting(stream, wanted) or [self._new_store(stream, wanted, key)]
        # All of them, whichever is asked: a plan that asks another one finds there what this one kept.
        grown = [self._grown(store, columns, retention) for store in fitting]

        def rank(store: GraphStore) -> tuple[bool, bool, str]:
            kept_by = store.partitioning
            by_key = isinstance(kept_by, Column) and key is not None and kept_by.name == key.name
            return not by_key, not isinstance(kept_by, Slices | Grid | Grids), store.id

        return min(grown, key=rank)

    def _grown(self, store: GraphStore, columns: Iterable[str], retention: Window) -> GraphStore:
        """The store with further columns, kept for longer."""
        (stored,) = store.inputs
        together = tuple(sorted({*stored.columns, *columns}))
        grown = replace(
            store,
            inputs=(replace(stored, columns=together),),
            retention=(union((store.retention[0], retention)),),
        )
        self.stores[grown.id] = grown
        types = dict(self.catalog[stored.stream].columns)
        carried = in_order(Column(stored.input, name, types[name]) for name in together)
        for rule in self.rules.values():
            if isinstance(rule, StoreRule) and rule.store == grown.id:
                self.edges[rule.edge] = replace(self.edges[rule.edge], columns=carried)
        return grown

    def _fitting(self, stream: str, wanted: frozenset[Expression]) -> list[GraphStore]:
        """The base stores that have every tuple that passes."""
        fitting = {}
        for rule in self.rules.values():
            if not isinstance(rule, StoreRule) or not self.stores[rule.store].is_base:
                continue
            origin = self.rules[self.edges[rule.edge].origin]
            if (
                isinstance(origin, SourceRule)
                and origin.stream == stream
                and rule.edge in origin.out
                and _passes(origin.filter, wanted)
            ):
                fitting[rule.store] = self.stores[rule.store]
        return list(fitting.values())

    def _new_store(self, stream: str, wanted: frozenset[Expression], key: Column | None) -> GraphStore:
        if self.retain == "everything":
            wanted = frozenset()
        declared = self.catalog[stream]
        self.streams.setdefault(stream, graph_stream(declared))
        kept = all_of(wanted) if wanted else None
        by = None if key is None else Column(stream, key.name, key.type)
        versions = [declared.key] if declared.is_table else []
        store = GraphStore(
            id=digest("S", "partners", stream, kept, by, self.tasks_of(stream), *versions),
            label=stream if by is None else f"{stream}[{by.name}]",
            inputs=(StoredInput(stream, stream, (declared.event_time,)),),
            partitioning=by,
            tasks=self.tasks_of(stream),
            retention=(Sliding(0),),
            key=declared.key,
        )
        identity = digest("R", stream, stream, kept)
        edge = Edge(
            id=digest("E", "store", identity, store.id),
            origin=identity,
            target=store.id,
            kind="shuffle" if by is None else "group_by",
            key=by,
            level=1,
            columns=(),
        )
        self.stores[store.id], self.edges[edge.id] = store, edge
        rule = self.rules.get(identity, SourceRule(identity, stream, stream, kept, ()))
        assert isinstance(rule, SourceRule)
        self.rules[identity] = replace(rule, out=tuple(sorted({*rule.out, edge.id})))
        put = StoreRule(digest("K", edge.id), edge.id, store.id)
        self.rules[put.id] = put
        return store

    def tasks_of(self, stream: str) -> int:
        there = [s.tasks for s in self.stores.values() if s.is_base and s.inputs[0].stream == stream]
        return max(there, default=self.catalog[stream].parallelism or self.tasks)


def joined_on(absence: Absence, bound: Sequence[str], alias: str) -> list[Column]:
    """Columns of an alias that are equal to columns of bound ones."""
    split = (split_equality(p, frozenset(bound), frozenset({alias})) for p in absence.predicates)
    return [
        one.stored
        for one in split
        if one is not None
        and hashes_agree(one.probe.type, one.stored.type)
        and isinstance(one.stored, Column)
        and isinstance(one.probe, Column)
    ]


def probing(store: GraphStore, equalities: Sequence[Equality]) -> tuple[EdgeKind, Column | None]:
    """Kind and key of an edge along which a store is probed."""
    match store.partitioning:
        case Slices():
            return "slices", None
        case Grid() | Grids():
            return "grid", None
        case Column(name=name):
            for one in equalities:
                stored, probe = one.stored, one.probe
                if isinstance(stored, Column) and stored.name == name and isinstance(probe, Column):
                    return "group_by", probe
    return "all", None


def in_order(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(sorted(columns, key=lambda column: (column.input, column.name)))


def _passes(kept: Expression | None, wanted: frozenset[Expression]) -> bool:
    """True if a filter lets pass what the wanted conditions do, as far as texts tell."""
    if kept is None or frozenset(conjuncts(kept)) <= wanted:
        return True
    alternatives = kept.arguments if isinstance(kept, Call) and kept.function == "or" else ()
    return any(frozenset(conjuncts(alternative)) <= wanted for alternative in alternatives)
