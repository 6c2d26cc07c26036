"""The functions that SQL may call, under every name that DuckDB knows for them."""

from __future__ import annotations

from optimizer.algebra.aggregates import AGGREGATE_NAMES
from optimizer.algebra.functions import FUNCTIONS, GROUPS

_KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "CASE", "CAST"})
CALLS: dict[str, str] = {
    name: function.name
    for function in FUNCTIONS.values()
    for name in (function.sql.lower(), *function.aliases)
    if name.isidentifier() and name.upper() not in _KEYWORDS
}
"""DuckDB's name to ours."""

_PLURALS = (
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "quarter",
    "week",
    "millisecond",
    "microsecond",
)
_PARTS = (*_PLURALS, "dayofyear", "isodow", "isoyear", "yearweek", "decade", "century", "millennium", "era")
PARTS: dict[str, str] = {
    **{part: part for part in _PARTS},
    **{f"{part}s": part for part in (*_PLURALS, "decade")},
    "mon": "month",
    "dayofmonth": "day",
    "dow": "day_of_week",
    "dayofweek": "day_of_week",
    "weekday": "day_of_week",
    "doy": "dayofyear",
    "weekofyear": "week",
    "centuries": "century",
    "millennia": "millennium",
    "julian": "julian",
    "epoch": "epoch",
}
"""What EXTRACT and DATE_PART may take out of a timestamp."""

WRITTEN = {
    name: function
    for group in GROUPS.values()
    for function in group
    if function.rule == "written"
    for name in (function.sql.lower(), *function.aliases)
}
"""Calls of which binding makes other ones."""
SUGGESTED = tuple(sorted({*CALLS, *WRITTEN, *AGGREGATE_NAMES, "cast"}))

RENAMED: dict[str, str] = {
    "btrim": "trim",
    "char": "chr",
    "endswith": "ends_with",
    "iff": "if",
    "iif": "if",
    "nvl": "coalesce",
    "regexp_like": "regexp_matches",
    "rlike": "regexp_matches",
    "startswith": "starts_with",
    "truncate": "trunc",
}
"""Functions of other dialects that differ from ours by their name alone."""

ELSEWHERE: dict[str, str] = {
    "bitxor": "xor",
    "charindex": "strpos",
    "convert": "cast",
    "date_bin": "time_bucket",
    "date_format": "strftime",
    "dateadd": "date_add",
    "from_unixtime": "to_timestamp",
    "get_json_object": "json_extract_string",
    "isnull": "coalesce",
    "json_value": "json_extract_string",
    "locate": "strpos",
    "position": "strpos",
    "regexp_substr": "regexp_extract",
    "sha2": "sha256",
    "str_to_date": "strptime",
    "substring_index": "split_part",
    "timestampdiff": "date_diff",
    "to_char": "strftime",
    "to_date": "strptime",
    "unix_timestamp": "epoch",
}
"""Functions of other dialects whose arguments stand otherwise in ours."""

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
        *AGGREGATE_NAMES,
        "any_value",
        "first",
        "last",
        "list",
        "array_agg",
        "mode",
        "corr",
        "covar_pop",
        "covar_samp",
        "bit_and",
        "bit_or",
        "bit_xor",
        "approx_count_distinct",
        "histogram",
        "product",
        "sumif",
        "kurtosis",
        "skewness",
        "entropy",
        "count_star",
        "fsum",
        "favg",
    ]
)
"""Aggregates of DuckDB: ours, and others that are told by name."""
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
