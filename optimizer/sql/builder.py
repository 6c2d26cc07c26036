"""Build queries without SQL text, fluently (dissertation, section 8.2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.window import UNBOUNDED, Window, sliding
from optimizer.sql import check_condition, identifier, parse_query


@dataclass(frozen=True, slots=True)
class _Entry:
    stream: str
    alias: str | None
    cross: bool
    window: Window = UNBOUNDED


@dataclass(frozen=True, slots=True)
class QueryBuilder:
    """Builds a `Query` step by step; every step returns a new builder.

    The result equals the parsed SQL's, because it is made by the same parser:

    >>> built = (QueryBuilder().from_("r").window(minutes=1).from_("s")
    ...          .where("r.a = s.a").select("r.a").build())
    >>> built == parse_query("SELECT r.a FROM r [RANGE 1 MINUTE], s WHERE r.a = s.a", "query", None)
    True

    Without a catalog every stream exists with the columns that the query names, and a
    column's type follows from its use (see `optimizer.sql.binding.inference`).
    """

    catalog: Catalog | None = None
    views: Mapping[str, Query] = field(default_factory=dict)
    _entries: tuple[_Entry, ...] = ()
    _conditions: tuple[str, ...] = ()
    _outputs: tuple[str, ...] = ()

    def from_(self, stream: str, alias: str | None = None) -> QueryBuilder:
        """Read a stream or a view as well, unbounded until `window` says otherwise."""
        return replace(self, _entries=(*self._entries, _Entry(stream, alias, cross=False)))

    def cross_join(self, stream: str, alias: str | None = None) -> QueryBuilder:
        """Read a stream that no predicate needs to connect with the one before."""
        return replace(self, _entries=(*self._entries, _Entry(stream, alias, cross=bool(self._entries))))

    def window(self, length: Window | timedelta | None = None, /, **units: float) -> QueryBuilder:
        """Give the stream read last a window: a `Window`, a length, or `minutes=1` etc.

        Raises `ValueError` before any stream, for a negative window or without a length, and
        `TypeError` for a unit that `timedelta` does not know.
        """
        if not self._entries:
            raise ValueError("window() belongs behind from_()")
        if (length is None) == (not units):
            raise ValueError("window() takes either a timedelta or units such as minutes=1")
        chosen = timedelta(**units) if length is None else length
        if isinstance(chosen, timedelta):
            chosen = sliding(chosen)
        return replace(self, _entries=(*self._entries[:-1], replace(self._entries[-1], window=chosen)))

    def where(self, *conditions: str) -> QueryBuilder:
        """Add predicates that must all hold. Raises `InputError` for what is no condition."""
        for position, condition in enumerate(conditions, len(self._conditions) + 1):
            check_condition(condition, f"where {position}")
        return replace(self, _conditions=(*self._conditions, *conditions))

    def join(self, stream: str, on: str, alias: str | None = None) -> QueryBuilder:
        """Read a stream and say what connects it: `from_` and `where` in one."""
        return self.from_(stream, alias).where(on)

    def select(self, *columns: str) -> QueryBuilder:
        """Add output columns: expressions with or without AS, `*` or `alias.*`."""
        return replace(self, _outputs=(*self._outputs, *columns))

    def to_sql(self) -> str:
        """The query as SQL text; without `select` all columns."""
        text = f"SELECT {', '.join(self._outputs) or '*'}"
        for position, entry in enumerate(self._entries):
            link = "\nFROM " if position == 0 else "\nCROSS JOIN " if entry.cross else ",\n  "
            alias = f" AS {identifier(entry.alias)}" if entry.alias is not None else ""
            text += f"{link}{entry.window.behind(identifier(entry.stream))}{alias}"
        for position, condition in enumerate(self._conditions):
            text += f"\n{'AND' if position else 'WHERE'} ({condition}\n)"
        return text

    def build(self, name: str = "query") -> Query:
        """The query. Raises `InputError` as `parse_query` does, with places in `to_sql()`."""
        return parse_query(self.to_sql(), name, self.catalog, self.views, f"{name} (built)")
