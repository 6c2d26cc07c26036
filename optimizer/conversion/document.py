"""A conversion as one document, for the terminal, JSON and the web application."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import TypeAdapter

from optimizer.conversion.drawing import Operator, draw, to_lines
from optimizer.conversion.multiway.plan import Conversion, ConvertedJoin


@dataclass(frozen=True, slots=True)
class SubqueryInput:
    """An input of a multi-way join that is no stream."""

    name: str
    rows: str
    """SQL that gives its rows, over the streams' tables and those of the joins before."""


@dataclass(frozen=True, slots=True)
class JoinDocument:
    """One multi-way join."""

    name: str
    inputs: tuple[str, ...]
    """Their aliases, sorted."""
    sql: str
    """As Millrace's SQL."""
    subqueries: tuple[SubqueryInput, ...]
    """Inputs whose rows must be complete before the join begins; none if it runs on growing streams."""


@dataclass(frozen=True, slots=True)
class ConvertedQuery:
    """A query's plan before and after."""

    query: str
    before: Operator
    after: Operator
    joins: tuple[JoinDocument, ...]
    """Whatever one reads stands before it."""
    rest: str
    """What is left, as DuckDB's SQL over the results of `joins` and over streams."""


def document(name: str, conversion: Conversion) -> ConvertedQuery:
    """The document of a query's conversion.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in "rst")
    >>> from optimizer.conversion import convert
    >>> made = convert("SELECT max(r.a) FROM r JOIN s ON r.a = s.a JOIN t ON s.a = t.a", catalog)
    >>> [join.inputs for join in document("q", made).joins]
    [('r', 's', 't')]
    """
    joins = tuple(map(_join, conversion.joins))
    before = draw(conversion.before, conversion.became)
    return ConvertedQuery(name, before, draw(conversion.after), joins, conversion.rest)


def to_json(queries: tuple[ConvertedQuery, ...]) -> str:
    """Conversions as one line of JSON: `{"queries": [...]}`.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in "rst")
    >>> from optimizer.conversion import convert
    >>> made = convert("SELECT max(r.a) FROM r JOIN s ON r.a = s.a JOIN t ON s.a = t.a", catalog)
    >>> to_json((document("q", made),))[:30]
    '{"queries":[{"query":"q","befo'
    """
    return TypeAdapter(dict[str, tuple[ConvertedQuery, ...]]).dump_json({"queries": queries}).decode()


def to_text(query: ConvertedQuery) -> str:
    """A conversion as readable text, the same bytes for the same query.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in "rst")
    >>> from optimizer.conversion import convert
    >>> made = convert("SELECT max(r.a) FROM r JOIN s ON r.a = s.a JOIN t ON s.a = t.a", catalog)
    >>> print(to_text(document("q", made)).splitlines()[1])
      before
    """
    return "\n".join(_lines(query)) + "\n"


def _join(converted: ConvertedJoin) -> JoinDocument:
    return JoinDocument(
        converted.join.name,
        tuple(i.alias for i in converted.join.query.inputs),
        converted.join.sql,
        tuple(SubqueryInput(derived.stream.name, derived.rows) for derived in converted.derived),
    )


def _lines(query: ConvertedQuery) -> Iterator[str]:
    yield query.query
    for title, plan in (("before", query.before), ("after", query.after)):
        yield f"  {title}"
        yield from (f"    {line}" for line in to_lines(plan))
    if not query.joins:
        yield "  no tree of three or more inner joins: nothing is converted"
    for join in query.joins:
        waits = ", ".join(subquery.name for subquery in join.subqueries)
        yield f"  {join.name}" + (f", once {waits} is complete" if waits else "")
        yield from (f"    {line}" for line in join.sql.rstrip("\n").splitlines())
    if query.joins:
        yield "  rest"
        yield f"    {query.rest}"
