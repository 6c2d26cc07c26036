"""A text to a `Query`: WITH, and SELECTs that UNION ALL joins."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.sql.binding.queries import Reader, read_query
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import read_statement


class StatementReader:
    """Reads one text; collects errors, so that an editor can underline all of them."""

    def __init__(self, source: SourceText, catalog: Catalog, views: Mapping[str, Query]) -> None:
        self._text = source
        self._catalog = catalog
        self._views = views
        self.errors: list[InputError] = []
        self.parts: list[Reader] = []
        """The readers of the SELECTs."""

    def read(self, name: str) -> Query | None:
        """The query, or None with at least one error in `errors`."""
        try:
            statement = read_statement(self._text)
            found: Query | None = None
            named = statement.args.pop("with_", None)
            for cte in () if named is None else named.expressions:
                self._name(cte)
            found, self.parts = read_query(self._text, statement, name, self._catalog, self._views)
            self.errors += (error for reader in self.parts for error in reader.errors)
        except InputError as error:
            self.errors.append(error)
            found = None
        self.errors.sort(key=lambda e: (e.place.line or 0, e.place.column or 0))
        return None if self.errors else found

    def _name(self, cte: exp.CTE) -> None:
        """Read a query of WITH, which is a view of those behind it."""
        alias, name = cte.args["alias"], str(cte.alias)
        span = span_of(alias)
        if alias.args.get("columns"):
            raise self._text.error(span, "unsupported", "columns behind a name in WITH", "AS in its SELECT")
        if self._catalog.find(name, False) is not None or name in self._views:
            found = f"the name {name}, which a stream or a query has"
            raise self._text.error(span, "duplicate-alias", found, "another name")
        view, readers = read_query(self._text, cte.this, name, self._catalog, self._views)
        if view is None:
            first, *others = (error for reader in readers for error in reader.errors)
            self.errors += others
            raise first
        self._views = {**self._views, name: view}
