"""Logic, comparisons, choices between values, and casts."""

from __future__ import annotations

from optimizer.algebra.functions.declaration import declared, operator

FUNCTIONS = (
    operator("and", "AND", 2, None, "boolean"),
    operator("or", "OR", 2, None, "boolean"),
    operator("not", "NOT", 1, 1, "boolean"),
    operator("eq", "=", 2, 2, "comparison"),
    operator("ne", "<>", 2, 2, "comparison"),
    operator("lt", "<", 2, 2, "comparison"),
    operator("le", "<=", 2, 2, "comparison"),
    operator("gt", ">", 2, 2, "comparison"),
    operator("ge", ">=", 2, 2, "comparison"),
    operator("is_null", "IS NULL", 1, 1, "any_boolean"),
    operator("in", "IN", 2, None, "comparison"),
    operator("case", "CASE", 2, None, "case"),
    declared(
        "IF(condition boolean, value any, otherwise? any) -> value",
        "One value where a condition is true, and another one, or NULL, where it is not.",
        "IF(3 > 2, 'yes', 'no')",
        rule="written",
    ),
    declared(
        "COALESCE(value any, ...) -> value",
        "The first value that is not NULL.",
        "COALESCE(NULL, 'none')",
        rule="first",
        aliases=("ifnull",),
    ),
    declared(
        "NULLIF(value any, other any) -> value",
        "The value; NULL where it equals the other one.",
        "NULLIF(5, 0)",
        rule="first",
    ),
    declared(
        "LEAST(value any, other any, ...) -> value",
        "The least of the values that are not NULL.",
        "LEAST(3, 1, 2)",
        rule="first",
    ),
    declared(
        "GREATEST(value any, other any, ...) -> value",
        "The greatest of the values that are not NULL.",
        "GREATEST(3, 1, 2)",
        rule="first",
    ),
    declared(
        "CAST(value any) -> value",
        "The value as another type; NULL where it cannot be.",
        "CAST('5' AS INT)",
        rule="cast",
        shown="CAST(value AS type)",
    ),
)
