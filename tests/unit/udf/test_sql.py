"""Calls of user functions in SQL: types, errors, and one form for what means the same."""

from __future__ import annotations

import pytest

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Call, Column, rename_inputs
from optimizer.algebra.render import to_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.canonical_inputs import canonical_expression
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.sql import parse_predicate, parse_query
from optimizer.statistics.defaults import OTHER, default_selectivity
from optimizer.udf.registry import FunctionRegistry
from tests.unit.udf.counting import INVERSE, NEAR, ODD_SUM

T = ColumnType
COLUMNS = (("at", T.TIMESTAMP), ("i", T.INT), ("b", T.BIGINT), ("x", T.DOUBLE), ("s", T.STRING))
CATALOG = Catalog.of(
    [Stream(name, COLUMNS, "at") for name in "rs"], FunctionRegistry((NEAR, ODD_SUM, INVERSE))
)


def test_a_call_is_typed_and_narrow_numbers_are_cast() -> None:
    found = parse_predicate("NEAR(r.i, s.b)", CATALOG)
    assert isinstance(found, Call)
    assert (found.function, found.type) == ("symmetric:near", T.BOOLEAN)
    assert to_sql(found) == "near(s.b, CAST(r.i AS BIGINT))"


def test_symmetric_calls_are_one_expression() -> None:
    assert parse_predicate("near(r.b, s.b)", CATALOG) == parse_predicate("near(s.b, r.b)", CATALOG)
    assert parse_predicate("odd_sum(r.b, s.b)", CATALOG) != parse_predicate("odd_sum(s.b, r.b)", CATALOG)


def test_symmetric_calls_stay_one_after_renaming() -> None:
    left, right = (Column(name, "b", T.BIGINT) for name in "rs")
    one = Call("symmetric:near", (left, right), T.BOOLEAN)
    swapped = rename_inputs(one, {"r": "s", "s": "r"})
    assert canonical_expression(one) == canonical_expression(swapped)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nera(r.b, s.b)", r"function nera, expected .*inverse\(double\), near\(bigint, bigint\).*mean near"),
        ("near(r.b)", r"found 1 argument of near, expected near\(bigint, bigint\)"),
        ("near(r.b, s.x)", r"q:1:\d+: found double \(s.x\), expected bigint in near\(bigint, bigint\)"),
        ("near(r.b, 'one')", "found string"),
        ("near(1, 2)", "q:1:28: found near of constants, expected a column in one"),
        ("inverse(r.x)", "found double, expected a condition"),
    ],
)
def test_errors_name_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_query(f"SELECT r.b FROM r, s WHERE {text}", "q", CATALOG)


def test_without_a_registry_nothing_can_be_called() -> None:
    with pytest.raises(InputError, match=r"function near, expected a known function;"):
        parse_query("SELECT r.b FROM r WHERE near(r.b, 1)", "q", Catalog.of(CATALOG.streams))


@pytest.mark.parametrize("text", ["inverse(r.x) < s.x", "inverse(r.x) > s.x", "near(r.b, s.b)"])
def test_the_default_selectivity_has_no_direction(text: str) -> None:
    assert default_selectivity(parse_predicate(text, CATALOG)) == OTHER
