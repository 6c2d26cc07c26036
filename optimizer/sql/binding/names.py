"""The functions that SQL may call, under every name that DuckDB knows for them."""

from __future__ import annotations

from optimizer.algebra.functions import FUNCTIONS

_KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "CASE", "CAST"})
CALLS: dict[str, str] = {
    name: function.name
    for function in FUNCTIONS.values()
    for name in (function.sql.lower(), *function.aliases)
    if name.isidentifier() and name.upper() not in _KEYWORDS
}
"""DuckDB's name to ours; `concat`, `if` and `date_part` are handled by their own rules."""

PARTS: dict[str, str] = {
    "year": "year",
    "years": "year",
    "month": "month",
    "months": "month",
    "mon": "month",
    "day": "day",
    "days": "day",
    "dayofmonth": "day",
    "hour": "hour",
    "hours": "hour",
    "minute": "minute",
    "minutes": "minute",
    "second": "second",
    "seconds": "second",
    "dow": "day_of_week",
    "dayofweek": "day_of_week",
    "weekday": "day_of_week",
    "epoch": "epoch",
}
"""What EXTRACT and DATE_PART may take out of a timestamp."""

SPECIAL = ("concat", "if", "date_part", "datepart", "extract", "cast")
SUGGESTED = tuple(sorted({*CALLS, *SPECIAL}))

VOLATILE = frozenset(
    [
        "now",
        "random",
        "uuid",
        "gen_random_uuid",
        "today",
        "current_date",
        "current_time",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "get_current_timestamp",
        "get_current_time",
        "transaction_timestamp",
        "setseed",
        "rand",
        "nextval",
        "currval",
        "uuidv4",
        "uuidv7",
        "current_localtimestamp",
        "current_localtime",
    ]
)
"""Functions whose value depends on when or how often they are called."""

AGGREGATES = frozenset(
    [
        "count",
        "sum",
        "avg",
        "mean",
        "min",
        "max",
        "any_value",
        "arg_max",
        "arg_min",
        "argmax",
        "argmin",
        "first",
        "last",
        "list",
        "array_agg",
        "string_agg",
        "group_concat",
        "listagg",
        "median",
        "mode",
        "quantile",
        "quantile_cont",
        "quantile_disc",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "variance",
        "var_pop",
        "var_samp",
        "corr",
        "covar_pop",
        "covar_samp",
        "bool_and",
        "bool_or",
        "bit_and",
        "bit_or",
        "bit_xor",
        "approx_count_distinct",
        "histogram",
        "product",
        "count_if",
        "sumif",
        "kurtosis",
        "skewness",
        "entropy",
        "count_star",
        "max_by",
        "min_by",
        "fsum",
        "favg",
    ]
)
RANKINGS = frozenset(
    [
        "row_number",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
        "ntile",
        "lag",
        "lead",
        "first_value",
        "last_value",
        "nth_value",
    ]
)
"""Functions that only make sense with OVER (...)."""
