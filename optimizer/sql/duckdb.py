"""Queries as DuckDB's SQL: the oracle that says what a query's results are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from optimizer.algebra.expression import Call
from optimizer.algebra.render import quote, to_duckdb_sql
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query

_NEVER_RAISE = frozenset({"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "is_null", "in", "case"})
"""Around these nothing is needed, and DuckDB sees what it can join by."""


def null_where_it_errs(call: Call, text: str) -> str:
    """A call as the runtime has it: NULL where DuckDB ends the query.

    Becomes `TRY` for `to_duckdb`.

    >>> from optimizer.algebra.expression import Column
    >>> from optimizer.algebra.types import ColumnType
    >>> cast = Call("cast", (Column("a", "x", ColumnType.STRING),), ColumnType.BIGINT)
    >>> null_where_it_errs(cast, "CAST(a.x AS BIGINT)")
    'TRY(CAST(a.x AS BIGINT))'
    """
    return text if call.function in _NEVER_RAISE else f"TRY({text})"


def to_duckdb(
    query: Query,
    catalog: Catalog,
    beside: Sequence[str] = (),
    also: Sequence[str] = (),
    around: Callable[[Call, str], str] | None = None,
) -> str:
    """SQL for DuckDB that gives the query's results over relations named like streams.

    A window is the pairwise condition that no tuple of the combination is more than it
    behind another (DESIGN section 1): for a over 1 s and b unbounded,
    `epoch_us(b.at)::HUGEINT - epoch_us(a.at) <= 1000000`.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in ("r", "s"))
    >>> query = parse_query("SELECT r.a FROM r [RANGE 1 SECOND], s WHERE r.a = s.a", "q", catalog)
    >>> print(to_duckdb(query, catalog))
    SELECT "r"."a" AS "a"
    FROM "r" AS "r", "s" AS "s"
      WHERE ("r"."a" = "s"."a")
      AND (epoch_us("s"."at")::HUGEINT - epoch_us("r"."at") <= 1000000)

    Args:
        query: what is asked.
        catalog: has the query's streams.
        beside: DuckDB's SQL of further columns, behind the outputs, such as `a.arrival AS "arrival"`.
        also: DuckDB's SQL of further conditions.
        around: written around each call, such as `null_where_it_errs`.
    Raises:
        KeyError: the catalog lacks one of the query's streams.
    """
    moments = {i.alias: f"{quote(i.alias)}.{quote(catalog[i.stream].event_time)}" for i in query.inputs}
    conditions = [to_duckdb_sql(predicate, around) for predicate in query.predicates]
    conditions += [
        condition
        for old, new in permutations(query.inputs, 2)
        if (condition := old.window.duckdb_condition(moments[new.alias], moments[old.alias])) is not None
    ]
    conditions += also
    columns = [f"{to_duckdb_sql(o.expression, around)} AS {quote(o.name)}" for o in query.outputs]
    outputs = ", ".join([*columns, *beside])
    sources = ", ".join(f"{quote(i.stream)} AS {quote(i.alias)}" for i in query.inputs)
    where = "".join(f"\n  {'AND' if n else 'WHERE'} ({c})" for n, c in enumerate(conditions))
    return f"SELECT {outputs}\nFROM {sources}{where}"
