"""A text of nested joins, converted over HTTP: for whoever may read queries, saved ones included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from backend.catalog.models import Query
from backend.streams.actions import StreamSpec, create_stream
from backend.streams.models import Stream
from optimizer.conversion import Operator
from optimizer.conversion.drawing import to_lines
from optimizer.workload import read_streams
from tests.unit.conversion.test_golden import QUERIES, TPCH

NESTED = """SELECT t.flight, max(w2.wind) AS gust
FROM (SELECT d.flight, d.origin, w.wind FROM departures [RANGE 1 HOUR] AS d
      JOIN weather [RANGE 90 MINUTES] AS w ON d.origin = w.origin) AS t
JOIN weather AS w2 ON t.origin = w2.origin AND w2.wind > t.wind
GROUP BY t.flight
"""
Post = Callable[..., Any]


def test_the_plan_before_and_after(as_outsider: Client, post: Post, streams: dict[str, Stream]) -> None:
    answer = post(as_outsider, "/api/sql/convert/", {"sql": NESTED})
    assert answer.status_code == 200, answer.content
    document = answer.json()

    before = [(one["kind"], one["join"]) for one in document["before"]]
    assert before == [
        ("project", None),
        ("aggregate", None),
        ("join", "multi_join"),
        ("derived", None),
        ("project", None),
        ("join", "multi_join"),
        ("scan", None),
        ("scan", None),
        ("scan", None),
    ]
    after = {one["id"]: one for one in document["after"]}
    assert [one["kind"] for one in after.values()] == ["project", "aggregate", "multi_join", *["scan"] * 3]
    assert [after[one["parent"]]["kind"] for one in after.values() if one["kind"] == "scan"] == [
        "multi_join"
    ] * 3
    (join,) = document["joins"]
    assert (join["inputs"], join["subqueries"]) == (["d", "w", "w2"], [])
    assert "departures [RANGE 1 HOUR] AS d" in join["sql"]
    validated = post(as_outsider, "/api/sql/validate/", {"sql": join["sql"]}).json()
    assert validated["ok"], validated
    assert document["rest"].startswith("SELECT multi_join.flight AS flight, MAX(multi_join.wind")


@pytest.fixture
def tpch(owner: User) -> None:
    """TPC-H's tables as streams of the registry."""
    catalog, _ = read_streams((TPCH / "streams.yaml").read_text(), "streams.yaml")
    for one in catalog:
        create_stream(owner, StreamSpec(one.name, one.columns, one.event_time))


@pytest.mark.parametrize("name", QUERIES)
def test_what_the_page_draws_is_what_the_command_prints(
    as_outsider: Client, post: Post, tpch: None, name: str
) -> None:
    answer = post(as_outsider, "/api/sql/convert/", {"sql": (TPCH / "queries" / f"{name}.sql").read_text()})
    assert answer.status_code == 200, answer.content
    document = answer.json()
    printed = (TPCH / "plans" / f"{name}.txt").read_text()

    drawn = [line for plan in ("before", "after") for line in (plan, *_indented(_drawn(document[plan])))]
    assert printed.startswith("\n  ".join((name, *drawn)) + "\n")
    for join in document["joins"]:
        assert "\n    ".join(join["sql"].splitlines()) in printed
    assert printed.endswith(f"  rest\n    {document['rest']}\n")


def _drawn(listed: list[dict[str, Any]]) -> tuple[str, ...]:
    """A plan of the answer as the command's lines; whatever reads an operator stands before it."""
    inputs: dict[int, tuple[Operator, ...]] = {}
    for one in reversed(listed):
        words = one["kind"], one["title"], tuple(one["details"]), one["join"]
        operator = Operator(*words, inputs.get(one["id"], ()))
        if one["parent"] is None:
            return to_lines(operator)
        inputs[one["parent"]] = (operator, *inputs.get(one["parent"], ()))
    raise AssertionError("no operator is the last one")


def _indented(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"  {line}" for line in lines)


def test_a_saved_query_is_part_of_the_join(as_owner: Client, post: Post, query: Query) -> None:
    sql = f"SELECT v.flight FROM {query.name} AS v JOIN departures AS d2 ON v.flight = d2.flight"
    document = post(as_owner, "/api/sql/convert/", {"sql": sql}).json()
    assert [join["inputs"] for join in document["joins"]] == [["a", "d", "d2", "w"]]
    own = post(as_owner, "/api/sql/convert/", {"sql": sql, "name": query.name})
    assert (own.status_code, own.json()["errors"][0]["code"]) == (400, "unknown-stream")


def test_the_whole_query_is_one_that_the_editor_accepts(
    as_outsider: Client, post: Post, streams: dict[str, Stream]
) -> None:
    whole = post(as_outsider, "/api/sql/convert/", {"sql": NESTED, "window": "2 hours"}).json()["whole"]
    assert whole["problems"] == whole["left_out"] == []
    assert "JOIN weather [RANGE 2 HOURS] AS w2" in whole["sql"]
    assert "departures [RANGE 1 HOUR] AS d" in whole["sql"]
    assert whole["chosen"][0] == "Streams, and queries in FROM, without a window have one of 2 HOURS."
    validated = post(as_outsider, "/api/sql/validate/", {"sql": whole["sql"]}).json()
    assert validated["ok"], validated


