"""From a text to a plan before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optimizer.conversion.binary.names import UniqueNames
from optimizer.conversion.binary.reader import PlanReader
from optimizer.conversion.binary.rendering import query_sql
from optimizer.conversion.binary.tree import (
    Apply,
    Derived,
    Filter,
    Join,
    MultiJoin,
    Node,
    Scan,
    aliases,
    aliases_read,
    expressions,
    walk,
)
from optimizer.conversion.multiway.derived import Binder, rows_sql
from optimizer.conversion.multiway.groups import create_groups
from optimizer.conversion.multiway.replacement import Replacement
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.sql.grammar.places import SourceText

_NO_VIEWS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class DerivedInput:
    """An input of a multi-way join that is a subquery's answer rather than a stream."""

    stream: Stream
    rows: str
    """SQL that gives its tuples, over the streams' tables and those of the joins before."""


@dataclass(frozen=True, slots=True)
class ConvertedJoin:
    """A multi-way join of a converted plan."""

    join: MultiJoin
    derived: tuple[DerivedInput, ...]

    @property
    def runs_on_streams(self) -> bool:
        """True if every input is a stream, so that the join can run while they grow."""
        return not self.derived


@dataclass(frozen=True, slots=True)
class Conversion:
    """A plan before and after, and what its parts are in SQL."""

    before: Node
    after: Node
    joins: tuple[ConvertedJoin, ...]
    """In an order in which they can be computed: whatever one reads stands before it."""
    rest: str
    """What is left, as SQL over the tables of the joins' results and of streams."""
    became: Mapping[Join, str]
    """Which multi-way join a binary one of `before` is part of."""


def convert(
    text: str,
    catalog: Catalog,
    views: Mapping[str, str] = _NO_VIEWS,
    source: str = "query",
) -> Conversion:
    """Replace every maximal tree of inner joins in a plan by one multi-way join.

    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.algebra.types import ColumnType
    >>> columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT))
    >>> catalog = Catalog(tuple(Stream(name, columns, "at") for name in "rst"))
    >>> made = convert("SELECT max(r.k) FROM r JOIN s ON r.k = s.k JOIN t ON s.k = t.k", catalog)
    >>> [joined.join.name for joined in made.joins], made.rest
    (['multi_join'], 'SELECT MAX(multi_join.k) AS _col_0 FROM multi_join')

    Args:
        text: one query of DuckDB's SQL: joins of any kind in any nesting, subqueries, aggregates,
            WITH, UNION; streams may have windows.
        catalog: the streams, which may be tables: without a window all of their rows count.
        views: other queries' texts, by the names under which this one may read them.
        source: what errors call the text.

    Raises:
        InputError: for a text that is no query over the catalog's streams.

    Source: "Streaming SQL Multi-Way Join Method for Long State Streams", section 3.2.
    """
    place = SourceText(text, source)
    try:
        before = PlanReader(place, catalog, views).read()
        return _converted(before, catalog, source)
    except RecursionError:
        raise place.error(None, "too-deep", "a query nested too deeply", "a flatter query") from None


def _converted(before: Node, catalog: Catalog, source: str) -> Conversion:
    with Binder(catalog) as binder:
        binder.check(before, source)
        streams: dict[str, Stream] = {}

        def stream_of(derived: Derived) -> Stream:
            if derived.alias not in streams:
                bound = binder.stream(derived)
                assert bound is not None, "only eligible subqueries become inputs"
                streams[derived.alias] = bound
            return streams[derived.alias]

        def eligible(node: Node) -> bool:
            return _independent(node) and all(
                binder.stream(inner) is not None for inner in _relations(node) if isinstance(inner, Derived)
            )

        taken = [name for node in walk(before) for name in _names(node)]
        names = UniqueNames([*taken, *catalog.names])
        replacement = Replacement(catalog, create_groups(before, eligible), stream_of, names)
        after = replacement.apply(before)
    joins = [
        ConvertedJoin(
            node,
            tuple(
                DerivedInput(streams[inner.alias], rows_sql(inner, streams[inner.alias]))
                for inner in map(_unfiltered, node.inputs)
                if isinstance(inner, Derived)
            ),
        )
        for node in walk(after)
        if isinstance(node, MultiJoin)
    ]
    return Conversion(before, after, tuple(reversed(joins)), query_sql(after), replacement.became)


def _names(node: Node) -> tuple[str, ...]:
    match node:
        case Scan() | Derived():
            return (node.alias,)
        case Apply():
            return (node.name,)
        case _:
            return ()


def _relations(node: Node) -> tuple[Node, ...]:
    """The streams and subqueries whose columns a relation hands on."""
    if isinstance(node, Scan | Derived):
        return (node,)
    return tuple(inner for inner in walk(node) if isinstance(inner, Scan | Derived))


def _independent(node: Node) -> bool:
    """True if a relation reads nothing of a query around it."""
    own = {name for inner in walk(node) for name in aliases(inner)}
    return all(alias in own for inner in walk(node) for e in expressions(inner) for alias in aliases_read(e))


def _unfiltered(node: Node) -> Node:
    return node.input if isinstance(node, Filter) else node
