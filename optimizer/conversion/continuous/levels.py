"""How many groups lie behind each other between a query and the streams.

The event time of a group is the end of its bucket. Groups of groups are therefore a bucket later than those
that they are made of, and a window within which both are joined must be longer by that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from optimizer.conversion.binary.syntax import aggregates
from optimizer.logical.query import Query


def is_grouped(select: exp.Select) -> bool:
    """True if a SELECT makes groups of its rows."""
    clauses = (select.args.get(clause) for clause in ("group", "having", "distinct"))
    return any(clauses) or any(aggregates(item) for item in select.expressions)


def joined_level(query: exp.Query, views: Mapping[str, Query]) -> int:
    """The most groups behind each other of anything that a text joins.

    What EXISTS and IN ask is joined as well.

    >>> from optimizer.conversion.binary.dialect import read_statement
    >>> from optimizer.sql.grammar.places import SourceText
    >>> groups = "(SELECT k, count(*) AS n FROM a GROUP BY k)"
    >>> joined_level(read_statement(SourceText(f"SELECT * FROM {groups} AS t JOIN b ON t.k = b.k", "q")), {})
    1
    >>> joined_level(read_statement(SourceText(f"SELECT max(n) FROM {groups} AS t", "q")), {})
    0
    """
    reader = _Levels(views)
    reader.level(query, {})
    return reader.joined


class _Levels:
    def __init__(self, views: Mapping[str, Query]) -> None:
        self._views = views
        self.joined = 0

    def level(self, query: exp.Expr, named: Mapping[str, int]) -> int:
        """Of a query's results; `named` are the entries of WITH before it."""
        query = query.unnest()
        with_ = query.args.get("with_")
        for cte in () if with_ is None else with_.expressions:
            named = {**named, cte.alias.casefold(): self.level(cte.this, named)}
        if isinstance(query, exp.SetOperation):
            return max(self.level(query.this, named), self.level(query.expression, named))
        assert isinstance(query, exp.Select)
        read = [self._entry(entry, named) for entry in _entries(query)]
        asked = [self.level(inner, named) for inner in _asked(query)]
        highest = max([*read, *asked], default=0)
        if len(read) + len(asked) > 1:
            self.joined = max(self.joined, highest)
        return highest + is_grouped(query)

    def _entry(self, entry: exp.Expr, named: Mapping[str, int]) -> int:
        if isinstance(entry, exp.Subquery):
            return self.level(entry.this, named)
        name = entry.name.casefold()
        if name in named:
            return named[name]
        view = next((view for view in self._views if view.casefold() == name), None)
        return 0 if view is None else _level_of(self._views[view])


def _level_of(query: Query) -> int:
    behind = max((_level_of(derived.query) for derived in query.derived), default=0)
    return behind + (query.grouping is not None)


def _entries(select: exp.Select) -> Iterable[exp.Expr]:
    """The streams and queries in FROM, those in brackets too."""
    start = select.args.get("from_")
    pending: list[exp.Expr] = [] if start is None else [start.this]
    pending += (join.this for join in select.args.get("joins") or ())
    while pending:
        entry = pending.pop()
        pending += (join.this for join in entry.args.get("joins") or ())
        if isinstance(entry, exp.Subquery) and not isinstance(entry.this, exp.Select | exp.SetOperation):
            pending.append(entry.this)
        else:
            yield entry


def _asked(select: exp.Select) -> Iterable[exp.Query]:
    """The queries that conditions and outputs ask."""
    nodes = [*select.expressions, select.args.get("where"), select.args.get("having")]
    for node in nodes:
        if node is None:
            continue
        inside = node.walk(prune=lambda n: isinstance(n, exp.Select | exp.SetOperation))
        yield from (part for part in inside if isinstance(part, exp.Select | exp.SetOperation))
