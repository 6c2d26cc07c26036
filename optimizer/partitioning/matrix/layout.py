"""Stores of a graph laid out as grids, whatever they were partitioned by before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from optimizer.algebra.digest import digest
from optimizer.partitioning.matrix.shape import Arrangement
from optimizer.physical.fanout import fanout
from optimizer.physical.graph import Edge, Estimate, GraphStore, Grid, Grids, PhysicalGraph
from optimizer.physical.rules import (
    AggregateRule,
    DueRule,
    ProbeRule,
    Rule,
    SettleRule,
    SourceRule,
    StoreRule,
    received_on,
)


def with_groups(graph: PhysicalGraph, groups: Mapping[str, tuple[int, ...]]) -> PhysicalGraph:
    """The same plan with other stores.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> from optimizer.adaptation import with_tasks
    >>> graph = plan([query], with_tasks(catalog, {"r": 4})).graph
    >>> of_r = graph.stores[0].id
    >>> with_groups(graph, {of_r: (2,)}).stores[0].partitioning
    Grid(groups=2, kind='grid')

    Args:
        graph: a valid graph.
        groups: by store id the rows of the one grid of its tasks, or of each of its grids
            (`optimizer.physical.task_grid`). One row is a store whose tuples lie anywhere, once, so that a
            probe asks all tasks.

    Returns:
        A graph whose probe trees, levels and columns are those of `graph`. Base stores of one stream
        that become the same grid become one store. A base store's new id tells its content and its
        layout, not what it was before: from equal layouts a switch of plans has nothing to move.

    Raises:
        ValueError: the tasks of a store cannot make up these rows.
    """
    if not groups:
        return graph
    laid = {s.id: _laid_out(graph, s, groups[s.id]) if s.id in groups else s for s in graph.stores}
    store_edges = {rule.edge for rule in graph.rules if isinstance(rule, StoreRule)}
    edges: list[Edge] = []
    fed: set[tuple[str, str]] = set()
    for edge in graph.edges:
        store = laid[edge.target]
        keeps = edge.id in store_edges
        if keeps and (edge.origin, store.id) in fed:
            continue
        if keeps:
            fed.add((edge.origin, store.id))
        edges.append(_led_to(edge, store, keeps) if edge.target in groups else edge)
    kept = frozenset(edge.id for edge in edges)
    rules = tuple(
        _renamed(rule, laid, kept)
        for rule in graph.rules
        if isinstance(rule, SourceRule | DueRule) or rule.edge in kept
    )
    stores = {store.id: store for store in reversed([laid[s.id] for s in graph.stores])}
    made = replace(
        graph,
        stores=tuple(sorted(stores.values(), key=lambda s: (len(s.inputs), s.label, s.id))),
        edges=tuple(edges),
        rules=rules,
        holds=tuple(hold.among({old: store.id for old, store in laid.items()}) for hold in graph.holds),
    )
    return replace(made, estimates=_estimates(graph, made, laid))


def laid_out_ids(graph: PhysicalGraph, groups: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The id that each store of `graph` has in `with_groups(graph, groups)`.

    Several stores of one stream may have become one.
    """
    return {s.id: _laid_out(graph, s, groups[s.id]).id if s.id in groups else s.id for s in graph.stores}


def rows_of(store: GraphStore) -> tuple[int, ...] | None:
    """Rows of each grid of a store with tuples at random; None if content places them."""
    at_random = store.partitioning is None or isinstance(store.partitioning, Grid | Grids)
    return tuple(grid.rows for grid in store.grids) if at_random else None


def _laid_out(graph: PhysicalGraph, store: GraphStore, rows: tuple[int, ...]) -> GraphStore:
    try:
        arrangement = Arrangement.of(store.tasks, rows)
    except ValueError as error:
        raise ValueError(f"{store.label}: {error}") from error
    content: object = store.id
    if store.is_base:
        fed = {rule.edge for rule in graph.rules if isinstance(rule, StoreRule) and rule.store == store.id}
        content = sorted(edge.origin for edge in graph.edges if edge.id in fed)
    name = "*".join(stored.input for stored in store.inputs)
    label = name if rows == (1,) else f"{name}[{arrangement}]"
    identity = digest("S", "grid", content, store.inputs, store.tasks, rows[0] if len(rows) == 1 else rows)
    return replace(store, id=identity, label=label, partitioning=_partitioning(rows))


def _partitioning(rows: tuple[int, ...]) -> Grid | Grids | None:
    if rows == (1,):
        return None
    return Grid(rows[0]) if len(rows) == 1 else Grids(rows)


def _led_to(edge: Edge, store: GraphStore, keeps: bool) -> Edge:
    if store.partitioning is None:
        return replace(edge, target=store.id, kind="shuffle" if keeps else "all", key=None)
    return replace(edge, target=store.id, kind="grid", key=None)


def _renamed(rule: Rule, laid: Mapping[str, GraphStore], kept: frozenset[str]) -> Rule:
    if isinstance(rule, SettleRule | AggregateRule):
        return rule
    if isinstance(rule, StoreRule):
        return replace(rule, store=laid[rule.store].id)
    out = tuple(edge for edge in rule.out if edge in kept)
    if isinstance(rule, ProbeRule):
        return replace(rule, store=laid[rule.store].id, out=out)
    return replace(rule, out=out)


def _estimates(
    before: PhysicalGraph, after: PhysicalGraph, laid: Mapping[str, GraphStore]
) -> tuple[Estimate, ...]:
    """Rates stay; copies count in what is stored and sent."""
    held = {store.id: store for store in before.stores}
    was, now = copies_sent(before), copies_sent(after)
    rates = {one.id: one.tuples_per_second or 0.0 for one in before.estimates}
    edges = {rule.id: rule.edge for rule in before.rules if isinstance(rule, ProbeRule)}
    there = {edge.id for edge in after.edges} | {rule.id for rule in after.rules}
    found: dict[str, Estimate] = {}
    for one in before.estimates:
        if one.id in laid:
            store = laid[one.id]
            tuples = None if one.tuples is None else one.tuples * store.copies / held[one.id].copies
            found.setdefault(store.id, replace(one, id=store.id, tuples=tuples))
        elif one.id in there:
            edge = edges.get(one.id, one.id)
            more = (now.get(edge, 0.0) - was.get(edge, 0.0)) * rates.get(edge, 0.0)
            found[one.id] = one if one.cost is None or not more else replace(one, cost=one.cost + more)
    return tuple(found[identity] for identity in sorted(found))


def copies_sent(graph: PhysicalGraph) -> dict[str, float]:
    """How many tasks a tuple on each edge goes to."""
    stores = {store.id: store for store in graph.stores}
    receivers = {edge: rule for rule in graph.rules for edge in received_on(rule)}
    return {e.id: fanout(e, stores[e.target], receivers[e.id]) for e in graph.edges}
