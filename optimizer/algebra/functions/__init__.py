"""The closed set of functions that expressions may call.

Meaning follows DuckDB, the test oracle, with SQL's three-valued logic: a NULL argument
gives NULL except where said. Every function is deterministic. One declaration says all that
binding, completion, the guide and the random search know of a function; what DuckDB computes
itself needs no more (`jobs.expressions.functions.reference.by_duckdb`), and the other ones
have an implementation in `jobs.expressions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optimizer.algebra.functions import (
    json,
    moments,
    numbers,
    operators,
    patterns,
    strings,
    uuids,
)
from optimizer.algebra.functions.declaration import KINDS, Function, Kind, Parameter

GROUPS: Mapping[str, Sequence[Function]] = {
    "Conditions and types": operators.FUNCTIONS,
    "Strings": strings.FUNCTIONS,
    "Regular expressions": patterns.FUNCTIONS,
    "Numbers": numbers.FUNCTIONS,
    "Dates and times": moments.FUNCTIONS,
    "UUIDs": uuids.FUNCTIONS,
    "JSON": json.FUNCTIONS,
}
"""Functions by the heading under which the guide lists them."""

FUNCTIONS = {
    function.name: function for group in GROUPS.values() for function in group if function.rule != "written"
}
"""What expressions call, by name."""

__all__ = ["FUNCTIONS", "GROUPS", "KINDS", "Function", "Kind", "Parameter"]
