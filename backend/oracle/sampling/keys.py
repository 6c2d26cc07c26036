"""Columns that sample a query's tuples and its results alike.

A sample by the hash of a key keeps all tuples of some keys and none of the others, so a join of samples is
the sample of the join: exactly its results of these keys, of which each must have been published. The hash is
taken of columns that the results show, too, or nobody could tell which of them belong to the sample (universe
sampling: Kandula et al., Quickr, SIGMOD 2016).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from backend.oracle.comparison import Row, as_published
from optimizer.algebra.expression import Call, Column, Expression
from optimizer.algebra.types import ColumnType
from optimizer.logical.query import Branch, Query

_WHOLE = (ColumnType.INT, ColumnType.BIGINT)
_PLAIN = (*_WHOLE, ColumnType.STRING)
"""Whose JSON is their value, so that a tuple is told before it is decoded."""
_HASH_BITS = 64
Named: TypeAlias = tuple[str, str]
"""An alias and the name of a column."""


@dataclass(frozen=True, slots=True)
class Key:
    """Columns that are equal in every result; it shows one."""

    columns: frozenset[Named]
    """At most one of an alias is used."""
    output: int
    """The place of the output that shows it."""
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Keys:
    """What a query is sampled by.

    Every alias has the columns whose hashes decide; one without any is kept whole.
    """

    by_alias: dict[str, tuple[tuple[str, ColumnType], ...]]
    outputs: tuple[tuple[int, ColumnType], ...]
    """Of a result: places of its outputs."""

    def holds(self, row: Row, halvings: int) -> bool:
        """True if a result belongs to the sample of one in 2**`halvings` for each key."""
        return all(_chosen(row[place], kind, halvings) for place, kind in self.outputs)

    def share(self, halvings: int) -> float:
        """The share of results that belong to the sample, if no key has more than another."""
        return float(2.0 ** -(halvings * len(self.outputs)))


def keys_of(query: Query) -> Keys:
    """The fewest keys among a query's outputs that sample as many inputs as can be.

    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT), ("b", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in ("r", "s", "t"))
    >>> text = "SELECT r.b, s.a FROM r [RANGE 1 DAY], s [RANGE 1 DAY], t WHERE r.a = s.a AND s.b < t.b"
    >>> keys = keys_of(parse_query(text, "q", catalog))
    >>> {alias: [name for name, _ in columns] for alias, columns in keys.by_alias.items()}
    {'r': ['a'], 's': ['a'], 't': []}
    >>> [place for place, _ in keys.outputs]
    [1]
    """
    aliases = {item.alias for item in query.inputs}
    chosen: list[Key] = []
    uncovered, left = set(aliases), _shown_keys(query)
    while left:
        best = max(left, key=lambda key: len(_aliases(key) & uncovered))
        if not _aliases(best) & uncovered:
            break
        chosen.append(best)
        left.remove(best)
        uncovered -= _aliases(best)
    by_alias = {
        alias: tuple(
            (min(name for other, name in key.columns if other == alias), key.type)
            for key in chosen
            if alias in _aliases(key)
        )
        for alias in sorted(aliases)
    }
    return Keys(by_alias, tuple((key.output, key.type) for key in chosen))


def _aliases(key: Key) -> set[str]:
    return {alias for alias, _ in key.columns}


def _shown_keys(query: Query) -> list[Key]:
    """The columns that outputs show, each with those that equality makes the same.

    Of a query with branches, those that are so in each of them.
    """
    if query.grouping is not None and query.grouping.limit is not None:
        return []  # Which of a bucket's groups are the first depends on all of them.
    parts = _parts(query)
    found: dict[frozenset[Named], Key] = {}
    for place in range(len(query.outputs)):
        columns = [part.shown[place] for part in parts]
        kinds = [column.type for column in columns if isinstance(column, Column)]
        if len(kinds) == len(columns) and all(_alike(kinds[0], kind) for kind in kinds):
            same = _same_in_all(parts, place)
            found.setdefault(same, Key(same, place, kinds[0]))
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of a query's results: what is true of each, and what it shows."""

    own: frozenset[str]
    """The aliases of its combinations."""
    aliases: frozenset[str]
    """These, and those of what is absent beside them."""
    predicates: tuple[Expression, ...]
    absences: tuple[tuple[Expression, ...], ...]
    """What each would be joined by."""
    shown: tuple[Expression | None, ...]
    """By output; None for what is of no single combination, or of an absent side."""

    def same_as(self, place: int) -> frozenset[Named]:
        """The columns that have an output's value in each result and its partners."""
        column = self.shown[place]
        assert isinstance(column, Column)
        named = (column.input, column.name)
        found = _equal(self.predicates, named)
        # What a partner has in common with two columns does not make these equal.
        others = (_equal((*self.predicates, *joined), named) for joined in self.absences)
        return found.union(*(frozenset(one for one in other if one[0] not in self.own) for other in others))


