"""What DuckDB calls an output column that the user gave no name."""

from __future__ import annotations

import duckdb

from optimizer.algebra.render import duckdb_type, quote
from optimizer.sql.binding.scalar.constants import connection
from optimizer.sql.binding.scope import Source


def output_name(text: str, sources: list[Source]) -> str | None:
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
