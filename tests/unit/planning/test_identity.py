"""Constants and casts are what they are: by type and bits, and only left out where SQL makes them itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import duckdb
import polars as pl
import pytest

from jobs.expressions import compile_expression
from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Call, Column, Expression, Literal
from optimizer.algebra.render import to_duckdb_sql
from optimizer.algebra.types import PLAIN_TYPES, ColumnType
from optimizer.algebra.typing import call
from optimizer.logical.canonical_inputs import canonical_expression, conjuncts, sort_key

T = ColumnType
CONSTANTS = [
    *(Literal(value, T.DOUBLE) for value in (0.0, -0.0, 1.0, math.nan, math.inf, 2.0**53)),
    *(Literal(value, T.BIGINT) for value in (0, 1, 2**53)),
    *(Literal(value, T.INT) for value in (0, 1)),
    *(Literal(value, T.BOOLEAN) for value in (False, True)),
    *(Literal(None, kind) for kind in PLAIN_TYPES),
    *(Literal("2013-01-31", kind) for kind in (T.STRING, T.DATE)),
]
X = Column("r", "x", T.DOUBLE)


@pytest.mark.parametrize("pair", list(combinations(CONSTANTS, 2)), ids=lambda p: f"{p[0].value}-{p[1].value}")
def test_different_constants_are_different_everywhere(pair: tuple[Literal, Literal]) -> None:
    one, other = (Call("is_null", (c,), T.BOOLEAN) for c in pair)

    assert one != other
    assert len({one, other}) == 2
    assert digest("p", one) != digest("p", other)
    assert sort_key(one) != sort_key(other)


def test_nan_is_the_same_constant_as_nan() -> None:
    one, other = (Literal(float("nan"), T.DOUBLE) for _ in range(2))

    assert one == other
    assert {one} == {other}


@pytest.mark.parametrize("constant", CONSTANTS[:6], ids=str)
def test_a_double_is_written_so_that_duckdb_reads_it(constant: Literal) -> None:
    for expression in (
        constant,
        Call("negate", (constant,), T.DOUBLE),
        Call("subtract", (constant, constant), T.DOUBLE),
    ):
        ((found,),) = duckdb.sql(f"SELECT {to_duckdb_sql(expression)}").fetchall()
        expected = pl.select(compile_expression(expression)).item()
        assert repr(abs(found) if math.isnan(found) else found) == repr(
            abs(expected) if math.isnan(expected) else expected
        )


def test_division_by_either_zero_keeps_its_sign_beside_the_other() -> None:
    frame = pl.DataFrame({"r.x": [1.0, -1.0]})
    answers = [
        frame.select(compile_expression(call("divide", X, Literal(zero, T.DOUBLE)))).to_series().to_list()
        for zero in (0.0, -0.0)
    ]

    assert answers == [[math.inf, -math.inf], [-math.inf, math.inf]]


def casts() -> Iterator[tuple[Expression, ...]]:
    """Ways to write one condition; each differs from those of every other line."""
    i, b, d = Column("r", "i", T.INT), Column("s", "b", T.BIGINT), Column("s", "d", T.DOUBLE)
    c, day, at = Column("r", "c", T.BIGINT), Column("r", "day", T.DATE), Column("s", "at", T.TIMESTAMP)

    def eq(left: Expression, right: Expression) -> Expression:
        return Call("eq", (left, right), T.BOOLEAN)

    def to(expression: Expression, kind: ColumnType) -> Expression:
        return Call("cast", (expression,), kind)

    yield eq(i, b), eq(to(i, T.BIGINT), b), eq(b, i), eq(b, to(i, T.BIGINT))
    yield eq(to(d, T.INT), i), eq(i, to(d, T.INT))
    yield eq(i, d), eq(to(i, T.DOUBLE), d), eq(to(i, T.BIGINT), d), eq(to(to(i, T.BIGINT), T.DOUBLE), d)
    yield eq(c, b), eq(b, c)
    yield eq(to(c, T.DOUBLE), b), eq(c, to(b, T.DOUBLE)), eq(to(c, T.DOUBLE), to(b, T.DOUBLE))
    yield eq(to(d, T.BIGINT), c), eq(c, to(d, T.BIGINT))
    yield eq(to(d, T.INT), c), eq(to(to(d, T.INT), T.BIGINT), c)
    yield eq(day, at), eq(to(day, T.TIMESTAMP), at)
    yield eq(day, to(at, T.DATE)), eq(to(at, T.DATE), day)
    yield eq(to(i, T.STRING), to(b, T.STRING)), eq(to(b, T.STRING), to(i, T.STRING))


def test_a_cast_is_left_out_only_where_sql_makes_it_itself() -> None:
    groups = [{conjuncts(e) for e in group} for group in casts()]

    assert all(len(group) == 1 for group in groups)
    assert len(set().union(*groups)) == len(groups)
    for group in groups:
        for (condition,) in group:
            assert conjuncts(condition) == {condition} == {canonical_expression(condition)}
