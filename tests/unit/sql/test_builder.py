"""The fluent builder yields what the parser yields."""

from __future__ import annotations

from datetime import timedelta

import pytest

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Column
from optimizer.algebra.types import ColumnType as T
from optimizer.logical.window import UNBOUNDED, sliding
from optimizer.sql import parse_query
from optimizer.sql.builder import QueryBuilder
from tests.unit.sql.streams import CATALOG, late, parse


def test_without_catalog() -> None:
    built = QueryBuilder().from_("r").window(minutes=1).from_("s").where("r.a = s.a").select("r.a").build()
    text = "SELECT r.a FROM r [RANGE 1 MINUTE], s WHERE s.a = r.a"
    assert built == parse_query(text, "query", None)
    assert built.inputs[0].window == sliding(timedelta(minutes=1))
    assert built.inputs[1].window == UNBOUNDED
    assert built.outputs[0].expression == Column("r", "a", T.BIGINT)


def test_with_catalog() -> None:
    built = (
        QueryBuilder(CATALOG)
        .from_("departures", "d")
        .window(timedelta(milliseconds=1500))
        .join("weather", "d.origin = w.origin", "w")
        .window(hours=1.5)
        .where("d.delay > 5 -- minutes", "w.wind > 3 OR d.cancelled")
        .select("d.flight", "w.wind * 2 AS twice")
        .build("q")
    )
    assert built == parse(
        "SELECT d.flight, w.wind * 2 AS twice FROM departures [RANGE 1.5 SECONDS] d "
        "JOIN weather [RANGE 90 MINUTES] w ON d.origin = w.origin "
        "WHERE d.delay > 5 AND (w.wind > 3 OR d.cancelled)"
    )


def test_cross_join_views_and_all_columns() -> None:
    built = QueryBuilder(CATALOG, {"late": late()}).from_("late").cross_join("weather", "w").build("q")
    assert built == parse("SELECT * FROM late CROSS JOIN weather w", {"late": late()})


def test_steps_leave_the_builder_before_unchanged() -> None:
    base = QueryBuilder(CATALOG).from_("departures", "d").select("d.at")
    assert base.where("d.delay > 5").build() != base.build()
    assert base.window(minutes=1).build() != base.build()


def test_names_that_need_quotes() -> None:
    built = QueryBuilder().from_("select", "my stream").select('"my stream".a').build()
    assert [(i.alias, i.stream) for i in built.inputs] == [("my stream", "select")]


@pytest.mark.parametrize("condition", ["", "r.a =", "r.a = s.a ORDER BY 1", "r.a = s.a) OR (TRUE", "a; b"])
def test_what_is_no_condition_is_refused_at_once(condition: str) -> None:
    with pytest.raises(InputError) as caught:
        QueryBuilder().from_("r").where("r.b = 1", condition)
    assert caught.value.place.source == "where 2"


def test_wrong_steps() -> None:
    with pytest.raises(ValueError, match="behind from_"):
        QueryBuilder().window(minutes=1)
    with pytest.raises(ValueError, match="0 or more"):
        QueryBuilder().from_("r").window(minutes=-1)
    with pytest.raises(ValueError, match="either"):
        QueryBuilder().from_("r").window()
    with pytest.raises(InputError, match=r"no predicate between \(r\) and \(s\)"):
        QueryBuilder().from_("r").from_("s").select("r.a", "s.a").build()
    with pytest.raises(InputError, match="without a catalog"):
        QueryBuilder().from_("r").build()


def test_types_without_catalog_follow_from_use() -> None:
    query = parse_query(
        "SELECT r.plain, r.rate * 1.5 AS x, upper(r.name) AS y, r.moved FROM r, s "
        "WHERE r.name = s.label AND r.at - s.at < INTERVAL 5 MINUTES AND r.open AND s.size > 2.5 "
        "AND r.size = s.size "
        "AND hour(r.moved) = 3",
        "q",
        None,
    )
    types = {
        (column.input, column.name): column.type
        for predicate in (*query.predicates, *(o.expression for o in query.outputs))
        for column in _columns(predicate)
    }
    assert types == {
        ("r", "plain"): T.BIGINT,
        ("r", "rate"): T.DOUBLE,
        ("r", "name"): T.STRING,
        ("s", "label"): T.STRING,
        ("r", "at"): T.TIMESTAMP,
        ("s", "at"): T.TIMESTAMP,
        ("r", "open"): T.BOOLEAN,
        ("r", "size"): T.DOUBLE,
        ("s", "size"): T.DOUBLE,
        ("r", "moved"): T.TIMESTAMP,
    }


def _columns(expression: object) -> list[Column]:
    if isinstance(expression, Column):
        return [expression]
    return [c for argument in getattr(expression, "arguments", ()) for c in _columns(argument)]
