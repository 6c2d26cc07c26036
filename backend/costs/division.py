"""Who a topology's measured use falls on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import DueRule, SourceRule, StoreRule, received_on
from optimizer.physical.usage import users_of


@dataclass(frozen=True, slots=True)
class Use:
    """Processor seconds per second of the clock, and bytes of stores.

    >>> Use(0.5, 100.0) + Use(0.25, 20.0)
    Use(cores=0.75, bytes=120.0)
    """

    cores: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Use) -> Use:
        return Use(self.cores + other.cores, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class Measured:
    """What an epoch took, and what its stores held at the end."""

    cores: Mapping[str, float]
    """By store, and by rule that receives tuples and stores none."""
    total_cores: float
    """Of all processes of the job, whatever for."""
    bytes: Mapping[str, int]
    """By store."""


@dataclass(frozen=True, slots=True)
class Division:
    """The same whole, divided twice."""

    queries: dict[str, Use]
    """Of those that are named."""
    streams: dict[str, Use]
    """Of those that come from outside."""
    total: Use


def divided(graph: PhysicalGraph, measured: Measured, named: Collection[str]) -> Division:
    """Divide what was measured among a plan's queries, and among its streams.

    Each store and step falls evenly on the queries that need it. What belongs to none (batches as such,
    reading and writing, Spark) is needed as soon as there is any query, and falls evenly on all. Both are
    Shapley values: what a query adds, on average over all orders in which queries could have come. Since the
    value of a sum of games is the sum of their values, one pass over the parts gives it, where its definition
    asks for every subset of the queries.

    Among streams, a store falls on those that its tuples are of, a step on those whose tuples arrive there.

    Args:
        graph: the plan that was measured. What is measured of parts that it has not belongs to none.
        measured: of one epoch.
        named: the queries that somebody knows by name; what others need, which are parts of theirs, they pay.

    Returns: parts that add up to the whole, but for rounding. The whole is no less than all parts.

    Source: Shapley, A value for n-person games (1953); its axioms of additivity and symmetry.
    """
    users, origins, payers = users_of(graph), _origins(graph), _payers(graph, named)
    queries = {name: Use() for name in sorted(frozenset[str]().union(*payers.values()))}
    streams = {stream.name: Use() for stream in graph.sources}
    of_parts = Use()
    for part in sorted(origins.keys() & (measured.cores.keys() | measured.bytes.keys())):
        needing = users.of(part)
        paying = frozenset[str]().union(*(payers[query] for query in needing))
        if not paying:
            continue
        use = Use(measured.cores.get(part, 0.0), float(measured.bytes.get(part, 0)))
        of_parts += use
        _share(queries, use, paying)
        # States of groups are of no stream: of what their queries read.
        _share(streams, use, origins[part] or frozenset[str]().union(*map(graph.read_by, needing)))
    cores, held = measured.total_cores, float(sum(measured.bytes.values()))
    total = Use(max(cores, of_parts.cores), max(held, of_parts.bytes))
    rest = Use(total.cores - of_parts.cores, total.bytes - of_parts.bytes)
    _share(queries, rest, queries.keys())
    _share(streams, rest, streams.keys())
    return Division(queries, streams, total)


def _payers(graph: PhysicalGraph, named: Collection[str]) -> dict[str, frozenset[str]]:
    """By query of the plan, who pays for it: itself, or, of a part of others, those."""
    readers: dict[str, set[str]] = {}
    for query in graph.queries:
        for item in query.inputs:
            readers.setdefault(item.stream, set()).add(query.name)

    def of(name: str) -> frozenset[str]:
        if name in named:
            return frozenset({name})
        return frozenset[str]().union(*(of(reader) for reader in readers.get(name, ())))

    return {query.name: of(query.name) for query in graph.queries}


def _share(found: dict[str, Use], use: Use, among: Iterable[str]) -> None:
    names = sorted(among)
    for name in names:
        found[name] += Use(use.cores / len(names), use.bytes / len(names))


def _origins(graph: PhysicalGraph) -> dict[str, frozenset[str]]:
    """By store and by rule, the streams from outside whose tuples it has to do with."""
    outside = {stream.name: frozenset({stream.name}) for stream in graph.sources}
    outside |= {stream.name: graph.read_by(stream.name) for stream in graph.derived}
    nothing = frozenset[str]()

    def of(streams: Iterable[str]) -> frozenset[str]:
        # Groups are stores, too, of nothing that is a stream.
        return nothing.union(*(outside.get(stream, nothing) for stream in streams))

    found = {store.id: of(held.stream for held in store.inputs) for store in graph.stores}
    sent: dict[str, frozenset[str]] = {}
    # Rules stand in any order; each round goes one level deeper.
    while True:
        before = dict(found)
        for rule in graph.rules:
            if isinstance(rule, StoreRule):
                found[rule.store] |= sent.get(rule.edge, nothing)
                continue
            if isinstance(rule, SourceRule):
                came = of([rule.stream])
            elif isinstance(rule, DueRule):
                came = of(stream for _, stream in rule.inputs)
            else:
                came = nothing.union(*(sent.get(edge, nothing) for edge in received_on(rule)))
            found[rule.id] = found.get(rule.id, nothing) | came
            for edge in rule.out:
                sent[edge] = sent.get(edge, nothing) | found[rule.id]
        if found == before:
            return found
