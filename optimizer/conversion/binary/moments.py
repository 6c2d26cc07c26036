"""Constant moments of calendar time, which DuckDB computes: we have no months."""

from __future__ import annotations

from sqlglot import exp

from optimizer.algebra.render import duckdb_type
from optimizer.algebra.types import ColumnType
from optimizer.conversion.binary.rendering import to_text
from optimizer.sql.binding.scalar.constants import connection


def fixed_moment(node: exp.Expr) -> exp.Expr:
    """DATE '1994-01-01' + INTERVAL 1 YEAR as a timestamp.

    Millrace has no months, only constants of them.
    """
    if not isinstance(node, exp.Add | exp.Sub) or node.find(exp.Column, exp.Query) is not None:
        return node
    # To sqlglot a cast is a function as well.
    if any(not isinstance(function, exp.Cast) for function in node.find_all(exp.Func)):
        return node
    if node.find(exp.Interval) is None or node.find(exp.Cast) is None:
        return node
    kind = duckdb_type(ColumnType.TIMESTAMP)
    row = connection().cursor().execute(f"SELECT CAST({to_text(node)} AS {kind})").fetchone()
    assert row is not None
    return exp.cast(exp.Literal.string(row[0].isoformat(" ")), kind, dialect="duckdb")
