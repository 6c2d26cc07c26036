"""A running plan by names, as numbers of states and arcs differ between problems."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TypeVar

from optimizer.search.problem import Attribute, ProbeOrder, Solution

Query = TypeVar("Query")


@dataclass(frozen=True, slots=True)
class NamedArc:
    """A step of one start, by what it joins under which predicates."""

    start: str
    source: tuple[frozenset[str], frozenset[str]]
    """Relations and predicates that the sender has covered."""
    store: tuple[frozenset[str], frozenset[str]]
    fresh: frozenset[str]
    """Predicates that the step itself applies: between the sender and the store."""


class Incumbent:
    """What a running plan has, by names that another problem finds it by."""

    def __init__(self, solution: Solution) -> None:
        self._copies = {(s.relations, s.predicates, s.partitioning) for s in solution.stores}
        self._arcs: set[NamedArc] = set()
        for order in solution.orders:
            self._note(order)

    def _note(self, order: ProbeOrder) -> None:
        relations: frozenset[str] = frozenset({order.start})
        predicates: frozenset[str] = frozenset()
        for step in order.steps:
            store = step.store
            self._arcs.add(
                NamedArc(
                    order.start, (relations, predicates), (store.relations, store.predicates), step.predicates
                )
            )
            relations |= store.relations
            predicates |= store.predicates | step.predicates

    def has_copy(
        self, relations: frozenset[str], predicates: frozenset[str], partitioning: Attribute | None
    ) -> bool:
        return (relations, predicates, partitioning) in self._copies

    def has_arc(self, arc: NamedArc) -> bool:
        """True if the plan takes this step under the same predicates."""
        return arc in self._arcs


def mostly_changed(now: Set[Query], before: Set[Query]) -> bool:
    """True if more than half of the queries are in only one of the two sets.

    All queries count, old and new.

    >>> mostly_changed({"a", "b"}, {"a"}), mostly_changed({"a", "b", "c"}, {"a"})
    (False, True)
    """
    return 2 * len(now ^ before) > len(now | before)
