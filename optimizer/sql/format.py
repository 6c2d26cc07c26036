"""SQL text laid out evenly, with its windows, comments and meaning unchanged."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator

from optimizer.sql.dialect import Windowed, WindowText
from optimizer.sql.places import SourceText
from optimizer.sql.syntax import read_select


class WindowedGenerator(DuckDBGenerator):
    """DuckDB's SQL with each window in the form in which the user wrote it."""

    def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
        window = expression.meta.get("window")
        text = self.sql(expression, "this")
        if isinstance(window, WindowText):
            text += _window_sql(window)
        alias = expression.args.get("alias")
        return f"{text}{sep}{self.sql(alias)}" if alias is not None else text

    def interval_sql(self, expression: exp.Interval) -> str:
        unit = expression.args.get("unit")
        return f"INTERVAL {self.sql(expression, 'this')}" + (
            f" {unit.name.upper()}" if unit is not None else ""
        )


class _Formatted(Windowed):
    Parser = Windowed.Parser
    Generator = WindowedGenerator


_DIALECT = _Formatted()


def format_query(text: str) -> str:
    """The query, one clause per line.

    >>> print(format_query("select a from r [range 1 minute], s where r.k=s.k"))
    SELECT
      a
    FROM r [RANGE 1 MINUTE], s
    WHERE
      r.k = s.k
    <BLANKLINE>

    Raises `InputError` for a text that is no single SELECT.
    """
    select = read_select(SourceText(text, "query"))
    return select.sql(dialect=_DIALECT, pretty=True, normalize_functions="upper") + "\n"


def _window_sql(window: WindowText) -> str:
    if window.form == "call":
        number = (window.number or "").replace("'", "''")
        unit = window.unit.replace("'", "''")
        return f"('sliding', '{number}', '{unit}')"
    if window.number is None:
        return " [RANGE UNBOUNDED]"
    return f" [RANGE {window.number} {window.unit.upper()}]"
