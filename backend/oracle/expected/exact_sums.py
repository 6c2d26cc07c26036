"""Sums of doubles that are rounded once, for DuckDB.

Its own depend on the order. Where what is summed cancels out little is left but what they were rounded by: a
balance that is 0 again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from optimizer.sql import EXACT_SUM


def let_sum(connection: duckdb.DuckDBPyConnection) -> None:
    """Let SQL on a connection call EXACT_SUM."""
    connection.create_function(
        EXACT_SUM,
        _over_lists,
        [duckdb.list_type(duckdb.sqltype("DOUBLE"))],
        duckdb.sqltype("DOUBLE"),
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
        side_effects=False,
    )


def exact_sum(numbers: Sequence[float | None] | None) -> float | None:
    """The sum of those that are not NULL, rounded once; NULL of none.

    >>> exact_sum([0.1, None, 0.2, -0.1, -0.2]), exact_sum([None]), exact_sum([math.inf, -math.inf])
    (0.0, None, nan)
    >>> exact_sum([1e308, 1e308, -1e308]), exact_sum([-1e308, -1e308])
    (1e+308, -inf)
    """
    known = [number for number in numbers or () if number is not None]
    if not known:
        return None
    if not all(map(math.isfinite, known)):
        return sum(known)
    try:
        return math.fsum(known)
    except OverflowError:
        # What is between may be beyond all doubles though the sum is not.
        total = sum(map(Fraction, known), Fraction())
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _over_lists(lists: pa.ChunkedArray | pa.Array) -> pa.Array:
    return pa.array([exact_sum(numbers) for numbers in lists.to_pylist()], pa.float64())
