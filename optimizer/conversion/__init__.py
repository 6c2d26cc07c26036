"""Convert plans of binary joins to plans of multi-way joins (TSC).

UMJoin section 3.2; docs/design/conversion.md.

Knows sqlglot, as `optimizer.sql` does.
"""

from __future__ import annotations

from optimizer.conversion.continuous.query import ContinuousQuery, continuous, window_of
from optimizer.conversion.document import (
    ConvertedQuery,
    JoinDocument,
    SubqueryInput,
    document,
    to_json,
    to_text,
)
from optimizer.conversion.drawing import Operator, draw, to_lines
from optimizer.conversion.multiway.plan import Conversion, ConvertedJoin, DerivedInput, convert
from optimizer.conversion.unregistered_tables import (
    Unregistered,
    UnregisteredTable,
    UsedColumn,
    unregistered,
)

__all__ = [
    "ContinuousQuery",
    "Conversion",
    "ConvertedJoin",
    "ConvertedQuery",
    "DerivedInput",
    "JoinDocument",
    "Operator",
    "SubqueryInput",
    "Unregistered",
    "UnregisteredTable",
    "UsedColumn",
    "continuous",
    "convert",
    "document",
    "draw",
    "to_json",
    "to_lines",
    "to_text",
    "unregistered",
    "window_of",
]
