"""The list behind SELECT: what a query puts out, and under which names."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Expression, columns_of
from optimizer.algebra.identifiers import matches
from optimizer.algebra.render import duckdb_type, quote, to_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.grouping import GROUP
from optimizer.logical.query import Output
from optimizer.sql.binding.scalar.constants import connection
from optimizer.sql.binding.scalar.expressions import Translator
from optimizer.sql.binding.scope import Scope, Source
from optimizer.sql.grammar.places import SourceText, span_of


class SelectList:
    """Reads the list of one SELECT."""

    def __init__(
        self, text: SourceText, scope: Scope, translator: Translator, report: Callable[[InputError], None]
    ) -> None:
        self._text = text
        self._scope = scope
        self._translator = translator
        self._report = report

    def outputs(self, select: exp.Select) -> list[Output]:
        """The outputs that can be read; what is wrong with others is reported."""
        outputs: list[Output] = []
        taken: dict[str, bool] = {}
        """Folded output names; True if the user wrote the name."""
        explicit = [item.alias for item in select.expressions if isinstance(item, exp.Alias)]
        reserved = {name.casefold() for name in explicit}
        for item in select.expressions:
            try:
                for name, expression, chosen in self._output(item):
                    unique = self._unique(item, name, chosen, taken, reserved)
                    outputs.append(Output(unique, expression))
            except InputError as error:
                self._report(error)
        if not select.expressions:
            self._report(self._text.error((0, 6), "syntax", "SELECT without columns", "columns or *"))
        return outputs

    def _unique(
        self, item: exp.Expr, name: str, chosen: bool, taken: dict[str, bool], reserved: set[str]
    ) -> str:
        """Check that the user's names differ and number repeated columns.

        Repeated column names get _1, _2, as in DuckDB's tables.
        """
        if chosen:
            if taken.get(name.casefold()):
                raise self._text.error(
                    span_of(item.args["alias"]), "duplicate-output", f"output {name} twice", "another name"
                )
            taken[name.casefold()] = True
            return name
        unique, number = name, 1
        while unique.casefold() in taken or unique.casefold() in reserved:
            unique, number = f"{name}_{number}", number + 1
        taken[unique.casefold()] = False
        return unique

    def _output(self, item: exp.Expr) -> list[tuple[str, Expression, bool]]:
        """(name, expression, whether the user chose the name) of one entry of SELECT."""
        if isinstance(item, exp.Star):
            self._plain_star(item, item)
            return [(n, e, False) for n, e in self._all_columns()]
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            self._plain_star(item, item.this)
            return [(n, e, False) for n, e in self._scope.source(item.args["table"]).columns]
        if isinstance(item, exp.Alias):
            alias = item.args["alias"]
            if not alias.name:
                raise self._text.error(span_of(item), "syntax", "an empty name", "a name behind AS")
            expression = self._translator.expression(item.this)
            return [(alias.name, self._typed(item, expression), True)]
        expression = self._typed(item, self._translator.expression(item))
        if isinstance(item, exp.Column):
            return [(self._declared(item), expression, False)]
        extent = item.meta.get("text") or span_of(item)
        written = self._text.text[slice(*extent)] if extent else ""
        name = _output_name(written, self._scope.sources) if extent else None
        if any(column.input == GROUP for column in columns_of(expression)):
            # DuckDB does not know all forms of aggregates, and their columns have no names of their own.
            name = name or written
        return [(name or to_sql(expression), expression, False)]

    def _typed(self, item: exp.Expr, expression: Expression) -> Expression:
        if expression.type is ColumnType.INTERVAL:
            raise self._text.error(
                span_of(item),
                "type-mismatch",
                "interval",
                "a type that a column may have, such as EPOCH(...)",
            )
        return expression

    def _plain_star(self, item: exp.Expr, star: exp.Expr) -> None:
        if any(value for value in star.args.values()):
            raise self._text.error(
                span_of(item), "unsupported", "* with EXCLUDE, REPLACE or RENAME", "plain *"
            )

    def _all_columns(self) -> list[tuple[str, Expression]]:
        """Every source's columns in the order of FROM; those merged by USING once."""
        columns = []
        for source in self._scope.sources:
            for name, expression in source.columns:
                owner = self._scope.merged.get(name.casefold())
                if owner is None or owner is source:
                    columns.append((name, expression))
        return columns

    def _declared(self, column: exp.Column) -> str:
        """The column's name as its stream or view declares it."""
        quoted = bool(column.this.args.get("quoted"))
        alias = column.args.get("table")
        sources = [self._scope.source(alias)] if alias is not None else self._scope.sources
        names = [n for source in sources for n, _ in source.columns]
        exact = [n for n in names if n == column.name]
        return (exact or [n for n in names if matches(n, column.name, quoted)])[0]


def _output_name(text: str, sources: list[Source]) -> str | None:
    """DuckDB's name for an expression over `sources`: `(d.delay + 1)` for `d.delay+1`.

    DuckDB is asked itself, over empty relations; the text has been read as one expression
    before. None if DuckDB would not accept it.
    """
    relations = ", ".join(
        f"(SELECT {_typed_nulls(source)}) AS {quote(source.alias)}" for source in sources if source.columns
    )
    try:
        names = connection().cursor().sql(f"SELECT {text}\nFROM {relations}").columns
    except (duckdb.Error, RuntimeError):
        return None
    return str(names[0]) if len(names) == 1 else None


def _typed_nulls(source: Source) -> str:
    return ", ".join(
        f"CAST(NULL AS {duckdb_type(value.type)}) AS {quote(name)}" for name, value in source.columns
    )
