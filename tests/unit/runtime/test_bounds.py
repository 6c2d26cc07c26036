"""Ranges never exclude a pair that satisfies its predicate."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.expressions import compile_expression
from jobs.join.range_join import best_stretches, pieces
from jobs.join.range_predicates import ranges_of
from optimizer.algebra.expression import Column, Expression, Literal
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call

R = Column("r", "x", ColumnType.DOUBLE)
S = Column("s", "x", ColumnType.DOUBLE)
B = Column("s", "b", ColumnType.BIGINT)
ONE = Literal(1.0, ColumnType.DOUBLE)
PREDICATES: dict[str, tuple[Expression, ...]] = {
    "band": (call("le", call("subtract", S, ONE), R), call("ge", call("add", S, ONE), R)),
    "absolute": (call("lt", call("abs", call("subtract", R, S)), ONE),),
    "absolute, at most": (call("ge", R, call("abs", call("subtract", S, ONE))),),
    "minus stored": (call("ge", call("subtract", ONE, S), R),),
    "difference": (call("gt", call("subtract", S, R), ONE),),
    "bigint": (call("le", call("subtract", B, Literal(1, ColumnType.BIGINT)), R),),
    "plain": (call("lt", R, S),),
}
DOUBLES = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, math.inf, -math.inf, math.nan]),
    st.floats(-10, 10),
)


@pytest.mark.parametrize("name", PREDICATES)
@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    arriving=st.lists(DOUBLES, min_size=1, max_size=8),
    stored=st.lists(st.tuples(DOUBLES, st.none() | st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=8),
)
def test_candidates_contain_every_match(
    name: str, arriving: list[float | None], stored: list[tuple[float | None, int | None]]
) -> None:
    left = pl.DataFrame({"r.x": arriving, "i": range(len(arriving))}, schema_overrides={"r.x": pl.Float64})
    right = pl.DataFrame(
        {"s.x": [x for x, _ in stored], "s.b": [b for _, b in stored], "j": range(len(stored))},
        schema_overrides={"s.x": pl.Float64, "s.b": pl.Int64},
    )
    conditions = [compile_expression(predicate) for predicate in PREDICATES[name]]
    matches = left.join(right, how="cross").filter(*conditions).select("i", "j").rows()
    found = best_stretches(left, right, list(ranges_of(PREDICATES[name], frozenset({"r"}))))
    candidates = {pair for table in pieces(left, found, 100) for pair in table.select("i", "j").rows()}
    assert set(matches) <= candidates


@pytest.mark.parametrize("name", [name for name in PREDICATES if name != "plain"])
def test_a_band_leaves_few_candidates(name: str) -> None:
    left = pl.DataFrame({"r.x": [500.0]})
    right = pl.DataFrame({"s.x": [float(i) for i in range(1000)], "s.b": range(1000)})
    (some,) = ranges_of(PREDICATES[name], frozenset({"r"}))
    assert best_stretches(left, right, [some]).pairs < 1000
