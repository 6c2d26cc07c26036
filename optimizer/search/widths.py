"""Bytes of tuples, and of combinations of tuples on their way."""

from __future__ import annotations

from collections import defaultdict

from optimizer.algebra.types import ColumnType
from optimizer.search.problem import Problem, ReadColumn

POSITION_BYTES = 9.0
"""Of every tuple's arrival number and ordinal."""
TEXT_BYTES = 24.0
"""Taken for texts and binaries of which nothing is known."""
_DECIMAL_BYTES = 16.0
_UUID_BYTES = 52.0
"""Of its text, and of the view of that."""
_BYTES = {
    ColumnType.INT: 4.0,
    ColumnType.DATE: 4.0,
    ColumnType.BOOLEAN: 0.125,
    ColumnType.UUID: _UUID_BYTES,
}


def width(kind: ColumnType, text_bytes: float = TEXT_BYTES) -> float:
    """Bytes of a value of a type.

    >>> width(ColumnType.BIGINT), width(ColumnType.STRING)
    (8.0, 24.0)
    """
    if kind.is_decimal:
        return _DECIMAL_BYTES
    return text_bytes if kind in (ColumnType.STRING, ColumnType.BINARY) else _BYTES.get(kind, 8.0)


class CarriedBytes:
    """Bytes of combinations of tuples: the columns that a query reads behind them.

    A key is gone once it is compared, an event time once there is nothing left to join. Which queries a
    combination serves depends on the plan; all that it can serve are taken.

    >>> from optimizer.search.problem import JoinQuery, Relation
    >>> r, s = (Relation(name, name, 100.0, 1.0, bytes=16.0) for name in "rs")
    >>> q = JoinQuery("q", frozenset("rs"), frozenset({"p"}))
    >>> key = ReadColumn("r", "a", 8.0, frozenset({"p"}), frozenset())
    >>> told = ReadColumn("s", "b", 4.0, frozenset(), frozenset({"q"}))
    >>> carried = CarriedBytes(Problem((r, s), (), (q,), read=(key, told)))
    >>> carried.of(frozenset("r"), frozenset()), carried.of(frozenset("rs"), frozenset({"p"}))
    (25.0, 13.0)
    """

    def __init__(self, problem: Problem) -> None:
        self._whole = {relation.id: relation.bytes for relation in problem.relations}
        self._read: dict[str, list[ReadColumn]] = defaultdict(list)
        for column in problem.read:
            self._read[column.relation].append(column)
        self._all = problem.queries if problem.read else ()
        self._queries: dict[str, set[int]] = defaultdict(set)
        for number, query in enumerate(self._all):
            for relation in query.relations:
                self._queries[relation].add(number)
        self._known: dict[tuple[frozenset[str], frozenset[str]], float] = {}

    def of(self, relations: frozenset[str], predicates: frozenset[str]) -> float:
        """Of a combination of these relations that passed these predicates.

        Its place in the order of arrival is included.
        A single tuple carries all that anything reads, as its store keeps it.
        """
        key = relations, predicates
        if key not in self._known:
            self._known[key] = POSITION_BYTES + self._carried(relations, predicates)
        return self._known[key]

    def _carried(self, relations: frozenset[str], predicates: frozenset[str]) -> float:
        if len(relations) == 1 or not self._read:
            return sum(self._whole[relation] for relation in sorted(relations))
        common = set.intersection(*(self._queries[relation] for relation in relations))
        users = [self._all[number] for number in common if predicates <= self._all[number].predicates]
        answered = {query.id for query in users}
        ahead = {p for query in users for p in query.predicates} - predicates
        joins_on = any(query.relations != relations for query in users)
        return sum(
            column.bytes
            for relation in sorted(relations)
            for column in self._read[relation]
            if column.queries & answered or column.predicates & ahead or (column.is_event_time and joins_on)
        )
