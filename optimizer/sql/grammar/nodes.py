"""Which of sqlglot's syntax nodes have a meaning here, and which."""

from __future__ import annotations

from sqlglot import exp

from optimizer.algebra.types import ColumnType

T = ColumnType

BINARY: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "integer_divide",
    exp.Mod: "modulo",
    exp.Pow: "power",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.DPipe: "concat",
    exp.StartsWith: "starts_with",
    exp.RegexpLike: "regexp_matches",
    exp.SimilarTo: "regexp_full_match",
    exp.JSONExtractScalar: "json_extract_string",
    exp.BitwiseAnd: "bit_and",
    exp.BitwiseOr: "bit_or",
    exp.BitwiseLeftShift: "shift_left",
    exp.BitwiseRightShift: "shift_right",
}
TYPES: dict[exp.DType, ColumnType] = {
    exp.DType.BIGINT: T.BIGINT,
    exp.DType.INT: T.INT,
    exp.DType.DOUBLE: T.DOUBLE,
    exp.DType.TEXT: T.STRING,
    exp.DType.VARCHAR: T.STRING,
    exp.DType.CHAR: T.STRING,
    exp.DType.BOOLEAN: T.BOOLEAN,
    exp.DType.TIMESTAMP: T.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: T.TIMESTAMP,
    exp.DType.DATETIME: T.TIMESTAMP,
    exp.DType.DATE: T.DATE,
    exp.DType.BINARY: T.BINARY,
    exp.DType.VARBINARY: T.BINARY,
    exp.DType.BLOB: T.BINARY,
    exp.DType.UUID: T.UUID,
    exp.DType.TIME: T.TIME,
    exp.DType.INTERVAL: T.INTERVAL,
}


def type_of(node: exp.Expr) -> ColumnType | None:
    """The column type that a type in SQL names; None for one that there is not.

    >>> type_of(exp.DataType.build("decimal(12, 2)", dialect="duckdb")).value
    'decimal(12,2)'
    """
    if not isinstance(node, exp.DataType) or node.args.get("nested"):
        return None
    if node.this is not exp.DType.DECIMAL:
        return TYPES.get(node.this)
    digits = ",".join(part.name for part in node.expressions)
    try:
        return ColumnType(f"decimal({digits})" if digits else "decimal")
    except ValueError:
        return None


READ = frozenset(
    [
        "this",
        "expression",
        "expressions",
        "negate",
        "to",
        "ifs",
        "default",
        "low",
        "high",
        "symmetric",
        "unit",
        "start",
        "length",
        "zero_start",
        "table",
        "db",
        "quoted",
        "is_string",
        "query",
        "position",
        "collation",
        "typed",
        "safe",
        "coalesce",
        "alias",
        "over",
    ]
)
"""Arguments of syntax nodes that are read, or that say nothing about the meaning."""
UNSUPPORTED: tuple[tuple[type[exp.Expr], str, str], ...] = (
    (exp.Query, "a subquery", "a join, or a saved query that is read by its name"),
    (exp.Exists, "EXISTS here", "EXISTS as a condition of WHERE, joined to others by AND"),
    (exp.Filter, "FILTER", "an expression over one combination of tuples"),
    (exp.Window, "a window function", "an expression over one combination of tuples"),
    (exp.AggFunc, "an aggregate", "an expression over one combination of tuples"),
    (exp.Placeholder, "a parameter", "a value"),
    (exp.Parameter, "a parameter", "a value"),
    (exp.AtTimeZone, "AT TIME ZONE", "a timestamp, which is UTC"),
    (exp.TryCast, "TRY_CAST", "CAST"),
    (exp.Escape, "ESCAPE", "a pattern of % and _ without an escape character"),
    (exp.Alias, "an alias", "an expression without AS"),
    (exp.Star, "*", "a column"),
    (exp.Lambda, "a lambda", "an expression"),
    (exp.JSONExtract, "->, which gives JSON", "->>, which gives text"),
)
