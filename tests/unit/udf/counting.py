"""Functions for tests: what they were called with is counted, what they do wrong is on purpose."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from optimizer.algebra.types import ColumnType
from optimizer.udf.registry import UserFunction

T = ColumnType
rows_seen: dict[str, int] = {}


def _counted(name: str, rows: int) -> None:
    rows_seen[name] = rows_seen.get(name, 0) + rows


def near(first: pa.Array, second: pa.Array) -> pa.Array:
    """True for numbers that differ by at most one."""
    assert first.null_count == second.null_count == 0
    _counted("near", len(first))
    return pc.less_equal(pc.abs(pc.subtract(first, second)), 1)


def odd_sum(first: pa.Array, second: pa.Array) -> list[bool]:
    """True for an odd sum."""
    _counted("odd_sum", len(first))
    return [(a + b) % 2 == 1 for a, b in zip(first.to_pylist(), second.to_pylist(), strict=True)]


def inverse(values: pa.Array) -> list[float]:
    """Raises for a column with a zero in it."""
    return [1 / value for value in values.to_pylist()]


def short(values: pa.Array) -> list[int]:
    """One answer too few, unless there is only one row."""
    return values.to_pylist()[: max(1, len(values) - 1)]


NEAR = UserFunction("near", f"{__name__}:near", (T.BIGINT, T.BIGINT), T.BOOLEAN, 50.0, symmetric=True)
ODD_SUM = UserFunction("odd_sum", f"{__name__}:odd_sum", (T.BIGINT, T.BIGINT), T.BOOLEAN, 2.0)
INVERSE = UserFunction("inverse", f"{__name__}:inverse", (T.DOUBLE,), T.DOUBLE, 1.0)
SHORT = UserFunction("short", f"{__name__}:short", (T.BIGINT,), T.BIGINT, 1.0)
DECLARED = """
functions:
  near:
    call: tests.unit.udf.counting:near
    arguments: [bigint, bigint]
    returns: boolean
    cost_us: 50
    symmetric: true
  odd_sum:
    call: tests.unit.udf.counting:odd_sum
    arguments: [bigint, bigint]
    returns: boolean
    cost_us: 2
"""
