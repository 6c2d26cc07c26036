"""What DuckDB calls an output column that the user gave no name."""

from __future__ import annotations

import duckdb
from sqlglot import exp

from optimizer.expression_sql import duckdb_type, quote
from optimizer.sql.constants import connection
from optimizer.sql.dialect import Windowed
from optimizer.sql.scope import Source

_DIALECT = Windowed()


def output_name(item: exp.Expr, sources: list[Source]) -> str | None:
    """DuckDB's name for an expression over `sources`, such as `(d.delay + 1)`.

    DuckDB is asked itself, over empty relations. None if it would not accept the text.
    """
    relations = ", ".join(
        f"(SELECT {_typed_nulls(source)}) AS {quote(source.alias)}" for source in sources if source.columns
    )
    text = item.sql(dialect=_DIALECT, normalize_functions=False, comments=False)
    try:
        names = connection().cursor().sql(f"SELECT {text} FROM {relations}").columns
    except (duckdb.Error, RuntimeError):
        return None
    return str(names[0]) if len(names) == 1 else None


def _typed_nulls(source: Source) -> str:
    return ", ".join(
        f"CAST(NULL AS {duckdb_type(value.type)}) AS {quote(name)}" for name, value in source.columns
    )
