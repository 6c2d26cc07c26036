"""A text to a `Query`: WITH, and SELECTs that UNION ALL joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.sql.binding.outer.branching import MOST_BRANCHES
from optimizer.sql.binding.queries import MOST_INPUTS, Reader
from optimizer.sql.binding.union import united
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import read_statement, selects_of


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
            selects = selects_of(self._text, statement)
            named = statement.args.pop("with_", None)
            for cte in () if named is None else named.expressions:
                self._name(cte)
            found = [self._part(select, name) for select in selects]
            parts = [part for part in found if part is not None]
            if len(parts) == len(selects) > 1:
                self._check_work(parts)
                return united(name, parts, selects, self._text)
        except InputError as error:
            self.errors.append(error)
            parts = []
        self.errors.sort(key=lambda e: (e.place.line or 0, e.place.column or 0))
        return None if self.errors else parts[0]

    def _check_work(self, parts: Sequence[Query]) -> None:
        """All parts are planned together: what bounds one query bounds them."""
        inputs = sum(len(part.inputs) for part in parts)
        branches = sum(len(part.branches) or 1 for part in parts)
        if inputs > MOST_INPUTS:
            found, expected = f"{inputs} streams", f"at most {MOST_INPUTS} in a query and its views"
            raise self._text.error(None, "too-many-inputs", found, expected)
        if branches > MOST_BRANCHES:
            found, expected = f"outer joins of {branches} cases", f"at most {MOST_BRANCHES} in a query"
            raise self._text.error(None, "unsupported", found, expected)

    def _part(self, select: exp.Select, name: str) -> Query | None:
        reader = Reader(self._text, self._catalog, self._views)
        self.parts.append(reader)
        found = reader.read(select, name)
        self.errors += reader.errors
        return found

    def _name(self, cte: exp.CTE) -> None:
        """Read a query of WITH, which is a view of those behind it."""
        alias, name = cte.args["alias"], str(cte.alias)
        span = span_of(alias)
        if alias.args.get("columns"):
            raise self._text.error(span, "unsupported", "columns behind a name in WITH", "AS in its SELECT")
        if self._catalog.find(name, False) is not None or name in self._views:
            found = f"the name {name}, which a stream or a query has"
            raise self._text.error(span, "duplicate-alias", found, "another name")
        if not isinstance(cte.this, exp.Select):
            raise self._text.error(span, "unsupported", "UNION ALL in WITH", "one SELECT")
        reader = Reader(self._text, self._catalog, self._views)
        view = reader.read(cte.this, name)
        if view is None:
            first, *others = reader.errors
            self.errors += others
            raise first
        self._views = {**self._views, name: view}