def _parts(query: Query) -> list[_Part]:
    if not query.branches:
        own = frozenset(item.alias for item in query.inputs)
        return [_Part(own, own, query.predicates, (), tuple(output.expression for output in query.outputs))]
    return [_part(query, branch) for branch in query.branches]


def _part(query: Query, branch: Branch) -> _Part:
    own = frozenset(item.alias for item in branch.inputs)
    taken = {output.name: output.expression for output in branch.outputs}
    shown: list[Expression | None] = []
    for output in query.outputs:
        name = output.name
        if query.grouping is not None:
            name = output.expression.name if isinstance(output.expression, Column) else ""
        column = taken.get(name)
        shown.append(column if isinstance(column, Column) and column.input in own else None)
    aliases = own.union(*(frozenset(item.alias for item in absence.inputs) for absence in branch.absences))
    joined = tuple(absence.predicates for absence in branch.absences)
    return _Part(own, aliases, branch.predicates, joined, tuple(shown))


def _same_in_all(parts: Sequence[_Part], place: int) -> frozenset[Named]:
    """The columns that are the key wherever their alias is."""
    same = [(part.aliases, part.same_as(place)) for part in parts]
    return frozenset(
        column
        for _, columns in same
        for column in columns
        if all(column in others for aliases, others in same if column[0] in aliases)
    )


def _equal(predicates: Iterable[Expression], named: Named) -> frozenset[Named]:
    """The columns that equalities make equal to one."""
    same: dict[Named, frozenset[Named]] = {}
    for predicate in predicates:
        match predicate:
            case Call("eq", (Column() as one, Column() as other)) if _alike(one.type, other.type):
                both = [(column.input, column.name) for column in (one, other)]
                united = frozenset(both).union(*(same.get(column, frozenset()) for column in both))
                same |= dict.fromkeys(united, united)
    return same.get(named, frozenset([named]))


def _alike(one: ColumnType, other: ColumnType) -> bool:
    """True if equal values of the two types are published, and hashed, alike."""
    if one in _WHOLE and other in _WHOLE:
        return True
    return one is other and (one in (ColumnType.STRING, ColumnType.DOUBLE) or one.is_decimal)


def may_hold(keys: Iterable[Sequence[tuple[str, ColumnType]]], event: object, halvings: int) -> bool:
    """False if an event's JSON belongs to the sample under none of the aliases.

    Args:
        keys: of each alias of the stream, as in `Keys.by_alias`.
    """
    if not isinstance(event, Mapping):
        return True
    return any(
        all(
            kind not in _PLAIN
            or not isinstance(value := event.get(name), int | str)
            or _chosen(value, kind, halvings)
            for name, kind in columns
        )
        for columns in keys
    )


def marks(column: pa.ChunkedArray, kind: ColumnType, halvings: int) -> pa.BooleanArray:
    """Whether each of a column's values is one of the sample's keys."""
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    of_value = [
        _chosen(as_published([value], [kind])[0], kind, halvings) for value in coded.dictionary.to_pylist()
    ]
    return pc.take(pa.array(of_value, pa.bool_()), coded.indices)


def _chosen(value: object, kind: ColumnType, halvings: int) -> bool:
    if not halvings:
        return True
    if kind is ColumnType.DOUBLE and isinstance(value, int):
        value = float(value)
    digest = hashlib.blake2b(repr(value).encode(errors="surrogatepass"), digest_size=_HASH_BITS // 8).digest()
    return int.from_bytes(digest, "big") < 1 << (_HASH_BITS - halvings)