def test_what_cannot_be_said_has_its_place_and_the_joins_stay(
    as_outsider: Client, post: Post, streams: dict[str, Stream]
) -> None:
    sql = f"{NESTED}HAVING max(w2.wind) > (SELECT avg(wind) FROM weather)\nORDER BY t.flight\nLIMIT 3"
    document = post(as_outsider, "/api/sql/convert/", {"sql": sql}).json()
    assert [join["inputs"] for join in document["joins"]] == [["d", "w", "w2"]]
    assert (document["whole"]["sql"], document["whole"]["chosen"]) == (None, [])
    (problem,) = document["whole"]["problems"]
    assert (problem["line"], problem["column"], problem["found"]) == (6, 31, "a subquery")
    assert problem["expected"]


def test_an_order_is_left_out_and_said_to_be(
    as_outsider: Client, post: Post, streams: dict[str, Stream]
) -> None:
    sql = f"{NESTED}ORDER BY t.flight"
    whole = post(as_outsider, "/api/sql/convert/", {"sql": sql}).json()["whole"]
    assert [(one["line"], one["found"]) for one in whole["left_out"]] == [(6, "ORDER BY, which is left out")]
    assert "ORDER BY" not in whole["sql"]


def test_the_whole_query_reads_saved_ones(as_owner: Client, post: Post, query: Query) -> None:
    sql = f"SELECT v.flight, count(*) AS n FROM {query.name} AS v GROUP BY v.flight"
    whole = post(as_owner, "/api/sql/convert/", {"sql": sql}).json()["whole"]
    assert f"FROM {query.name} [RANGE 1 HOUR] AS v" in whole["sql"]


@pytest.mark.parametrize("window", ["soon", "0 hours", "1 month"])
def test_a_window_that_is_none_is_refused(
    as_outsider: Client, post: Post, streams: dict[str, Stream], window: str
) -> None:
    answer = post(as_outsider, "/api/sql/convert/", {"sql": NESTED, "window": window})
    (problem,) = answer.json()["errors"]
    assert (answer.status_code, problem["path"], problem["found"]) == (400, "window", window)


def test_a_mistake_is_underlined(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    answer = post(as_owner, "/api/sql/convert/", {"sql": NESTED.replace("w2.origin AND", "w2.orign AND")})
    (problem,) = answer.json()["errors"]
    assert (answer.status_code, problem["line"], problem["found"]) == (400, 4, "column w2.orign")
    assert NESTED.splitlines()[3][problem["column"] - 1 :].startswith("w2.orig")


def test_tables_that_are_no_streams_are_told_with_their_columns(
    as_owner: Client, post: Post, query: Query
) -> None:
    sql = (
        f"SELECT d.flight, g.gate, b.n FROM departures AS d JOIN gates AS g ON g.flight = d.flight "
        f"AND g.at < d.at JOIN {query.name} AS v ON v.flight = d.flight "
        "JOIN bags AS b ON b.flight = g.flight WHERE b.state IN ('lost', 'late')"
    )
    answer = post(as_owner, "/api/sql/unregistered/", {"sql": sql})
    assert answer.status_code == 200, answer.content
    gates, bags = answer.json()["tables"]
    assert gates == {
        "name": "gates",
        "columns": [
            {"name": "at", "type": "timestamp"},
            {"name": "flight", "type": "string"},
            {"name": "gate", "type": None},
        ],
    }
    assert {one["name"]: one["type"] for one in bags["columns"]} == {
        "flight": "string",
        "n": None,
        "state": "string",
    }
    assert answer.json()["undecided"] == []


def test_nothing_lacks_where_all_are_streams(
    as_outsider: Client, post: Post, streams: dict[str, Stream]
) -> None:
    answer = post(as_outsider, "/api/sql/unregistered/", {"sql": NESTED})
    assert (answer.status_code, answer.json()) == (200, {"tables": [], "undecided": []})


@pytest.mark.parametrize("sql", ["", "SELECT (", "DROP TABLE a"])
def test_what_is_no_query_lacks_nothing_that_could_be_told(
    as_owner: Client, post: Post, streams: dict[str, Stream], sql: str
) -> None:
    answer = post(as_owner, "/api/sql/unregistered/", {"sql": sql})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["expected"]


def test_nobody_converts_without_an_account(client: Client, post: Post) -> None:
    assert post(client, "/api/sql/convert/", {"sql": NESTED}).status_code in (401, 403)
    page = client.get("/convert/")
    assert (page.status_code, page["Location"]) == (302, "/login/?next=/convert/")


def test_the_page_holds_the_island(as_outsider: Client, db: None) -> None:
    page = as_outsider.get("/convert/").content.decode()
    assert 'data-island="conversion"' in page
    assert '<a href="/convert/" aria-current="page">Convert</a>' in page
