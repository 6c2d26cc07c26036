"""Queries that leave a shared prefix take their own filters and windows at once.

A prefix that several queries share lets pass what any of them needs: the union of their filters,
the widest of their windows. Behind the fork each step only serves some of them, so it checks
what all of these ask for. Nothing is narrowed on the way to a materialized result, which holds
its relation whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.algebra.expression import Expression, inputs_of
from optimizer.formulate.model import Occurrence, QueryTerms
from optimizer.logical.window import Window, union
from optimizer.lower.probe_forest import Forest, Node
from optimizer.search.cost_model import lasting_s


def narrow(forest: Forest) -> None:
    """Give every step the filters and windows that all queries behind it share.

    A step over inputs R checks those residual filters over R that all its queries have and that
    no step before has checked, and the widest of its queries' own windows. Steps that thereby
    become the same are made one. Nodes are changed in place; `Node.share` says what
    fraction still leaves them, for the estimates.
    """
    terms = {t.query.name: t for t in forest.translation.queries}
    for root in forest.roots.values():
        _narrow_behind(forest, root, terms)


def _narrow_behind(forest: Forest, node: Node, terms: dict[str, QueryTerms]) -> None:
    narrowed: dict[object, Node] = {}
    for child in node.children.values():
        users = [terms[name] for name in dict.fromkeys(_queries(child))]
        if users and not any(below.feeds for below in child.walk()):
            _narrow(forest, child, users)
        else:
            child.applied = node.applied
        same = narrowed.setdefault(child.identity, child)
        if same is not child:
            _merge(same, child)
    node.children = narrowed
    for child in narrowed.values():
        _narrow_behind(forest, child, terms)


def _queries(node: Node) -> Iterable[str]:
    for below in node.walk():
        yield from below.queries


def _narrow(forest: Forest, node: Node, users: list[QueryTerms]) -> None:
    bound = frozenset(node.inputs)
    before = frozenset[Expression]() if node.parent is None else node.parent.applied
    common = frozenset.intersection(*(frozenset(user.residuals) for user in users))
    node.residuals = frozenset(r for r in common - before if inputs_of(r) <= bound)
    node.applied = before | node.residuals
    own = [{variant.own.input: variant.own for variant in user.variants} for user in users]
    windows = {name: union(user[name].window for user in own) for name in node.inputs}
    # A step never widens what the one before it checked: its queries are among that one's.
    node.share = _share(forest, node, own, windows)
    node.windows = tuple(sorted(windows.items()))


def _share(forest: Forest, node: Node, own: list[dict[str, Occurrence]], windows: dict[str, Window]) -> float:
    """What the narrowing leaves of the shared relations' combinations."""
    rates, horizon_s = dict(forest.translation.rates), forest.translation.problem.horizon_s
    served = {forest.occurrences[r].input: forest.occurrences[r] for r in node.relations}
    share = 1.0
    for name in node.inputs:
        if name != node.start.input:
            lasting = [lasting_s(w.seconds, horizon_s) for w in (windows[name], served[name].window)]
            share *= lasting[0] / lasting[1]
        filters = {user[name].alternatives for user in own}
        mine = own[0][name]
        asked = {expression for conjunction in mine.alternatives for expression in conjunction}
        if len(filters) == 1 and mine.alternatives != served[name].alternatives and asked <= node.applied:
            share *= rates[mine.id] / rates[served[name].id] if rates[served[name].id] else 1.0
    return share


def _merge(into: Node, other: Node) -> None:
    """Two steps that do the same for different queries become one."""
    into.queries += [name for name in other.queries if name not in into.queries]
    into.feeds += [key for key in other.feeds if key not in into.feeds]
    for child in other.children.values():
        child.parent = into
        # Keyed apart: children are compared once they are narrowed themselves.
        into.children[id(child), child.identity] = child
