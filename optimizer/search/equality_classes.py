"""Classes of equal attributes in a state: what a sender knows of partitionings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from optimizer.search.join_graph import bits
from optimizer.search.problem import Attribute, JoinPredicate
from optimizer.search.states import State, StoreSite


class EqualityClasses:
    """Classes of equal attributes, by state; each has its least member for a name."""

    def __init__(self, predicates: Sequence[JoinPredicate], bit: Mapping[str, int]) -> None:
        self._predicates = predicates
        self._bit = bit
        """Relations by their id."""
        self._of: dict[int, dict[Attribute, tuple[Attribute, int]]] = {}

    def leaving(self, state: State, predicates: int) -> Iterator[Attribute]:
        """Attributes of `state` in equalities that leave it, by their classes."""
        left = predicates & ~state.predicates
        if not left:
            return
        classes = self._classes(state)
        for p in bits(left):
            equality = self._predicates[p].equality
            if equality is None:
                continue
            inside = [a for a in equality if state.relations >> self._bit[a.relation] & 1]
            if len(inside) == 1:
                yield classes[inside[0]][0] if inside[0] in classes else inside[0]

    def known(self, source: State, site: StoreSite, target: State) -> int:
        """P1: store partitionings by attributes equal to one that the sender carries.

        The closure is that of the target's own predicates: exactly those hold between a tuple
        that is sent and the tuples that it has to find.
        """
        classes = self._classes(target)
        known = 0
        for i, partitioning in enumerate(site.partitionings):
            if partitioning in classes and classes[partitioning][1] & source.relations:
                known |= 1 << i
        return known

    def _classes(self, state: State) -> dict[Attribute, tuple[Attribute, int]]:
        """A state's equality classes: per attribute, its least member and relation mask."""
        known = self._of.get(state.index)
        if known is not None:
            return known
        groups: dict[Attribute, set[Attribute]] = {}
        for p in bits(state.predicates):
            equality = self._predicates[p].equality
            if equality is not None:
                left, right = equality
                merged = groups.get(left, {left}) | groups.get(right, {right})
                for attribute in merged:
                    groups[attribute] = merged
        classes: dict[Attribute, tuple[Attribute, int]] = {}
        for attribute, group in groups.items():
            mask = 0
            for member in group:
                mask |= 1 << self._bit[member.relation]
            classes[attribute] = (min(group), mask)
        self._of[state.index] = classes
        return classes
