"""The order in which a step checks its conditions, and functions called from Polars."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from jobs.expressions import compile_expression
from jobs.expressions.functions.udf import NotAllowed
from jobs.expressions.predicate_order import staged
from jobs.reconfigure.admission import check_usable
from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.planner.plan import plan
from optimizer.sql import parse_predicate, parse_query
from optimizer.udf.reader import SETTING, allowed_functions
from tests.unit.udf import counting
from tests.unit.udf.counting import DECLARED

T = ColumnType
COLUMNS = (("at", T.TIMESTAMP), ("k", T.BIGINT), ("b", T.BIGINT))
PAIRS = pl.DataFrame(
    {
        "r.k": [1, 1, 1, 1, 2, None, 1, 1],
        "s.k": [1, 1, 1, 1, 1, 1, 1, 1],
        "r.b": [1, 1, 4, None, 1, 1, 2, 9],
        "s.b": [2, 3, 5, 1, 2, 2, 2, 1],
    }
)


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    file = tmp_path / "functions.yaml"
    file.write_text(DECLARED)
    monkeypatch.setenv(SETTING, str(file))
    counting.rows_seen.clear()
    return Catalog.of([Stream(name, COLUMNS, "at") for name in "rs"], allowed_functions())


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_expensive_conditions_see_only_what_cheaper_ones_let_pass(allowed: Catalog, engine: str) -> None:
    conditions = [
        parse_predicate(text, allowed) for text in ("odd_sum(r.b, s.b)", "near(r.b, s.b)", "r.k = s.k")
    ]
    kept = PAIRS.lazy().filter(*staged(conditions)).collect(engine=engine)  # type: ignore[call-overload]
    assert kept.select("r.b", "s.b").rows() == [(1, 2), (4, 5)]
    # Of eight pairs six have equal keys, five of them no NULL; two of those have odd sums.
    assert counting.rows_seen == {"odd_sum": 5, "near": 2}


def test_nothing_expensive_is_called_where_nothing_is_left(allowed: Catalog) -> None:
    conditions = [parse_predicate(text, allowed) for text in ("near(r.b, s.b)", "r.k > 100")]
    assert PAIRS.filter(*staged(conditions)).is_empty()
    assert PAIRS.clear().filter(*staged(conditions)).is_empty()
    assert counting.rows_seen == {}


def test_conditions_without_functions_stay_as_they_are(allowed: Catalog) -> None:
    conditions = [parse_predicate(text, allowed) for text in ("r.k = s.k", "r.b < s.b")]
    assert [str(e) for e in staged(conditions)] == [str(compile_expression(c)) for c in conditions]


def test_a_constant_stands_beside_every_row(allowed: Catalog) -> None:
    condition = parse_predicate("near(r.b, 3)", allowed)
    assert PAIRS.filter(*staged([condition]))["r.b"].to_list() == [4, 2]
    assert PAIRS.select(x=compile_expression(condition))["x"].null_count() == 1


def test_a_function_that_the_job_may_not_call_is_named(
    allowed: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    condition = parse_predicate("near(r.b, s.k)", allowed)
    monkeypatch.delenv(SETTING)
    with pytest.raises(NotAllowed, match="a call of near, which the file in MILLRACE_FUNCTIONS"):
        compile_expression(condition)
    other = tmp_path / "other.yaml"
    other.write_text(DECLARED.replace("[bigint, bigint]", "[double, double]"))
    monkeypatch.setenv(SETTING, str(other))
    with pytest.raises(
        NotAllowed, match=r"near\(bigint, bigint\) for a boolean, where .* has near\(double, double"
    ):
        compile_expression(condition)


def test_a_job_refuses_a_plan_whose_functions_it_may_not_call(
    allowed: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT near(r.b, s.b) AS close FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.k = s.k"
    graph = plan([parse_query(text, "q", allowed)], allowed).graph
    check_usable(graph, None, "p1")
    monkeypatch.delenv(SETTING)
    with pytest.raises(InputError, match=r"plan p1: rules\..* found a call of near, which the file in"):
        check_usable(graph, None, "p1")
