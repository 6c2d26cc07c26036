"""Probe orders merged into probe trees: equal prefixes once.

Dissertation section 7.1.2. Two orders share a node iff everything that the node does is the
same: what arrives, which store it meets, under which predicates and windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from optimizer.algebra.expression import Expression
from optimizer.formulate.model import Occurrence, Translation
from optimizer.logical.window import Window
from optimizer.lower.narrow import narrow
from optimizer.lower.probe_forest import Forest, Node, StoreKey
from optimizer.search.problem import ProbeOrder, Solution, Store

UNDECIDED = "*"
"""Column of base stores whose partitioning `store_layouts.choose_store_copies` chooses."""


def grow(solution: Solution, translation: Translation, *, decided: frozenset[str] = frozenset()) -> Forest:
    """Grow a solution's probe trees, whose orders end in queries' and feeds' leaves.

    Materialized results that nothing probes are left out, and so are the steps that only fed
    them: a heuristic may leave such remains, and the topology should not work for nothing.

    Args:
        decided: base stores that are partitioned as the solution says, whoever shares them.

    Raises:
        ValueError: an order does not cover what it claims to answer or to feed, or uses a
            materialized result that enforces more than its target does.
    """
    forest = Forest(translation, _shared_stores(translation) - decided)
    queries = {query.id: query for query in translation.problem.queries}
    for order in solution.orders:
        for name in order.queries:
            leaf = _plant(forest, order, queries[name].relations, queries[name].predicates, f"query {name}")
            if name not in leaf.queries:
                leaf.queries.append(name)
        for fed in order.feeds:
            leaf = _plant(forest, order, fed.relations, fed.predicates, "a materialized result")
            key = store_key(fed, forest)
            if key not in leaf.feeds:
                leaf.feeds.append(key)
    for terms in translation.queries:
        if len(terms.variants) == 1:
            forest.root(terms.variants[0].served_by).queries.append(terms.query.name)
    while _prune(forest):
        pass
    narrow(forest)
    return forest


def store_key(store: Store, forest: Forest) -> StoreKey:
    """The topology's store for an installed copy of a solution."""
    attribute = store.partitioning
    if store.is_base:
        (relation,) = store.relations
        stream, kept_in = forest.occurrences[relation].stream, forest.kept_in[relation]
        column = (stream, attribute.name) if attribute else None
        if kept_in in forest.undecided:
            column = (stream, UNDECIDED)
        return StoreKey(stream, frozenset(), frozenset(), column, store.tasks, kept_in)
    column = (forest.occurrences[attribute.relation].input, attribute.name) if attribute else None
    return StoreKey(None, store.relations, store.predicates, column, store.tasks)


def _plant(
    forest: Forest, order: ProbeOrder, relations: frozenset[str], predicates: frozenset[str], target: str
) -> Node:
    start = forest.occurrences[order.start]
    node = forest.root(start)
    covered = frozenset({order.start})
    windows = {start.input: start.window}
    held: frozenset[str] = frozenset()
    for step in order.steps:
        if not step.store.predicates <= predicates:
            raise ValueError(f"a step of {target} probes a result that enforces other predicates")
        covered |= step.store.relations
        now = frozenset(p for p in predicates if forest.relations_of[p] <= covered)
        for relation in step.store.relations:
            windows[forest.occurrences[relation].input] = forest.occurrences[relation].window
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
    windows: Mapping[str, Window],
) -> Node:
    key = store_key(store, forest)
    held = sorted((forest.occurrences[r] for r in store.relations), key=lambda o: o.input)
    renames = tuple((o.stream if store.is_base else o.input, o.input) for o in held)
    passed = held[0].filter if store.is_base else None
    filters = frozenset() if passed is None else frozenset({passed})
    checks = frozenset(forest.expressions[p] for p in fresh)
    ordered = tuple(sorted(windows.items()))
    identity = (key, renames, checks, filters, frozenset[Expression](), ordered)
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
            joined_on=frozenset(forest.expressions[p] for p in now),
            relations=reached,
            predicates=now,
        )
    return node.children[identity]


def _shared_stores(translation: Translation) -> frozenset[str]:
    """Base stores that serve several relations of the problem or lie in one task.

    A problem chooses partitionings by relation, as if each had its own store. Where they share
    one, or where nothing depends on it, `store_layouts.choose_store_copies` chooses for all users together.
    """
    relations = translation.problem.relations
    users = Counter(relation.kept_in for relation in relations)
    return frozenset(r.kept_in for r in relations if users[r.kept_in] > 1 or r.tasks == 1)


def _prune(forest: Forest) -> bool:
    """Drop feeds never probed and nodes without purpose; true if there were any."""
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
