"""Queries as relations: restricting and joining again gives the same results; flattening equals parsing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import duckdb
import pytest

from optimizer.algebra.expression import Column, Literal
from optimizer.algebra.types import ColumnType as T
from optimizer.algebra.typing import call
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Input, Output, Query
from optimizer.logical.relations import components, flatten, join, rename_aliases, restrict
from optimizer.logical.stream import Stream
from optimizer.sql import parse_predicate, parse_query, to_duckdb, to_sql

STREAMS = [Stream(n, (("at", T.TIMESTAMP), ("a", T.BIGINT), ("b", T.BIGINT)), "at") for n in ("r", "s", "t")]
CATALOG = Catalog.of(STREAMS)
CHAIN = parse_query(
    "SELECT r.a, t.b AS c FROM r [RANGE 1 MINUTE], s, t [RANGE 5 SECONDS] "
    "WHERE r.a = s.a AND s.b < t.b AND r.b + s.b > t.a AND s.a > 3",
    "chain",
    CATALOG,
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for number, stream in enumerate(STREAMS, 2):
        connection.execute(
            f"CREATE TABLE {stream.name} AS "
            f"SELECT TIMESTAMP '2013-01-01' + to_seconds(n * {number} % 97) AS at, "
            f"(n * {number} % 11)::bigint AS a, (n * 7 % 13)::bigint AS b FROM range(40) x(n)"
        )
    return connection


def results(query: Query, database: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return sorted(database.sql(to_duckdb(query, CATALOG)).fetchall())


def test_components() -> None:
    predicates = [parse_predicate("r.a = s.a", CATALOG)]
    assert components(["t", "s", "r"], predicates) == (frozenset({"t"}), frozenset({"s", "r"}))
    assert components(["t", "s", "r"], predicates, [{"r", "t"}]) == (frozenset({"r", "s", "t"}),)
    assert components([], []) == ()


def test_restriction_keeps_what_lies_inside() -> None:
    part = restrict(CHAIN, {"s", "t"}, "part")
    assert part.name == "part"
    assert sorted(to_sql(p) for p in part.predicates) == ["s.a > 3", "s.b < t.b"]
    assert [o.name for o in part.outputs] == ["s.a", "s.b", "t.a", "t.b"]
    assert {i.alias: i.window for i in part.inputs} == {"s": None, "t": timedelta(seconds=5)}
    assert not part.cross_join
    assert restrict(CHAIN, {"r", "t"}).cross_join


def test_restriction_to_all_keeps_the_columns_of_the_outputs() -> None:
    assert [o.name for o in restrict(CHAIN, {"r", "s", "t"}).outputs] == ["r.a", "t.b"]


def test_restriction_to_an_input_that_nothing_reads() -> None:
    query = parse_query("SELECT r.a FROM r CROSS JOIN s", "q", CATALOG)
    assert [(o.name, to_sql(o.expression)) for o in restrict(query, {"s"}).outputs] == [("1", "1")]


@pytest.mark.parametrize("aliases", [set(), {"x"}, {"r", "x"}])
def test_restriction_to_unknown_aliases(aliases: set[str]) -> None:
    with pytest.raises(ValueError, match="chain"):
        restrict(CHAIN, aliases)


@pytest.mark.parametrize("inside", [{"r"}, {"s"}, {"r", "s"}, {"s", "t"}])
def test_parts_joined_again_are_the_whole(inside: set[str], database: duckdb.DuckDBPyConnection) -> None:
    outside = {"r", "s", "t"} - inside
    crossing = [p for p in CHAIN.predicates if p not in restrict(CHAIN, inside).predicates]
    crossing = [p for p in crossing if p not in restrict(CHAIN, outside).predicates]
    whole = join(restrict(CHAIN, inside), restrict(CHAIN, outside), crossing)
    whole = replace(whole, outputs=CHAIN.outputs)
    assert results(whole, database) == results(CHAIN, database)
    assert results(CHAIN, database)


def test_join_names_outputs_apart_and_needs_distinct_aliases() -> None:
    single = parse_query("SELECT r.a, r.b FROM r", "single", CATALOG)
    with pytest.raises(ValueError, match="both queries call an input r"):
        join(single, single)
    both = join(single, rename_aliases(single, {"r": "x"}))
    assert [o.name for o in both.outputs] == ["a", "b", "a_1", "b_1"]
    assert both.cross_join
    assert both.name == "single_single"


def test_renaming_keeps_canonical_order() -> None:
    renamed = rename_aliases(CHAIN, {"r": "z"})
    text = "SELECT z.a, t.b AS c FROM r [RANGE 1 MINUTE] z, s, t [RANGE 5 SECONDS] "
    text += "WHERE z.a = s.a AND s.b < t.b AND z.b + s.b > t.a AND s.a > 3"
    assert renamed == parse_query(text, "chain", CATALOG)


def test_flattening_equals_parsing_over_views() -> None:
    view = parse_query("SELECT r.a, s.b + 1 AS x FROM r [RANGE 1 MINUTE], s WHERE r.a = s.a", "v", CATALOG)
    over = parse_query("SELECT x FROM v WHERE x > 3", "w", CATALOG, {"v": view})
    text = "SELECT w.x, t.a FROM w [RANGE 10 SECONDS], t WHERE w.x = t.a"
    parsed = parse_query(text, "q", CATALOG, {"w": over, "v": view})
    column = Column("w", "x", T.BIGINT)
    unflattened = Query(
        "q",
        (Input("w", "w", timedelta(seconds=10)), Input("t", "t")),
        (call("eq", column, Column("t", "a", T.BIGINT)),),
        (Output("x", column), Output("a", Column("t", "a", T.BIGINT))),
    )
    raw_view = Query(
        "w",
        (Input("v", "v"),),
        (call("gt", Column("v", "x", T.BIGINT), Literal(3, T.INT)),),
        (Output("x", Column("v", "x", T.BIGINT)),),
    )
    flat = flatten(unflattened, {"v": view, "w": raw_view})
    assert {i.stream for i in flat.inputs} == {"r", "s", "t"}
    assert flat.outputs[0].expression == parsed.outputs[0].expression
    assert flat == parsed


def test_flattening_leaves_streams_alone_and_refuses_circles() -> None:
    assert flatten(CHAIN, {}) is CHAIN
    circle = Query("v", (Input("v", "v"),), (), (Output("x", Column("v", "x", T.BIGINT)),))
    with pytest.raises(ValueError, match="circle: v reads v"):
        flatten(circle, {"v": circle})
    other = parse_query("SELECT r.a FROM r", "other", CATALOG)
    with pytest.raises(ValueError, match="no column x"):
        flatten(
            Query("q", (Input("o", "other"),), (), (Output("x", Column("o", "x", T.BIGINT)),)),
            {"other": other},
        )
