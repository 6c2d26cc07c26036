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

import pyarrow as pa
import pyarrow.compute as pc

from backend.oracle.comparison import Row, as_published
from optimizer.algebra.expression import Call, Column
from optimizer.algebra.types import ColumnType
from optimizer.logical.query import Query

_WHOLE = (ColumnType.INT, ColumnType.BIGINT)
_PLAIN = (*_WHOLE, ColumnType.STRING)
"""Whose JSON is their value, so that a tuple is told before it is decoded."""
_HASH_BITS = 64


@dataclass(frozen=True, slots=True)
class Key:
    """Columns that are equal in every result; it shows one."""

    columns: frozenset[tuple[str, str]]
    """Aliases and names; at most one of an alias is used."""
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
    """The columns that outputs show, each with those that equality makes the same."""
    same: dict[tuple[str, str], frozenset[tuple[str, str]]] = {}
    for predicate in query.predicates:
        match predicate:
            case Call("eq", (Column() as one, Column() as other)) if _alike(one.type, other.type):
                both = [(column.input, column.name) for column in (one, other)]
                united = frozenset(both).union(*(same.get(column, frozenset()) for column in both))
                same |= dict.fromkeys(united, united)
    found: dict[frozenset[tuple[str, str]], Key] = {}
    for place, output in enumerate(query.outputs):
        column = output.expression
        if isinstance(column, Column) and _alike(column.type, column.type):
            mine = (column.input, column.name)
            columns = same.get(mine, frozenset([mine]))
            found.setdefault(columns, Key(columns, place, column.type))
    return list(found.values())


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
