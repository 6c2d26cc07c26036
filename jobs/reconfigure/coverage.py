"""Find the base stores that have the tuples that a filter passes.

What a filter passes is compared by its text.

A plan may keep a stream in one store for all its filters, or in several, each with the tuples of some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.algebra.expression import Call, Expression
from optimizer.algebra.normalize import conjuncts
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import SourceRule, StoreRule


@dataclass(frozen=True, slots=True)
class Kept:
    """The tuples of a store: those that pass one of these conjunctions at least."""

    alternatives: tuple[frozenset[Expression], ...]
    """One that is empty lets all pass."""

    @classmethod
    def by(cls, condition: Expression | None) -> Kept:
        """The tuples that a filter passes; all, if there is none."""
        if condition is None:
            return cls((frozenset(),))
        whole = isinstance(condition, Call) and condition.function == "or"
        each = condition.arguments if whole and isinstance(condition, Call) else (condition,)
        return cls(tuple(frozenset(conjuncts(one)) for one in each))

    def has(self, conjunction: frozenset[Expression]) -> bool:
        """True if every tuple that passes a conjunction is here."""
        return any(mine <= conjunction for mine in self.alternatives)

    def covers(self, other: Kept) -> bool:
        """True if every tuple of the other is here.

        >>> Kept.by(None).covers(Kept.by(None))
        True
        """
        return all(map(self.has, other.alternatives))


def kept_filters(graph: PhysicalGraph) -> dict[str, Expression | None]:
    """The condition under which each base store is filled, over its stream's name."""
    base = {store.id for store in graph.stores if store.is_base}
    stored = {rule.edge: rule.store for rule in graph.rules if isinstance(rule, StoreRule)}
    return {
        stored[edge]: rule.filter
        for rule in graph.rules
        if isinstance(rule, SourceRule)
        for edge in rule.out
        if stored.get(edge) in base
    }


def covering(stores: Mapping[str, Kept], wanted: Kept) -> Sequence[str]:
    """Few stores that together have all that is wanted; none if there are none.

    Of equally good ones the first that is given is taken.
    """
    chosen: list[str] = []
    missing = list(wanted.alternatives)
    while missing:
        best = max(stores, key=lambda store: sum(map(stores[store].has, missing)), default=None)
        if best is None or not any(map(stores[best].has, missing)):
            return ()
        chosen.append(best)
        missing = [one for one in missing if not stores[best].has(one)]
    return chosen
