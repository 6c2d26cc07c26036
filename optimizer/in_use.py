"""What a running plan has, by names: numbers of states and arcs differ between problems."""

from __future__ import annotations

from optimizer.problem import Attribute, ProbeOrder, Solution


class InUse:
    """What a running plan has, by names, so that it can be found again in another problem."""

    def __init__(self, solution: Solution) -> None:
        self._copies = {(s.relations, s.predicates, s.partitioning) for s in solution.stores}
        self._arcs: set[tuple[str, frozenset[str], tuple[frozenset[str], frozenset[str]]]] = set()
        for order in solution.orders:
            self._note(order)

    def _note(self, order: ProbeOrder) -> None:
        covered = frozenset({order.start})
        for step in order.steps:
            self._arcs.add((order.start, covered, (step.store.relations, step.store.predicates)))
            covered |= step.store.relations

    def has_copy(
        self, relations: frozenset[str], predicates: frozenset[str], partitioning: Attribute | None
    ) -> bool:
        return (relations, predicates, partitioning) in self._copies

    def has_arc(
        self, start: str, source: frozenset[str], store: tuple[frozenset[str], frozenset[str]]
    ) -> bool:
        return (start, source, store) in self._arcs
