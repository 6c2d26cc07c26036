"""Which sub-queries that differ only in filter or window might share a wider one.

AJoin (section 4) groups queries over the same streams and sorts their results out later. Here
the shared relation takes every tuple that one of its users' filters passes and the longest of
their windows, and each query checks its own filter and window at its leaves. Whether that is
cheaper than keeping the sub-queries apart is for the cost model to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import inf

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import inputs_of
from optimizer.formulate.model import Occurrence, QueryTerms
from optimizer.formulate.problem import Subsumption

_MOST_CANDIDATES = 40
"""Trials are small problems, but a hundred alike queries have thousands of pairs."""
MOST_COVERS = 2
"""Running queries whose relations are tried for one more query."""


def candidates(terms: Sequence[QueryTerms], new: frozenset[str] | None = None) -> tuple[Subsumption, ...]:
    """Subsumptions for two queries to share a join that filters or windows keep apart.

    For two queries with join predicates in common, the inputs of these predicates are widened
    to cover both. Those with most predicates in common come first. With names of `new` queries only
    pairs with one of them count.
    """
    found: dict[str, tuple[int, Subsumption]] = {}
    joins = [t for t in terms if len(t.variants) > 1]
    by_predicate: dict[object, list[int]] = {}
    for position, term in enumerate(joins):
        for _, predicate in term.predicates:
            by_predicate.setdefault(predicate, []).append(position)
    pairs = {pair for users in by_predicate.values() for pair in combinations(users, 2)}
    for left, right in sorted(pairs):
        if new is not None and new.isdisjoint((joins[left].query.name, joins[right].query.name)):
            continue
        common = {p for _, p in joins[left].predicates} & {p for _, p in joins[right].predicates}
        names = {name for predicate in common for name in inputs_of(predicate)}
        subsumption = _between(joins[left], joins[right], names)
        if subsumption:
            identity = digest("W", sorted(o.id for o in subsumption))
            found.setdefault(identity, (len(common), subsumption))
    ordered = sorted(found, key=lambda identity: (-found[identity][0], identity))
    return tuple(found[identity][1] for identity in ordered[:_MOST_CANDIDATES])


def groups(terms: Sequence[QueryTerms]) -> tuple[Subsumption, ...]:
    """Subsumptions for three or more queries to share all their common joins at once.

    Pairs do not lead there: the union of two filters that pass a half of the tuples each passes three
    quarters, so that two queries may gain nothing by it, while that of twenty filters passes at most all.
    Those with most predicates in common come first.
    """
    joins = [t for t in terms if len(t.variants) > 1]
    asked = [frozenset(predicate for _, predicate in t.predicates) for t in joins]
    found: dict[str, tuple[int, Subsumption]] = {}
    for common in {left & right for left, right in combinations(asked, 2)} - {frozenset()}:
        users = [t for t, predicates in zip(joins, asked, strict=True) if common <= predicates]
        names = {name for predicate in common for name in inputs_of(predicate)}
        if len(users) > 2 and (subsumption := _among(users, names)):
            identity = digest("G", sorted(o.id for o in subsumption))
            count = max(len(common), found[identity][0] if identity in found else 0)
            found[identity] = (count, subsumption)
    ordered = sorted(found, key=lambda identity: (-found[identity][0], identity))
    return tuple(found[identity][1] for identity in ordered[:_MOST_CANDIDATES])


def covering_relations(query: QueryTerms, running: Sequence[QueryTerms]) -> tuple[Subsumption, ...]:
    """Subsumptions of one more query under relations that others use already.

    Each takes the relations of one running query for the inputs that common predicates read, where
    they hold every tuple that the new query's own would. Nothing that runs changes. The most alike
    come first, at most `MOST_COVERS`.
    """
    found: dict[str, tuple[tuple[int, float, str], Subsumption]] = {}
    mine = {p for _, p in query.predicates}
    for other in running:
        common = mine & {p for _, p in other.predicates}
        names = {name for predicate in common for name in inputs_of(predicate)}
        theirs = {variant.own.input: variant.served_by for variant in other.variants}
        subsumption = {
            variant.own: theirs[variant.own.input]
            for variant in query.variants
            if variant.own.input in names
            and variant.own != theirs[variant.own.input]
            and theirs[variant.own.input].covers(variant.own)
        }
        if subsumption:
            identity = digest("C", sorted((own.id, served.id) for own, served in subsumption.items()))
            held = sum(inf if o.window.reach_us is None else o.window.reach_us for o in subsumption.values())
            found.setdefault(identity, ((-len(common), held, identity), subsumption))
    ordered = sorted(found.values(), key=lambda entry: entry[0])
    return tuple(subsumption for _, subsumption in ordered[:MOST_COVERS])


def _between(left: QueryTerms, right: QueryTerms, names: set[str]) -> Subsumption:
    theirs = {variant.own.input: variant.own for variant in right.variants}
    subsumption: dict[Occurrence, Occurrence] = {}
    for variant in left.variants:
        other = theirs.get(variant.own.input)
        if variant.own.input in names and other is not None and other != variant.own:
            wider = variant.own.widened(other)
            subsumption |= {variant.own: wider, other: wider}
    return subsumption


def _among(queries: Sequence[QueryTerms], names: set[str]) -> Subsumption:
    """Each of these inputs of any of the queries to the union of all."""
    own: dict[str, list[Occurrence]] = {}
    for variant in (variant for terms in queries for variant in terms.variants):
        if variant.own.input in names:
            own.setdefault(variant.own.input, []).append(variant.own)
    unions = {name: reduce(Occurrence.widened, occurrences) for name, occurrences in own.items()}
    return {o: unions[name] for name, occurrences in own.items() for o in occurrences if o != unions[name]}


def merged(first: Subsumption, second: Subsumption) -> Subsumption:
    """Both subsumptions at once.

    Relations that either brings together end in one wider relation.
    """
    result: dict[Occurrence, Occurrence] = dict(first)
    for narrow, wide in second.items():
        # Everybody who is served by what `narrow` is served by now moves to the union of both.
        union = result.get(narrow, narrow).widened(result.get(wide, wide)).widened(wide)
        moved = {result.get(narrow, narrow), narrow, wide}
        result = {own: union if served in moved else served for own, served in result.items()}
        result[narrow] = union
    return result


def affected(terms: Sequence[QueryTerms], subsumption: Mapping[Occurrence, Occurrence]) -> list[QueryTerms]:
    """The queries with an input that the subsumption touches."""
    return [
        t
        for t in terms
        if len(t.variants) > 1
        and any(
            variant.own in subsumption or variant.served_by in subsumption.values() for variant in t.variants
        )
    ]
