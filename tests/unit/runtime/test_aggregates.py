"""States of aggregates: merged in any way they give one result, DuckDB's."""

from __future__ import annotations

import math
import statistics
import sys
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.aggregation.groups import finish, merge, states_of
from jobs.expressions.dtypes import DTYPES
from jobs.plan.tuples import ARRIVAL
from optimizer.algebra.aggregates import AGGREGATES, scheme, states
from optimizer.algebra.types import ColumnType
from optimizer.physical.groups import GroupAggregate, Groups

T = ColumnType
_DUCKDB = duckdb.connect()
_AT = datetime(2024, 2, 29, 12, 0, 7, tzinfo=UTC)
_MONEY, _LONG, _WIDE = T.decimal(6, 2), T.decimal(18, 3), T.decimal(38, 4)
_VALUES = {
    T.INT: st.integers(-(2**31), 2**31 - 1),
    T.BIGINT: st.integers(-(2**63), 2**63 - 1),
    T.DOUBLE: st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e300, math.nan, math.inf, -math.inf]) | st.floats(),
    T.STRING: st.sampled_from(["", "a", "B", "ä", "\U0001f600"]),
    T.BOOLEAN: st.booleans(),
    T.BINARY: st.sampled_from([b"", b"\x00", b"\xff", b"ab"]),
    _MONEY: st.integers(-999_999, 999_999).map(lambda cents: Decimal(cents).scaleb(-2)),
    _LONG: st.integers(-(10**18) + 1, 10**18 - 1).map(lambda units: Decimal(units).scaleb(-3)),
    # DuckDB has no sum of more than 38 digits.
    _WIDE: st.integers(-(10**36), 10**36).map(lambda units: Decimal(f"{units}E-4")),
}


_ORDERED = ("string_agg", "first", "last")


def _aggregate(
    function: str,
    kinds: list[ColumnType],
    distinct: bool = False,
    constant: float | str | None = None,
    directions: tuple[tuple[bool, bool], ...] = (),
) -> GroupAggregate:
    takes = max(len(AGGREGATES[function].takes), 1 + len(directions))
    kept, kinds = scheme(function, kinds, distinct), kinds[:takes]
    return GroupAggregate(
        name="agg1",
        function=function,
        arguments=("of2", "of3")[:takes],
        where="of4",
        distinct=distinct,
        type=AGGREGATES[function].result(kinds),
        scheme=kept,
        states=tuple((f"agg1.{name}", kind) for name, kind in states(kept, kinds)),
        constant=constant,
        descending=tuple(descending for descending, _ in directions),
        nulls_first=tuple(nulls_first for _, nulls_first in directions),
    )


def _groups(one: GroupAggregate, kind: ColumnType, slide_us: int = 0) -> Groups:
    taken = (("key1", T.TIMESTAMP), ("of2", kind), ("of3", T.INT), ("of4", T.BOOLEAN))
    return Groups(taken, 1, "key1", 10_000_000, slide_us, 2 if slide_us else 1, 0, (one,))


def _frame(kind: ColumnType, rows: list[tuple[object, object, object]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "key1": [_AT] * len(rows),
            "of2": [row[0] for row in rows],
            "of3": [row[1] for row in rows],
            "of4": [row[2] for row in rows],
            ARRIVAL: range(len(rows)),
        },
        schema_overrides={
            "key1": DTYPES[T.TIMESTAMP],
            "of2": DTYPES[kind],
            "of3": pl.Int32,
            "of4": pl.Boolean,
        },
    )


