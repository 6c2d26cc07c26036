"""Parse and bind SQL into queries.

Beside `optimizer.conversion` this is the only package that knows sqlglot.
"""

from __future__ import annotations

from collections.abc import Mapping

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Expression
from optimizer.algebra.render import quote, to_sql
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.sql.binding.groups.finality import finality
from optimizer.sql.binding.inference import inferred_catalog
from optimizer.sql.binding.outer.deadlines import deadlines
from optimizer.sql.binding.queries import Reader
from optimizer.sql.binding.statement import StatementReader
from optimizer.sql.binding.unbounded import unbounded
from optimizer.sql.duckdb import (
    EXACT_SUM,
    SESSION_LAST,
    groups_to_duckdb,
    newest_first,
    null_where_it_errs,
    to_duckdb,
)
from optimizer.sql.format import format_query
from optimizer.sql.grammar.places import SourceText
from optimizer.sql.grammar.syntax import is_plain_identifier, read_condition, read_statement, read_streams

_NO_VIEWS: Mapping[str, Query] = {}


def parse_query(
    text: str,
    name: str,
    catalog: Catalog | None,
    views: Mapping[str, Query] = _NO_VIEWS,
    source: str | None = None,
) -> Query:
    """The query that a text means.

    `name` is the query's name, `views` the queries that it may read beside the catalog's
    streams, `source` what errors call the text (default: the query's name). Without a
    catalog every stream exists with the columns that the text names, typed by their use
    as `optimizer.sql.binding.inference` says.

    >>> query = parse_query("SELECT r.a FROM r [RANGE 1 MINUTE], s WHERE r.a = s.a AND r.b > 3", "q", None)
    >>> [(item.stream, item.window.text) for item in query.inputs]
    [('r', '1m'), ('s', 'all')]
    >>> [to_sql(predicate) for predicate in query.predicates]
    ['r.a = s.a', 'r.b > 3']

    Raises `InputError`, and nothing else, for a text that means no query; of several
    errors the first in the text.
    """
    place = SourceText(text, source or name)
    known = catalog if catalog is not None else inferred_catalog(place, views)
    reader = StatementReader(place, known, views)
    query = reader.read(name)
    if query is None:
        raise reader.errors[0]
    return query


def check(text: str, catalog: Catalog, views: Mapping[str, Query] = _NO_VIEWS) -> list[InputError]:
    """All errors of a text, in its order; empty if `parse_query` would accept it.

    >>> check("SELECT a FROM missing", Catalog())[0].code
    'unknown-stream'
    """
    reader = StatementReader(SourceText(text, "query"), catalog, views)
    reader.read("query")
    return reader.errors


def hints(text: str, catalog: Catalog, views: Mapping[str, Query] = _NO_VIEWS) -> list[InputError]:
    """What a text that has a meaning leaves open; empty for one that has none.

    Each hint is told as an error is, and nothing is refused for it.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in ("r", "s"))
    >>> print(hints("SELECT r.a FROM r, s WHERE r.a = s.a AND r.at <= s.at", catalog)[0])
    ... # doctest: +NORMALIZE_WHITESPACE
    query:1:17: found r without a window: its tuples are kept for ever, expected s.at <= r.at
    + INTERVAL '1' HOUR, a window, or [RANGE UNBOUNDED] if that is meant; did you mean r [RANGE 1 HOUR]?
    >>> joined = "SELECT r.a FROM r [RANGE 30 MINUTES] LEFT JOIN s [RANGE 0 SECONDS] ON r.a = s.a"
    >>> print(hints(joined, catalog)[0])
    query:1:38: found results of r without s, expected 30 minutes after r.at
    """
    source = SourceText(text, "query")
    reader = StatementReader(source, catalog, views)
    if reader.read("query") is None:
        return []
    told: list[InputError] = []
    for part in reader.parts:
        assert part.found is not None, "what can be read has all of its parts"
        known = catalog.beside([part.found])
        told += unbounded(source, part.found, part.sources, known)
        told += deadlines(source, part.found, known, part.waiting)
        told += finality(source, part.found, known)
    return told


def parse_predicate(text: str, catalog: Catalog, source: str | None = None) -> Expression:
    """Parse a predicate, such as `r.a = s.a`, over streams called by their own names.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in ("r", "s"))
    >>> parse_predicate("s.a = r.a", catalog) == parse_predicate("r.a = s.a", catalog)
    True

    Raises `InputError`, also where the text is a conjunction of several predicates.
    """
    place = SourceText(text, source or "predicate")
    predicates = Reader(place, catalog, {}).read_condition()
    if len(predicates) != 1:
        found = f"{len(predicates)} predicates"
        raise place.error(None, "several-predicates", found, "one predicate, such as r.a = s.a")
    return predicates[0]


def streams_read(text: str) -> tuple[str, ...]:
    """The names in FROM, streams and views, in the text's order; none if no query.

    >>> streams_read("SELECT * FROM r, s WHERE r.a = s.a"), streams_read("no query")
    (('r', 's'), ())
    """
    try:
        statement = read_statement(SourceText(text, "query"))
    except InputError:
        return ()
    return tuple(dict.fromkeys(table.name for table in read_streams(statement)))


def check_condition(text: str, source: str = "condition") -> None:
    """Raise `InputError` unless a text is one condition by its syntax.

    Names are not looked up.

    >>> check_condition("r.a < 3")
    >>> check_condition("r.a <")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    optimizer.algebra.errors.InputError: condition:1:6: found the end of the query, ...
    """
    read_condition(SourceText(text, source))


def identifier(name: str) -> str:
    """A name as SQL that means it, unquoted (so regardless of case) where possible.

    >>> identifier("origin"), identifier("select"), identifier("two words")
    ('origin', '"select"', '"two words"')
    """
    return name if is_plain_identifier(name) else quote(name)


__all__ = [
    "EXACT_SUM",
    "SESSION_LAST",
    "check",
    "check_condition",
    "format_query",
    "groups_to_duckdb",
    "hints",
    "identifier",
    "newest_first",
    "null_where_it_errs",
    "parse_predicate",
    "parse_query",
    "streams_read",
    "to_duckdb",
    "to_sql",
]
