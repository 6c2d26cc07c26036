"""An explanation as nodes and edges, for whatever draws graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from optimizer.explain.document import ExplainedStep, ExplainedTree, Explanation

NodeKind = Literal["source", "store", "probe", "query"]
EdgeKind = Literal["sends", "keeps", "searches", "answers"]


@dataclass(frozen=True, slots=True)
class DrawnNode:
    id: str
    """The plan's own id; a query's is its name behind `query:`."""
    kind: NodeKind
    label: str
    queries: tuple[str, ...]
    """Those that need it."""
    cost: float
    """Probe cost of a probe, storage cost of a store, 0 for others; probe tuples per second."""
    tuples_per_second: float | None
    """What leaves a source or a probe."""
    tuples: float | None
    """What a store holds."""


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge of a drawn plan: `sends`, `keeps`, `searches` or `answers`.

    `sends`: from a rule to the probe behind it. `keeps`: from a rule to a store that it feeds.
    `searches`: from a store to a probe of it. `answers`: from a rule to a query.
    """

    origin: str
    target: str
    kind: EdgeKind
    label: str
    """How tuples are routed, for `sends`."""
    tuples_per_second: float | None


@dataclass(frozen=True, slots=True)
class Drawing:
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]


def draw(explanation: Explanation) -> Drawing:
    """Draw the plan as one graph: sources, stores, probes, queries, and their flows.

    Nodes come queries last, otherwise in the explanation's order; every edge's ends are nodes.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> from optimizer.explain import explain
    >>> [f"{node.kind} {node.label}" for node in draw(explain(plan([query], catalog))).nodes][:4]
    ['store r[a]', 'store s[a]', 'source r', 'probe r.a = s.a']
    """
    nodes = [
        DrawnNode(s.id, "store", s.label, s.queries, s.storage_cost, None, s.tuples)
        for s in explanation.stores
    ]
    edges: list[DrawnEdge] = []
    for tree in explanation.trees:
        label = tree.start if tree.filter is None else f"{tree.start} where {tree.filter}"
        nodes.append(DrawnNode(tree.id, "source", label, tree.queries, 0.0, tree.tuples_per_second, None))
        edges += _leaving(tree.id, tree.tuples_per_second, tree.stores, tree.emits)
        for step in tree.steps:
            _add(step, tree, nodes, edges)
    nodes += [
        DrawnNode(f"query:{q.name}", "query", q.name, (q.name,), 0.0, None, None) for q in explanation.queries
    ]
    return Drawing(tuple(nodes), tuple(edges))


def to_json(document: Explanation | Drawing) -> str:
    """An explanation or its drawing as one line of JSON.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> from optimizer.explain import explain
    >>> to_json(explain(plan([query], catalog)))[:34]
    '{"method":"ilp","status":"optimal"'
    """
    absent = {"messages"} if isinstance(document, Explanation) and document.messages is None else None
    return TypeAdapter(type(document)).dump_json(document, by_alias=True, exclude=absent).decode()


def _add(
    step: ExplainedStep,
    parent: ExplainedTree | ExplainedStep,
    nodes: list[DrawnNode],
    edges: list[DrawnEdge],
) -> None:
    leaving = step.leaving_tuples_per_second
    label = " and ".join(step.conditions) or "every pair"
    nodes.append(DrawnNode(step.id, "probe", label, step.queries, step.probe_cost, leaving, None))
    edges.append(DrawnEdge(parent.id, step.id, "sends", step.routing, step.arriving_tuples_per_second))
    edges.append(DrawnEdge(step.store, step.id, "searches", "", None))
    edges += _leaving(step.id, leaving, step.feeds, step.emits)
    for following in step.steps:
        _add(following, step, nodes, edges)


def _leaving(
    origin: str, rate: float, stores: tuple[str, ...], queries: tuple[str, ...]
) -> Iterator[DrawnEdge]:
    for store in stores:
        yield DrawnEdge(origin, store, "keeps", "", rate)
    for query in queries:
        yield DrawnEdge(origin, f"query:{query}", "answers", "", rate)