def _duckdb(one: GroupAggregate, frame: pl.DataFrame) -> object:
    """DuckDB's answer over the same rows; of equals under ARG_MIN and ARG_MAX as documented."""
    # Of a column without groups DuckDB's mean is another one: its total is rounded before it is divided.
    rows = frame.to_arrow()  # noqa: F841 (DuckDB reads it)
    inside = ", ".join(one.arguments)
    if one.function in ("quantile_cont", "quantile_disc"):
        inside = f"of2, {one.constant!r}::DOUBLE"
    elif one.function == "mode":
        inside = "of2 ORDER BY of2"
    elif one.function in _ORDERED:
        order = [
            f"of3 {'DESC' if descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
            for descending, first in zip(one.descending, one.nulls_first, strict=True)
        ]
        inside = f"of2{', $$+$$' if one.constant else ''} ORDER BY {', '.join([*order, 'of2 NULLS LAST'])}"
    called = f"{one.function}({'DISTINCT ' if one.distinct else ''}{inside}) FILTER (WHERE of4)"
    if one.function.startswith("arg_"):
        called = (
            f"({one.function[4:]}({{'by': of3, 'value': of2}}) "
            "FILTER (WHERE of4 AND of2 IS NOT NULL AND of3 IS NOT NULL)).value"
        )
    elif one.function == "sum" and not one.type.is_decimal:
        called = f"TRY_CAST({called} AS BIGINT)"
    ((answer,),) = _DUCKDB.sql(f"SELECT {called} FROM rows GROUP BY key1").fetchall()
    return answer


@given(st.data())
def test_states_merged_in_any_way_give_what_duckdb_gives(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(_VALUES)))
    functions = ["count", "min", "max", "arg_min", "arg_max"]
    functions += ["sum", "avg"] if kind in (T.INT, T.BIGINT, _MONEY, _LONG, _WIDE) else []
    functions += ["bool_and", "bool_or"] if kind is T.BOOLEAN else []
    functions += ["bit_and", "bit_or", "bit_xor"] if kind in (T.INT, T.BIGINT) else []
    functions += ["quantile_cont"] if kind in (T.INT, T.BIGINT, T.DOUBLE, _MONEY, _LONG) else []
    functions += ["quantile_disc", "mode"] if kind not in (T.BOOLEAN, T.BINARY) else []
    functions += ["first", "last", *(["string_agg"] if kind is T.STRING else [])]
    function = data.draw(st.sampled_from(functions))
    distinct = AGGREGATES[function].distinct and not function.startswith("arg_") and data.draw(st.booleans())
    constant: float | str | None = "+" if function == "string_agg" else None
    if function.startswith("quantile"):
        constant = data.draw(st.sampled_from([0.0, 0.05, 0.25, 0.5, 0.9, 0.95, 1.0]) | st.floats(0, 1))
    way = st.tuples(st.booleans(), st.booleans())
    ordered = function in _ORDERED and not distinct
    one = _aggregate(function, [kind, T.INT], distinct, constant, (data.draw(way),) if ordered else ())
    row = st.tuples(
        st.none() | _VALUES[kind], st.none() | st.integers(0, 2), st.sampled_from([True, False, None])
    )
    frame = _frame(kind, data.draw(st.lists(row, min_size=1, max_size=12)))
    groups = _groups(one, kind)
    cut = data.draw(st.integers(0, frame.height))
    parts = [part for part in (frame[:cut], frame[cut:]) if part.height]
    found = pl.concat([states_of(groups, part, "@deadline") for part in parts])
    if groups.merges:
        found = merge(groups, found)
    (answer,) = finish(groups, found).get_column("agg1").to_list()
    expected = _duckdb(one, frame)
    if isinstance(expected, float) and math.isnan(expected):
        assert math.isnan(answer)
    else:
        assert answer == expected


_SMALL = st.integers(-1000, 1000) | st.integers(-1000, 1000).map(float)


@pytest.mark.parametrize("function", ["covar_samp", "covar_pop", "corr"])
@given(pairs=st.lists(st.tuples(_SMALL, st.integers(-1000, 1000)), min_size=1, max_size=12))
def test_what_pairs_have_together_is_exact(function: str, pairs: list[tuple[float, int]]) -> None:
    one = _aggregate(function, [T.DOUBLE, T.INT])
    rows: list[tuple[object, object, object]] = [(float(x), y, True) for x, y in pairs]
    rows += [(None, 7, True), (7.0, None, True), (1e9, 7, False)]
    groups = _groups(one, T.DOUBLE)
    answers = [
        finish(groups, states_of(groups, frame, "@deadline")).get_column("agg1").item()
        for frame in (_frame(T.DOUBLE, rows), _frame(T.DOUBLE, rows[::-1]))
    ]
    assert str(answers[0]) == str(answers[1])
    expected = _duckdb(one, _frame(T.DOUBLE, rows))
    if expected is None:
        assert answers[0] is None
    else:
        assert answers[0] == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


def test_pairs_that_are_not_finite_have_no_number_together() -> None:
    groups = _groups(_aggregate("covar_pop", [T.DOUBLE, T.INT]), T.DOUBLE)
    frame = _frame(T.DOUBLE, [(math.inf, 1, True), (2.0, 3, True)])
    assert math.isnan(finish(groups, states_of(groups, frame, "@deadline")).get_column("agg1").item())


@given(st.lists(st.floats(), min_size=1, max_size=9))
def test_a_product_is_the_exact_one_rounded(numbers: list[float]) -> None:
    groups = _groups(_aggregate("product", [T.DOUBLE, T.INT]), T.DOUBLE)
    rows: list[tuple[object, object, object]] = [(number, 0, True) for number in numbers]
    answer = finish(groups, states_of(groups, _frame(T.DOUBLE, rows), "@deadline")).get_column("agg1").item()
    if all(map(math.isfinite, numbers)):
        exact = math.prod(map(Fraction, numbers), start=Fraction(1))
        assert (math.isinf(answer) and abs(exact) > sys.float_info.max) or answer == float(exact)
    else:
        assert answer == pytest.approx(math.prod(numbers), nan_ok=True)


@pytest.mark.parametrize("distinct", [False, True])
def test_a_mean_is_of_the_total_that_no_double_is(distinct: bool) -> None:
    one = _aggregate("avg", [T.BIGINT, T.INT], distinct)
    frame = _frame(T.BIGINT, [(number, 0, True) for number in (2**53 + 1, 3, -1)])
    groups = _groups(one, T.BIGINT)
    (answer,) = finish(groups, states_of(groups, frame, "@deadline")).get_column("agg1").to_list()
    assert answer == (2**53 + 3) / 3 != float(2**53 + 3) / 3
    assert answer == _duckdb(one, frame)


@pytest.mark.parametrize(
    ("function", "expected"),
    [("var_samp", statistics.variance), ("stddev_pop", statistics.pstdev), ("avg", statistics.fmean)],
)
@given(numbers=st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=20))
def test_moments_of_doubles_are_exact_ones_rounded(
    function: str, expected: object, numbers: list[float]
) -> None:
    one = _aggregate(function, [T.DOUBLE, T.INT])
    frame = _frame(T.DOUBLE, [(number, 0, True) for number in numbers])
    groups = _groups(one, T.DOUBLE)
    (answer,) = finish(groups, states_of(groups, frame, "@deadline")).get_column("agg1").to_list()
    assert answer == pytest.approx(expected(numbers), rel=1e-12, abs=0)  # type: ignore[operator]
    (reversed_,) = (
        finish(groups, states_of(groups, frame.reverse(), "@deadline")).get_column("agg1").to_list()
    )
    assert reversed_ == answer


def test_a_time_is_in_every_bucket_that_slides_over_it() -> None:
    one = _aggregate("count", [T.INT, T.INT])
    groups = _groups(one, T.INT, slide_us=5_000_000)
    found = states_of(groups, _frame(T.INT, [(1, 1, True)]), "@deadline")
    starts = found.get_column("key1").to_list()
    assert [start.second for start in starts] == [7, 2]
    assert [at.microsecond for at in found.get_column("@deadline").to_list()] == [999_999, 999_999]
